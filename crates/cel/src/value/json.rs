//! Values from JSON data, one level at a time, and JSON from values.

use base64::Engine;
use serde_json::Value as Json;

use super::{List, Map, Outcome, Text, Value};
use crate::error::EvaluationError;
use crate::library::time::{self, Timestamp};
use crate::schema::{DYNAMIC, ListIdentity, Nullability, Schema, Shape};

static ATOMIC: ListIdentity = ListIdentity::Atomic;

impl<'a> Value<'a> {
    /// Reads data about which nothing is known; lists and maps are read when they are looked into.
    pub fn dynamic(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Self::Int(value),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(items) => Self::List(List::Json {
                items,
                schema: &DYNAMIC,
                identity: &ATOMIC,
            }),
            Json::Object(entries) => Self::Map(Map::Json {
                entries,
                values: &DYNAMIC,
            }),
        }
    }

    /// Reads data as its schema says; lists and maps are read when they are looked into.
    pub fn from_json(json: &'a Json, schema: &'a Schema) -> Result<Self, EvaluationError> {
        if json.is_null() && !matches!(schema.shape, Shape::Dynamic) {
            return match schema.nullability {
                Nullability::Allowed => Ok(Self::Null),
                Nullability::Never => Err(EvaluationError::failed(
                    "invalid data, got null for schema with nullable=false",
                )),
            };
        }
        match (&schema.shape, json) {
            (Shape::Dynamic, _) => Ok(Self::dynamic(json)),
            (Shape::Preserved, _) => Ok(Self::Preserved(json)),
            (Shape::Object { fields }, Json::Object(entries)) => {
                Ok(Self::Map(Map::Object { entries, fields }))
            }
            (Shape::Map { values }, Json::Object(entries)) => {
                Ok(Self::Map(Map::Json { entries, values }))
            }
            (
                Shape::List {
                    items: schema,
                    identity,
                },
                Json::Array(items),
            ) => Ok(Self::List(List::Json {
                items,
                schema,
                identity,
            })),
            (Shape::Object { .. } | Shape::Map { .. }, _) => {
                mismatch("invalid data, expected a map for the provided schema with type=object")
            }
            (Shape::List { .. }, _) => {
                mismatch("invalid data, expected an array for the provided schema with type=array")
            }
            (shape, json) => scalar(shape, json),
        }
    }

    /// The value as JSON: what an expression that builds objects or patches yields.
    pub fn to_json(&self) -> Result<Json, EvaluationError> {
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => Json::from(*value),
            Self::Uint(value) => Json::from(*value),
            Self::Double(value) => Json::from(*value),
            Self::String(text) => Json::from(&**text),
            Self::Bytes(bytes) => {
                Json::from(base64::engine::general_purpose::STANDARD.encode(bytes))
            }
            Self::Timestamp(timestamp) => Json::from(timestamp.to_string()),
            Self::Duration(duration) => Json::from(duration.to_string()),
            Self::Preserved(json) => (*json).clone(),
            Self::List(List::Json { items, .. }) => Json::from(items.to_vec()),
            Self::List(List::Values(values)) => Json::Array(
                values
                    .iter()
                    .map(Value::to_json)
                    .collect::<Result<_, _>>()?,
            ),
            Self::Map(Map::Json { entries, .. } | Map::Object { entries, .. }) => {
                Json::Object((*entries).clone())
            }
            Self::Map(Map::Values(entries)) => {
                let mut object = serde_json::Map::new();
                for (key, value) in entries.iter() {
                    let Value::String(key) = key else {
                        return mismatch(format!(
                            "map key is of type {}, not string",
                            key.type_name()
                        ));
                    };
                    object.insert(key.to_string(), value.to_json()?);
                }
                Json::Object(object)
            }
            Self::Object(object) => {
                let fields = object
                    .fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), value.to_json()?)));
                Json::Object(fields.collect::<Result<_, EvaluationError>>()?)
            }
            Self::Optional(Some(value)) => value.to_json()?,
            other => return mismatch(format!("{} has no JSON form", other.type_name())),
        })
    }
}

fn mismatch<T>(message: impl Into<String>) -> Result<T, EvaluationError> {
    Err(EvaluationError::failed(message))
}

fn scalar<'a>(shape: &Shape, json: &'a Json) -> Outcome<'a> {
    match (shape, json) {
        (Shape::IntOrString, Json::String(text)) | (Shape::String, Json::String(text)) => {
            Ok(Value::String(Text::Borrowed(text)))
        }
        (Shape::IntOrString, Json::Number(number)) => match number.as_i64() {
            Some(value) => Ok(Value::Int(value)),
            None => mismatch(
                "invalid data, expected XIntOrString value to be either a string or integer",
            ),
        },
        (Shape::IntOrString, _) => {
            mismatch("invalid data, expected XIntOrString value to be either a string or integer")
        }
        (Shape::Number, Json::Number(number)) => {
            Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN)))
        }
        (Shape::Integer, Json::Number(number)) => match number.as_i64() {
            Some(value) => Ok(Value::Int(value)),
            None => mismatch("invalid data, expected int, got float64"),
        },
        (Shape::Boolean, Json::Bool(value)) => Ok(Value::Bool(*value)),
        (_, Json::String(text)) => formatted(shape, text),
        (shape, json) => mismatch(format!(
            "invalid data, expected {}, got {}",
            wanted(shape),
            given(json)
        )),
    }
}

fn formatted<'a>(shape: &Shape, text: &str) -> Outcome<'a> {
    match shape {
        Shape::Bytes => match base64::engine::general_purpose::URL_SAFE.decode(text) {
            Ok(bytes) => Ok(Value::Bytes(bytes.into())),
            Err(error) => {
                let at = match error {
                    base64::DecodeError::InvalidByte(at, _) => at,
                    _ => text.len(),
                };
                mismatch(format!(
                    "Invalid byte formatted string {text}: illegal base64 data at input byte {at}"
                ))
            }
        },
        Shape::Duration => match time::parse_words(text) {
            Some(duration) => Ok(Value::Duration(duration)),
            None => mismatch(format!(
                "Invalid duration {text}: unable to parse {text} as duration"
            )),
        },
        Shape::Date => match Timestamp::parse_date(text) {
            Some(timestamp) => Ok(Value::Timestamp(timestamp)),
            None => mismatch(format!(
                "Invalid date formatted string {text}: parsing time {text:?}"
            )),
        },
        Shape::DateTime => match time::parse_data(text) {
            Some(timestamp) => Ok(Value::Timestamp(timestamp)),
            None => mismatch(format!(
                "Invalid date-time formatted string {text}: parsing time {text:?}"
            )),
        },
        shape => mismatch(format!(
            "invalid data, expected {}, got string",
            wanted(shape)
        )),
    }
}

fn wanted(shape: &Shape) -> &'static str {
    match shape {
        Shape::Number => "float",
        Shape::Integer => "int",
        Shape::Boolean => "bool",
        _ => "string",
    }
}

fn given(json: &Json) -> &'static str {
    match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}
