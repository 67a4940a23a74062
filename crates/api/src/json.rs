//! Request bodies in JSON: bounded, with every field that stands twice reported.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

mod syntax;
#[cfg(test)]
mod tests;

/// Fields that stand twice and are reported; the others are taken in silence.
const DUPLICATES_MAX: usize = 100;

/// Below this every whole number is itself as a double.
const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// A body and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value; of fields that stand twice the last one counts.
    pub value: Value,
    /// Paths of fields that stand twice, such as `data.a` or `spec.ports[0].port`.
    pub duplicate_fields: Vec<String>,
}

/// Why a body is no JSON, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// Reads one JSON text. Values may be nested 127 deep.
pub fn decode(text: &[u8]) -> Result<Document, JsonError> {
    decode_value(text).map_err(|error| {
        JsonError(syntax::first_error(text).unwrap_or_else(|| other_error(&error)))
    })
}

fn decode_value(text: &[u8]) -> Result<Document, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let document = decode_with(&mut deserializer)?;
    deserializer.end()?;
    Ok(document)
}

/// Reads one value of any syntax that serde knows.
pub(crate) fn decode_with<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Document, D::Error> {
    let duplicates = Duplicates::default();
    let root = Element {
        place: &Place::Root,
        duplicates: &duplicates,
    };
    let value = root.deserialize(deserializer)?;
    Ok(Document {
        value,
        duplicate_fields: duplicates.fields.into_inner(),
    })
}

/// What Go would take, but we do not: deeper nesting, broken characters, numbers beyond doubles.
fn other_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.starts_with("recursion limit exceeded") {
        return "exceeded max depth".to_owned();
    }
    text
}

/// The way to the value being read.
enum Place<'a> {
    Root,
    Field {
        parent: &'a Place<'a>,
        name: &'a str,
    },
    Element {
        parent: &'a Place<'a>,
        index: usize,
    },
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field {
                parent: Place::Root,
                name,
            } => formatter.write_str(name),
            Place::Field { parent, name } => write!(formatter, "{parent}.{name}"),
            Place::Element { parent, index } => write!(formatter, "{parent}[{index}]"),
        }
    }
}

#[derive(Default)]
struct Duplicates {
    fields: RefCell<Vec<String>>,
}

impl Duplicates {
    fn record(&self, parent: &Place<'_>, name: &str) {
        let mut fields = self.fields.borrow_mut();
        let field = Place::Field { parent, name }.to_string();
        if fields.len() < DUPLICATES_MAX && !fields.contains(&field) {
            fields.push(field);
        }
    }
}

struct Element<'a> {
    place: &'a Place<'a>,
    duplicates: &'a Duplicates,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(match i64::try_from(value) {
            Ok(value) => Value::Number(value.into()),
            #[expect(
                clippy::cast_precision_loss,
                reason = "Go reads such numbers as doubles"
            )]
            Err(_) => number(value as f64),
        })
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        loop {
            let place = Place::Element {
                parent: self.place,
                index: elements.len(),
            };
            let seed = Element {
                place: &place,
                duplicates: self.duplicates,
            };
            match access.next_element_seed(seed)? {
                Some(element) => elements.push(element),
                None => return Ok(Value::Array(elements)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let place = Place::Field {
                parent: self.place,
                name: &name,
            };
            let seed = Element {
                place: &place,
                duplicates: self.duplicates,
            };
            let value = access.next_value_seed(seed)?;
            match fields.entry(name) {
                serde_json::map::Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                serde_json::map::Entry::Occupied(mut entry) => {
                    self.duplicates.record(self.place, entry.key());
                    entry.insert(value);
                }
            }
        }
        Ok(Value::Object(fields))
    }
}

/// A number that was written with a fraction or an exponent, or might have been.
pub(crate) fn number(value: f64) -> Value {
    // Go writes `1.0` and `1e3` back as `1` and `1000`, and so do we.
    if value.fract() == 0.0 && value.abs() < EXACT_INTEGER_MAX {
        return Value::Number((value as i64).into());
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The word with which Go names the type of a value.
pub fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
