//! Schemas as OpenAPI publishes them, for `kubectl explain` and its kind.

use serde_json::{Map, Value, json};

use crate::props::Props;
use crate::structure::{self, is_zero};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The edition of OpenAPI that a schema is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edition {
    /// Which knows no alternatives and no nulls.
    V2,
    V3,
}

impl Edition {
    fn metadata(self) -> Value {
        match self {
            Self::V2 => json!({"$ref": format!("#/definitions/{OBJECT_META}")}),
            Self::V3 => {
                json!({"allOf": [{"$ref": format!("#/components/schemas/{OBJECT_META}")}]})
            }
        }
    }
}

/// The schema with what every resource has.
pub(crate) fn publish(schema: &Value, edition: Edition) -> Value {
    let preserves = Props::of(schema).is_some_and(preserves_unknown);
    if edition == Edition::V2 && preserves {
        // Readers of this edition would refuse all fields that are not named.
        return json!({"type": "object"});
    }
    let mut published = schema.clone();
    let Value::Object(members) = &mut published else {
        return json!({"type": "object"});
    };
    publish_below(members, edition);
    add_resource_fields(members, edition);
    published
}

fn preserves_unknown(props: Props<'_>) -> bool {
    props.is_set("x-kubernetes-preserve-unknown-fields")
}

fn publish_below(schema: &mut Map<String, Value>, edition: Edition) {
    match edition {
        Edition::V2 => simplify(schema),
        Edition::V3 => spell_out(schema),
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (_, property) in properties.iter_mut() {
            publish_value(property, edition);
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(name) {
            publish_value(below, edition);
        }
    }
    let props = Props(schema);
    let is_open = edition == Edition::V2 && preserves_unknown(props);
    if props.is_set("x-kubernetes-embedded-resource") && !is_open {
        add_resource_fields(schema, edition);
        require(schema, "kind");
        require(schema, "apiVersion");
    }
}

fn publish_value(schema: &mut Value, edition: Edition) {
    if let Value::Object(schema) = schema {
        publish_below(schema, edition);
    }
}

fn add_resource_fields(schema: &mut Map<String, Value>, edition: Edition) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for name in ["apiVersion", "kind"] {
            properties.insert(name.to_owned(), json!({"type": "string"}));
        }
        properties.insert("metadata".to_owned(), edition.metadata());
    }
}

fn require(schema: &mut Map<String, Value>, name: &str) {
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required
        && !required.iter().any(|known| known == name)
    {
        required.push(Value::from(name));
    }
}

/// Says in the words of the standard what a number or a text is.
fn spell_out(schema: &mut Map<String, Value>) {
    let props = Props(schema);
    if !props.is_set("x-kubernetes-int-or-string") || structure::spells_out_int_or_string(props) {
        return;
    }
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    if props.list("anyOf").is_empty() {
        schema.insert("anyOf".to_owned(), either);
        return;
    }
    let all = schema.entry("allOf").or_insert_with(|| json!([]));
    if let Value::Array(all) = all {
        all.insert(0, json!({"anyOf": either}));
    }
}

/// Takes away what the second edition cannot say.
fn simplify(schema: &mut Map<String, Value>) {
    for name in ["allOf", "anyOf", "oneOf", "not", "default"] {
        schema.remove(name);
    }
    forget_required_nullables(schema);
    let props = Props(schema);
    let preserves = preserves_unknown(props);
    let is_nullable = props.is_set("nullable");
    if is_nullable {
        schema.remove("type");
        schema.remove("nullable");
    }
    if is_nullable || preserves {
        schema.remove("items");
        schema.remove("properties");
    }
    let type_name = Props(schema).type_name();
    let is_bare_list = type_name == "array" && !schema.contains_key("items");
    if is_bare_list || (preserves && type_name == "object") {
        schema.remove("type");
    }
}

fn forget_required_nullables(schema: &mut Map<String, Value>) {
    let nullable = |value: &Value| Props::of(value).is_some_and(|props| props.is_set("nullable"));
    let each = schema.get("additionalProperties");
    if each.is_some_and(nullable) {
        schema.remove("required");
        return;
    }
    let nullables: Vec<String> = Props(schema)
        .properties()
        .filter(|(_, props)| props.is_set("nullable"))
        .map(|(name, _)| name.to_owned())
        .collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !nullables.iter().any(|known| name == known));
    }
    if schema.get("required").is_some_and(is_zero) {
        schema.remove("required");
    }
}
