//! Schemas from OpenAPI documents, with the bounds that Kubernetes derives from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Exposure, Field, ListIdentity, Nullability, Schema, Shape};

/// Largest request, in bytes: nothing in it can be larger or more frequent.
pub(super) const REQUEST_BYTES_MAX: u64 = 3 * 1024 * 1024;

/// Deepest schema that is read; what is deeper is hidden.
const DEPTH_MAX: usize = 64;

const TIME_CHARACTERS_MAX: u64 = 32;
const DATE_CHARACTERS_MAX: u64 = 12;

/// Whether a schema is that of a whole resource, which always has `apiVersion`, `kind` and
/// `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The resource itself.
    Root,
    /// Part of one.
    Inside,
}

impl Schema {
    /// Reads an OpenAPI schema, or nothing when expressions must not see data of this kind.
    pub fn from_openapi(schema: &Json, position: Position) -> Option<Self> {
        read(schema, position, 0)
    }
}

fn read(schema: &Json, position: Position, depth: usize) -> Option<Schema> {
    if depth > DEPTH_MAX {
        return None;
    }
    let (shape, elements_max, serialized_bytes_min) = if flag(schema, "x-kubernetes-int-or-string")
    {
        let characters_max = bound(schema, "maxLength")
            .map_or(REQUEST_BYTES_MAX - 2, |length| length.saturating_mul(4));
        (Shape::IntOrString, characters_max, 1)
    } else {
        match schema.get("type").and_then(Json::as_str).unwrap_or("") {
            "array" => list(schema, depth)?,
            "object" => object(schema, position, depth)?,
            "string" => text(schema),
            "boolean" => (Shape::Boolean, 0, 4),
            "number" => (Shape::Number, 0, 1),
            "integer" => (Shape::Integer, 0, 1),
            _ => return None,
        }
    };
    Some(Schema {
        shape,
        nullability: nullability(schema),
        elements_max,
        serialized_bytes_min,
    })
}

fn flag(schema: &Json, name: &str) -> bool {
    schema.get(name).and_then(Json::as_bool).unwrap_or(false)
}

fn nullability(schema: &Json) -> Nullability {
    if flag(schema, "nullable") {
        Nullability::Allowed
    } else {
        Nullability::Never
    }
}

/// A declared bound; one below zero allows nothing.
fn bound(schema: &Json, name: &str) -> Option<u64> {
    let value = schema.get(name)?;
    value.as_u64().or_else(|| value.as_i64().map(|_| 0))
}

fn embedded(schema: &Json) -> Position {
    if flag(schema, "x-kubernetes-embedded-resource") {
        Position::Root
    } else {
        Position::Inside
    }
}

type Read = (Shape, u64, u64);

fn list(schema: &Json, depth: usize) -> Option<Read> {
    let items = schema.get("items")?;
    let items = read(items, embedded(items), depth + 1)?;
    let elements_max = bound(schema, "maxItems")
        .unwrap_or_else(|| (REQUEST_BYTES_MAX - 2) / (items.serialized_bytes_min + 1));
    let identity = match schema.get("x-kubernetes-list-type").and_then(Json::as_str) {
        Some("set") => ListIdentity::Set,
        Some("map") => ListIdentity::Map(texts(schema, "x-kubernetes-list-map-keys")),
        _ => ListIdentity::Atomic,
    };
    Some((
        Shape::List {
            items: Arc::new(items),
            identity,
        },
        elements_max,
        2,
    ))
}

fn texts(schema: &Json, name: &str) -> Vec<String> {
    let values = schema.get(name).and_then(Json::as_array);
    values
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .map(str::to_owned)
        .collect()
}

fn object(schema: &Json, position: Position, depth: usize) -> Option<Read> {
    if let Some(values) = schema
        .get("additionalProperties")
        .filter(|values| values.is_object())
    {
        let values = read(values, embedded(values), depth + 1)?;
        let elements_max = bound(schema, "maxProperties")
            .unwrap_or_else(|| (REQUEST_BYTES_MAX - 2) / (values.serialized_bytes_min + 6));
        return Some((
            Shape::Map {
                values: Arc::new(values),
            },
            elements_max,
            2,
        ));
    }
    let required = texts(schema, "required");
    let mut fields = BTreeMap::new();
    let mut bytes_min = 2;
    for (name, property) in schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let field = match read(property, embedded(property), depth + 1) {
            Some(schema) => Field {
                schema,
                exposure: Exposure::Exposed,
            },
            None => Field {
                schema: preserved(property),
                exposure: Exposure::Hidden,
            },
        };
        if required.contains(name)
            && property.get("default").is_none()
            && field.exposure == Exposure::Exposed
        {
            bytes_min += name.len() as u64 + field.schema.serialized_bytes_min + 4;
        }
        fields.insert(name.clone(), field);
    }
    if position == Position::Root {
        with_resource_fields(&mut fields);
    }
    Some((Shape::Object { fields }, 0, bytes_min))
}

fn preserved(schema: &Json) -> Schema {
    Schema {
        shape: Shape::Preserved,
        nullability: nullability(schema),
        elements_max: REQUEST_BYTES_MAX,
        serialized_bytes_min: 1,
    }
}

fn with_resource_fields(fields: &mut BTreeMap<String, Field>) {
    let string = || exposed(Shape::String, REQUEST_BYTES_MAX - 2);
    let is_text = |fields: &BTreeMap<String, Field>, name: &str| {
        fields
            .get(name)
            .is_some_and(|field| matches!(field.schema.shape, Shape::String))
    };
    let metadata_is_whole = fields
        .get("metadata")
        .is_some_and(|field| match &field.schema.shape {
            Shape::Object { fields } => is_text(fields, "name") && is_text(fields, "generateName"),
            _ => false,
        });
    if metadata_is_whole && is_text(fields, "kind") && is_text(fields, "apiVersion") {
        return;
    }
    fields.insert("kind".to_owned(), string());
    fields.insert("apiVersion".to_owned(), string());
    let metadata = BTreeMap::from([
        ("name".to_owned(), string()),
        ("generateName".to_owned(), string()),
    ]);
    fields.insert(
        "metadata".to_owned(),
        exposed(Shape::Object { fields: metadata }, 0),
    );
}

fn exposed(shape: Shape, elements_max: u64) -> Field {
    let schema = Schema {
        shape,
        nullability: Nullability::Never,
        elements_max,
        serialized_bytes_min: 2,
    };
    Field {
        schema,
        exposure: Exposure::Exposed,
    }
}

fn text(schema: &Json) -> Read {
    let length = bound(schema, "maxLength");
    match schema.get("format").and_then(Json::as_str) {
        Some("byte") => (Shape::Bytes, length.unwrap_or(REQUEST_BYTES_MAX - 2), 2),
        Some("duration") => (Shape::Duration, TIME_CHARACTERS_MAX, 3),
        Some("date") => (Shape::Date, DATE_CHARACTERS_MAX, DATE_CHARACTERS_MAX),
        Some("date-time") => (Shape::DateTime, TIME_CHARACTERS_MAX, 21),
        _ => {
            let choices = schema
                .get("enum")
                .and_then(Json::as_array)
                .filter(|choices| !choices.is_empty());
            let longest = choices.map(|choices| {
                choices
                    .iter()
                    .filter_map(Json::as_str)
                    .map(|choice| choice.len() as u64)
                    .max()
                    .unwrap_or(0)
            });
            let characters_max = match length {
                Some(length) => length.saturating_mul(4),
                None => longest.unwrap_or(REQUEST_BYTES_MAX - 2),
            };
            (Shape::String, characters_max, 2)
        }
    }
}
