//! Whether a schema is structural: every field has a type of its own, outside of `allOf`, `anyOf`,
//! `oneOf` and `not`, which only restrict values.

use listwatch_api::{FieldError, FieldPath};
use serde_json::Value;

use crate::node::SCHEMA_DEPTH_MAX;
use crate::pattern::PatternChecks;
use crate::props::{Additional, Props};

mod completeness;
pub(crate) mod unsupported;

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps a schema from being structural, sorted by text.
pub(crate) fn violations<'a>(
    props: Props<'a>,
    path: &FieldPath,
    patterns: PatternChecks<'a>,
) -> Vec<FieldError> {
    let mut invariants = Invariants {
        errors: Vec::new(),
        depth: 0,
        patterns,
    };
    invariants.schema(props, Level::Root, path);
    let mut errors = invariants.errors;
    errors.extend(completeness::missing(props, path));
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

struct Invariants<'a> {
    errors: Vec<FieldError>,
    depth: usize,
    patterns: PatternChecks<'a>,
}

impl<'a> Invariants<'a> {
    fn required(&mut self, path: &FieldPath, why: &str) {
        self.errors.push(FieldError::required(path, why));
    }

    fn forbidden(&mut self, path: &FieldPath, why: &str) {
        self.errors.push(FieldError::forbidden(path, why));
    }

    fn invalid(&mut self, path: &FieldPath, text: &str, why: &str) {
        self.errors.push(FieldError::invalid(path, text, why));
    }

    fn schema(&mut self, props: Props<'a>, level: Level, path: &FieldPath) {
        if self.depth > SCHEMA_DEPTH_MAX {
            self.forbidden(path, "schemas must not be nested this deeply");
            return;
        }
        self.depth += 1;
        if props.type_name() == "array" && props.items().is_none() {
            self.required(&path.child("items"), "must be specified");
        }
        if let Some(items) = props.each_item() {
            self.schema(items, Level::Item, &path.child("items"));
        }
        for (name, property) in props.properties() {
            let path = path.child("properties").key(name);
            self.schema(property, Level::Field, &path);
        }
        self.additional(props, level, path);
        self.extensions(props, path);
        let skips = Skips::of(props);
        self.values(props, skips, path);
        self.type_of(props, level, path);
        self.resource(props, level, path);
        self.depth -= 1;
    }

    fn additional(&mut self, props: Props<'a>, level: Level, path: &FieldPath) {
        let path = path.child("additionalProperties");
        let Some(additional) = props.additional() else {
            return;
        };
        if level == Level::Root {
            self.forbidden(&path, "must not be used at the root");
        }
        if let Additional::Each(each) = additional {
            self.schema(each, Level::Field, &path);
        }
        if props.is_set(EMBEDDED) {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            self.forbidden(&path, why);
        }
    }

    fn extensions(&mut self, props: Props<'a>, path: &FieldPath) {
        if !props.is_set(INT_OR_STRING) {
            return;
        }
        for name in [PRESERVE, EMBEDDED] {
            if props.is_set(name) {
                let why = "must be false if x-kubernetes-int-or-string is true";
                let error = FieldError::invalid(&path.child(name), true, why);
                self.errors.push(error);
            }
        }
    }

    fn type_of(&mut self, props: Props<'a>, level: Level, path: &FieldPath) {
        let path = path.child("type");
        let name = props.type_name();
        if props.is_set(EMBEDDED) && name != "object" {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            match name {
                "" => self.required(&path, why),
                name => self.invalid(&path, name, why),
            }
        } else if name.is_empty() && !props.is_set(INT_OR_STRING) && !props.is_set(PRESERVE) {
            let why = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.required(&path, why);
        }
        if level == Level::Root && !name.is_empty() && name != "object" {
            self.invalid(&path, name, "must be object at the root");
        }
    }

    /// What the fields that every resource has may look like.
    fn resource(&mut self, props: Props<'a>, level: Level, path: &FieldPath) {
        let is_resource = level == Level::Root || props.is_set(EMBEDDED);
        let properties = path.child("properties");
        for name in ["kind", "apiVersion"] {
            let Some(property) = props.property(name).filter(|_| is_resource) else {
                continue;
            };
            if property.type_name() != "string" {
                let path = properties.key(name).child("type");
                self.invalid(&path, property.type_name(), "must be string");
            }
        }
        if let Some(metadata) = props.property("metadata") {
            let path = properties.key("metadata");
            if is_resource && metadata.type_name() != "object" {
                self.invalid(&path.child("type"), metadata.type_name(), "must be object");
            }
            if level == Level::Root && !restricts_names_only(metadata) {
                let why = "must not specify anything other than name and generateName, \
                           but metadata is implicitly specified";
                self.forbidden(&path, why);
            }
        }
        let says_nothing = !props.is_set(PRESERVE) && props.properties().next().is_none();
        if props.is_set(EMBEDDED) && says_nothing {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                       x-kubernetes-preserve-unknown-fields";
            self.required(&properties, why);
        }
    }

