//! Parts of definitions as messages show them: with the names of Kubernetes' own structures.

use std::fmt::Write;

use listwatch_api::go_text;
use serde_json::Value;

use super::hoisted::Spec;
use crate::node::Rule;
use crate::props::{Additional, Props};

/// What a part of a structure holds.
#[derive(Clone, Copy)]
enum Holds {
    Text,
    GivenText,
    Flag,
    GivenFlag,
    Number,
    Json,
    Texts,
    List,
    Items,
    Schemas,
    Schema,
    NamedSchemas,
    Additional,
    Docs,
    Rules,
}

/// The parts of a schema, in order.
const SCHEMA: [(&str, &str, Holds); 44] = [
    ("ID", "id", Holds::Text),
    ("Schema", "$schema", Holds::Text),
    ("Ref", "$ref", Holds::GivenText),
    ("Description", "description", Holds::Text),
    ("Type", "type", Holds::Text),
    ("Nullable", "nullable", Holds::Flag),
    ("Format", "format", Holds::Text),
    ("Title", "title", Holds::Text),
    ("Default", "default", Holds::Json),
    ("Maximum", "maximum", Holds::Number),
    ("ExclusiveMaximum", "exclusiveMaximum", Holds::Flag),
    ("Minimum", "minimum", Holds::Number),
    ("ExclusiveMinimum", "exclusiveMinimum", Holds::Flag),
    ("MaxLength", "maxLength", Holds::Number),
    ("MinLength", "minLength", Holds::Number),
    ("Pattern", "pattern", Holds::Text),
    ("MaxItems", "maxItems", Holds::Number),
    ("MinItems", "minItems", Holds::Number),
    ("UniqueItems", "uniqueItems", Holds::Flag),
    ("MultipleOf", "multipleOf", Holds::Number),
    ("Enum", "enum", Holds::List),
    ("MaxProperties", "maxProperties", Holds::Number),
    ("MinProperties", "minProperties", Holds::Number),
    ("Required", "required", Holds::Texts),
    ("Items", "items", Holds::Items),
    ("AllOf", "allOf", Holds::Schemas),
    ("OneOf", "oneOf", Holds::Schemas),
    ("AnyOf", "anyOf", Holds::Schemas),
    ("Not", "not", Holds::Schema),
    ("Properties", "properties", Holds::NamedSchemas),
    (
        "AdditionalProperties",
        "additionalProperties",
        Holds::Additional,
    ),
    (
        "PatternProperties",
        "patternProperties",
        Holds::NamedSchemas,
    ),
    ("Dependencies", "dependencies", Holds::Json),
    ("AdditionalItems", "additionalItems", Holds::Additional),
    ("Definitions", "definitions", Holds::NamedSchemas),
    ("ExternalDocs", "externalDocs", Holds::Docs),
    ("Example", "example", Holds::Json),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Holds::GivenFlag,
    ),
    (
        "XEmbeddedResource",
        "x-kubernetes-embedded-resource",
        Holds::Flag,
    ),
    ("XIntOrString", "x-kubernetes-int-or-string", Holds::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Holds::Texts),
    ("XListType", "x-kubernetes-list-type", Holds::GivenText),
    ("XMapType", "x-kubernetes-map-type", Holds::GivenText),
    ("XValidations", "x-kubernetes-validations", Holds::Rules),
];

/// The parts of a schema that are stated, by Kubernetes' own names, in order.
pub(super) fn stated_parts(schema: Props<'_>) -> Vec<&'static str> {
    let stated = SCHEMA.iter().filter(|(_, name, holds)| {
        let value = schema.value(name);
        value.is_some_and(|value| match holds {
            Holds::Text => value.as_str() != Some(""),
            Holds::Flag => value.as_bool() != Some(false),
            _ => true,
        })
    });
    stated.map(|(name, _, _)| *name).collect()
}

/// A schema.
pub(super) fn schema(props: Props<'_>) -> String {
    let parts = SCHEMA.iter().map(|(name, part, holds)| {
        let value = held(props, part, *holds);
        format!("{}:{value}", go_text::quote(name))
    });
    format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
}

fn held(props: Props<'_>, part: &str, holds: Holds) -> String {
    match holds {
        Holds::Text => text(props.text(part)),
        Holds::Flag => props.is_set(part).to_string(),
        Holds::GivenText => given(props.given_text(part), text),
        Holds::GivenFlag => given(props.given_flag(part), |flag| flag.to_string()),
        Holds::Number => given(props.value(part), number),
        Holds::Json => given(props.value(part), go_text::json),
        Holds::Texts | Holds::List => given(props.value(part), go_text::json),
        Holds::Schema => given(props.schema(part), schema),
        Holds::Schemas => given(props.value(part), |_| list(props.schemas(part).map(schema))),
        Holds::NamedSchemas => given(props.value(part), |_| {
            let named = props.named(part);
            let pairs = named.map(|(name, props)| format!("{}:{}", text(name), schema(props)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }),
        Holds::Items => given(props.value(part), |_| {
            let each = given(props.each_item(), schema);
            let places = match props.each_item() {
                Some(_) => "null".to_owned(),
                None => list(props.schemas(part).map(schema)),
            };
            format!("{{\"Schema\":{each},\"JSONSchemas\":{places}}}")
        }),
        Holds::Additional => given(additional(props, part), |additional| {
            let (allows, each) = match additional {
                Additional::Allowed(allows) => (allows, "null".to_owned()),
                Additional::Each(each) => (true, schema(each)),
            };
            format!("{{\"Allows\":{allows},\"Schema\":{each}}}")
        }),
        Holds::Docs => given(props.schema(part), |docs| {
            let description = text(docs.text("description"));
            let url = text(docs.text("url"));
            format!("{{\"Description\":{description},\"URL\":{url}}}")
        }),
        Holds::Rules => given(props.value(part), |_| {
            let rules = props.schemas(part).map(|props| rule(&Rule::read(props)));
            list(rules)
        }),
    }
}

fn additional<'a>(props: Props<'a>, part: &str) -> Option<Additional<'a>> {
    match props.value(part)? {
        Value::Bool(allowed) => Some(Additional::Allowed(*allowed)),
        Value::Object(schema) => Some(Additional::Each(Props(schema))),
        _ => None,
    }
}

fn text(text: &str) -> String {
    go_text::json(&Value::from(text))
}

fn given<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), shown)
}

