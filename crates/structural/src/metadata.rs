//! Resources inside of resources: their `apiVersion`, `kind` and `metadata`.

use listwatch_api::metadata::{MetadataRules, Scope};
use listwatch_api::name::{self, NameRule};
use listwatch_api::{FieldError, FieldPath, media_type::Origin};
use serde_json::{Map, Value};

use crate::node::{Node, Traits};
use crate::value_path::ValuePath;

mod object_meta;

pub use object_meta::coerce_metadata;

/// What becomes of a field of the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It is an error.
    Refused,
    /// It goes.
    Dropped,
}

/// Brings the metadata of embedded resources into shape; gives the paths of unknown fields, sorted.
pub(crate) fn coerce(
    node: &Node,
    value: &mut Value,
    malformed: Malformed,
) -> Result<Vec<String>, FieldError> {
    let mut walk = Walk {
        malformed,
        unknown: Vec::new(),
    };
    walk.value(node, value, &ValuePath::Start)?;
    walk.unknown.sort_unstable();
    Ok(walk.unknown)
}

struct Walk {
    malformed: Malformed,
    unknown: Vec<String>,
}

impl Walk {
    fn value(
        &mut self,
        node: &Node,
        value: &mut Value,
        path: &ValuePath<'_>,
    ) -> Result<(), FieldError> {
        if !node.traits.has(Traits::EMBEDDED_BELOW) {
            return Ok(());
        }
        match value {
            Value::Object(members) => {
                if node.traits.has(Traits::EMBEDDED) {
                    self.resource(members, path)?;
                }
                for (name, value) in members.iter_mut() {
                    if let Some(property) = node.property(name) {
                        self.value(property, value, &ValuePath::Field(path, name))?;
                    } else if let Some(each) = node.additional.each() {
                        self.value(each, value, &ValuePath::Entry(path, name))?;
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = node.items() else {
                    return Ok(());
                };
                for (index, element) in list.iter_mut().enumerate() {
                    self.value(items, element, &ValuePath::Element(path, index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn resource(
        &mut self,
        members: &mut Map<String, Value>,
        path: &ValuePath<'_>,
    ) -> Result<(), FieldError> {
        for name in ["apiVersion", "kind"] {
            let Some(value) = members.get(name).filter(|value| !value.is_string()) else {
                continue;
            };
            if self.malformed == Malformed::Refused {
                let field = ValuePath::Field(path, name).field(None);
                return Err(FieldError::invalid(&field, value, "must be a string"));
            }
            members.remove(name);
        }
        let Some(metadata) = members.get_mut("metadata") else {
            return Ok(());
        };
        let field = ValuePath::Field(path, "metadata").field(None);
        match coerce_metadata(metadata, self.malformed) {
            Ok(unknown) => {
                let unknown = unknown.into_iter().map(|name| format!("{field}.{name}"));
                self.unknown.extend(unknown);
                Ok(())
            }
            Err(problem) => Err(FieldError::invalid(&field, &*metadata, &problem)),
        }
    }
}

/// What is wrong with the embedded resources of an object.
pub(crate) fn embedded_errors(node: &Node, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    find_errors(node, object, &ValuePath::Start, &mut errors);
    errors
}

fn find_errors(node: &Node, value: &Value, path: &ValuePath<'_>, errors: &mut Vec<FieldError>) {
    if !node.traits.has(Traits::EMBEDDED_BELOW) {
        return;
    }
    match value {
        Value::Object(members) => {
            if node.traits.has(Traits::EMBEDDED) {
                errors.extend(resource_errors(members, path));
            }
            for (name, value) in members {
                if let Some(property) = node.property(name) {
                    find_errors(property, value, &ValuePath::Field(path, name), errors);
                } else if let Some(each) = node.additional.each() {
                    find_errors(each, value, &ValuePath::Entry(path, name), errors);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = node.items() else { return };
            for (index, element) in list.iter().enumerate() {
                find_errors(items, element, &ValuePath::Element(path, index), errors);
            }
        }
        _ => {}
    }
}

/// What is wrong with one resource inside another.
pub(crate) fn resource_errors(
    members: &Map<String, Value>,
    path: &ValuePath<'_>,
) -> Vec<FieldError> {
    let field = |name| ValuePath::Field(path, name).field(None);
    let mut errors = Vec::new();
    for name in ["apiVersion", "kind"] {
        if !members.contains_key(name) {
            errors.push(FieldError::required(&field(name), ""));
        }
    }
    if let Some(value) = members.get("apiVersion") {
        errors.extend(text_error(
            &field("apiVersion"),
            value,
            group_version_problem,
        ));
    }
    if let Some(value) = members.get("kind") {
        errors.extend(text_error(&field("kind"), value, kind_problem));
    }
    if let Some(metadata) = members.get("metadata") {
        errors.extend(metadata_errors(metadata, &field("metadata")));
    }
    errors
}

fn text_error(
    field: &FieldPath,
    value: &Value,
    problem: impl Fn(&str) -> Option<String>,
) -> Option<FieldError> {
    match value {
        Value::String(text) if text.is_empty() => {
            Some(FieldError::invalid(field, "", "must not be empty"))
        }
        Value::String(text) => {
            problem(text).map(|problem| FieldError::invalid(field, text, &problem))
        }
        other => Some(FieldError::invalid(field, other, "must be a string")),
    }
}

fn group_version_problem(text: &str) -> Option<String> {
    let slashes = text.matches('/').count();
    (slashes > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn kind_problem(text: &str) -> Option<String> {
    let problems = name::check_dns_1035_label(&text.to_lowercase());
    let joined = problems.join(",");
    (!problems.is_empty())
        .then(|| format!("may have mixed case, but should otherwise match: {joined}"))
}

fn metadata_errors(metadata: &Value, field: &FieldPath) -> Vec<FieldError> {
    let mut metadata = metadata.clone();
    if let Err(problem) = coerce_metadata(&mut metadata, Malformed::Refused) {
        return vec![FieldError::invalid(field, &metadata, &problem)];
    }
    let text = |name: &str| {
        metadata
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let rules = MetadataRules {
        name: NameRule::PathSegment,
        scope: match text("namespace") {
            "" => Scope::Cluster,
            _ => Scope::Namespaced,
        },
        origin: Origin::Custom,
    };
    if text("name").is_empty()
        && let Value::Object(members) = &mut metadata
    {
        members.insert("name".to_owned(), Value::from("fakename"));
    }
    let mut errors = rules.check_create(&metadata);
    for error in &mut errors {
        let below = error.field.strip_prefix("metadata").unwrap_or(&error.field);
        error.field = format!("{field}{below}");
    }
    errors
}