    fn values(&mut self, props: Props<'a>, skips: Skips, path: &FieldPath) {
        if skips != Skips::AnyOf {
            self.several(props, "anyOf", Skips::Nothing, path);
        }
        let first = match skips {
            Skips::FirstOfAllOf => Skips::AnyOf,
            Skips::Nothing | Skips::AnyOf => Skips::Nothing,
        };
        self.several(props, "allOf", first, path);
        self.several(props, "oneOf", Skips::Nothing, path);
        if let Some(not) = props.schema("not") {
            self.nested(not, Skips::Nothing, &path.child("not"));
        }
        let text = props.text("pattern");
        if !text.is_empty()
            && let Some(problem) = self.patterns.problem(text)
        {
            let why = format!("must be a valid regular expression, but isn't: {problem}");
            self.invalid(&path.child("pattern"), text, &why);
        }
    }

    /// `first` is what the first of them skips.
    fn several(&mut self, props: Props<'a>, name: &str, first: Skips, path: &FieldPath) {
        for (index, schema) in props.schemas(name).enumerate() {
            let skips = if index == 0 { first } else { Skips::Nothing };
            self.nested(schema, skips, &path.child(name).index(index));
        }
    }

    /// A schema that may only restrict values.
    fn nested(&mut self, props: Props<'a>, skips: Skips, path: &FieldPath) {
        if self.depth > SCHEMA_DEPTH_MAX {
            self.forbidden(path, "schemas must not be nested this deeply");
            return;
        }
        self.depth += 1;
        self.values(props, skips, path);
        if let Some(items) = props.each_item() {
            self.nested(items, Skips::Nothing, &path.child("items"));
        }
        for (name, property) in props.properties() {
            let path = path.child("properties").key(name);
            self.nested(property, Skips::Nothing, &path);
        }
        for (name, why) in NOT_IN_NESTED {
            if is_stated(props, name) {
                self.forbidden(&path.child(name), why);
            }
        }
        if props.property("metadata").is_some() {
            let path = path.child("properties").key("metadata");
            self.forbidden(&path, "must not be specified in a nested context");
        }
        self.depth -= 1;
    }
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Parts that only schemas with structure may have.
const NOT_IN_NESTED: [(&str, &str); 13] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    (
        "x-kubernetes-list-map-keys",
        "must be empty to be structural",
    ),
    (
        "x-kubernetes-list-type",
        "must be undefined to be structural",
    ),
    (
        "x-kubernetes-map-type",
        "must be undefined to be structural",
    ),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

fn is_stated(props: Props<'_>, name: &str) -> bool {
    props.value(name).is_some_and(|value| match name {
        "default" | "x-kubernetes-list-type" | "x-kubernetes-map-type" => true,
        _ => !is_zero(value),
    })
}

/// Whether a part says as much as an absent one.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// The alternatives that spell out "a number or a text", which may name types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skips {
    Nothing,
    AnyOf,
    FirstOfAllOf,
}

impl Skips {
    fn of(props: Props<'_>) -> Self {
        let first_of_all = props.schemas("allOf").next();
        if is_int_or_string(props) {
            Self::AnyOf
        } else if first_of_all.is_some_and(is_int_or_string) {
            Self::FirstOfAllOf
        } else {
            Self::Nothing
        }
    }
}

/// Whether a schema says itself, in the words of the standard, that it is a number or a text.
pub(crate) fn spells_out_int_or_string(props: Props<'_>) -> bool {
    Skips::of(props) != Skips::Nothing
}

/// Whether `anyOf` says exactly that the value is a number or a text.
fn is_int_or_string(props: Props<'_>) -> bool {
    let is_only = |schema: &Value, name: &str| {
        let only = |members: &serde_json::Map<String, Value>| {
            members.iter().all(|(part, value)| match part.as_str() {
                "type" => value == name,
                _ => is_zero(value),
            }) && members.contains_key("type")
        };
        schema.as_object().is_some_and(only)
    };
    match props.list("anyOf") {
        [first, second] => is_only(first, "integer") && is_only(second, "string"),
        _ => false,
    }
}

/// Whether a schema of `metadata` says nothing but what names look like.
fn restricts_names_only(metadata: Props<'_>) -> bool {
    metadata.0.iter().all(|(part, value)| match part.as_str() {
        "type" | "default" => true,
        "properties" => value.as_object().is_some_and(|properties| {
            let is_name = |name: &String| matches!(name.as_str(), "name" | "generateName");
            properties.keys().all(is_name)
        }),
        _ => is_zero(value),
    })
}