fn list(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.collect::<Vec<_>>().join(","))
}

/// A number without a fraction has none in Go either.
fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(real) if value.is_f64() && real.fract() == 0.0 && real.abs() < 1e21 => {
            format!("{real:.0}")
        }
        _ => value.to_string(),
    }
}

/// A rule.
pub(super) fn rule(rule: &Rule) -> String {
    let mut shown = String::new();
    write!(
        shown,
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\
         \"OptionalOldSelf\":{}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        given(rule.reason.as_deref(), text),
        text(&rule.field_path),
        given(rule.optional_old_self, |flag| flag.to_string()),
    )
    .expect("text takes any text");
    shown
}

/// The versions of a definition, without what stands above them.
pub(super) fn versions(spec: Spec<'_>) -> String {
    let moved = |part: &str| spec.shared(part).is_some();
    let own =
        |version: Props<'_>, part: &str, shown: fn(Props<'_>, &str) -> String| match moved(part) {
            true => "null".to_owned(),
            false => shown(version, part),
        };
    let versions = spec.versions().into_iter().map(|version| {
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":\
             {},\"Schema\":{},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\
             \"SelectableFields\":{}}}",
            text(version.text("name")),
            version.is_set("served"),
            version.is_set("storage"),
            version.is_set("deprecated"),
            given(version.given_text("deprecationWarning"), text),
            own(version, "schema", validation),
            own(version, "subresources", subresources),
            own(version, "additionalPrinterColumns", columns),
            own(version, "selectableFields", selectable_fields),
        )
    });
    list(versions)
}

fn validation(version: Props<'_>, part: &str) -> String {
    given(version.schema(part), |validation| {
        let schema = given(validation.schema("openAPIV3Schema"), schema);
        format!("{{\"OpenAPIV3Schema\":{schema}}}")
    })
}

fn subresources(version: Props<'_>, part: &str) -> String {
    given(version.schema(part), |subresources| {
        let status = given(subresources.value("status"), |_| "{}".to_owned());
        let scale = given(subresources.schema("scale"), |scale| {
            format!(
                "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{}}}",
                text(scale.text("specReplicasPath")),
                text(scale.text("statusReplicasPath")),
                given(scale.given_text("labelSelectorPath"), text),
            )
        });
        format!("{{\"Status\":{status},\"Scale\":{scale}}}")
    })
}

fn columns(version: Props<'_>, part: &str) -> String {
    given(version.value(part), |_| {
        let columns = version.schemas(part).map(|column| {
            format!(
                "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{},\
                 \"JSONPath\":{}}}",
                text(column.text("name")),
                text(column.text("type")),
                text(column.text("format")),
                text(column.text("description")),
                column.integer("priority").unwrap_or_default(),
                text(column.text("jsonPath")),
            )
        });
        list(columns)
    })
}

fn selectable_fields(version: Props<'_>, part: &str) -> String {
    given(version.value(part), |_| {
        let fields = version.schemas(part);
        list(fields.map(|field| format!("{{\"JSONPath\":{}}}", text(field.text("jsonPath")))))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_shown_with_all_parts_of_its_structure() {
        let stated = json!({
            "type": "array", "maximum": 3.0, "items": {"type": "string"},
            "additionalProperties": false, "x-kubernetes-list-type": "set"
        });
        let shown = schema(Props::of(&stated).expect("it is an object"));
        let read: Value = serde_json::from_str(&shown).expect("it is JSON");
        assert_eq!(
            read.as_object().map(serde_json::Map::len),
            Some(SCHEMA.len())
        );
        assert!(
            shown.starts_with(r#"{"ID":"","Schema":"","Ref":null,"#),
            "{shown}"
        );
        assert!(shown.contains(r#""Maximum":3,"#), "{shown}");
        assert!(shown.contains(r#""JSONSchemas":null}"#), "{shown}");
        let closed = r#""AdditionalProperties":{"Allows":false,"Schema":null}"#;
        assert!(shown.contains(closed), "{shown}");
    }
}
