//! One walk over an object: drops what its type does not know, refuses what does not fit, and
//! leaves it as Go would write it back (empty values gone, unset structs there, one form each).

use std::mem;

use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD};
use listwatch_api::json::type_word;
use listwatch_api::quantity;
use listwatch_api::schema::{Field, ObjectType, Presence, Schema, Shape, TypeId};
use serde_json::{Map, Number, Value};

use super::time::{self, Precision};

/// Unknown fields that are told; more of them are dropped in silence.
const UNKNOWN_FIELDS_MAX: usize = 100;

/// Checks an object of this type, and returns the paths of the fields that were dropped.
pub(super) fn check(
    schema: &Schema,
    type_id: TypeId,
    object: &mut Map<String, Value>,
) -> Result<Vec<String>, String> {
    let mut walk = Walk {
        schema,
        unknown: Vec::new(),
    };
    walk.object(schema.object_type(type_id), object, &Trail::Root)?;
    Ok(walk.unknown)
}

/// An object of this type with nothing set, as Go writes it.
pub(super) fn unset(schema: &Schema, type_id: TypeId) -> Map<String, Value> {
    let mut object = Map::new();
    fill(schema, schema.object_type(type_id), &mut object);
    object
}

/// The way from the root to a value.
enum Trail<'a> {
    Root,
    Field {
        parent: &'a Trail<'a>,
        owner: &'a ObjectType,
        field: &'a Field,
    },
    Index {
        parent: &'a Trail<'a>,
        index: usize,
    },
    Key {
        parent: &'a Trail<'a>,
        key: &'a str,
    },
}

impl Trail<'_> {
    /// The path as unknown fields are told, such as `spec.containers[0]`.
    fn path(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field { parent, field, .. } => join(parent.path(), &field.name),
            Self::Key { parent, key } => join(parent.path(), key),
            Self::Index { parent, index } => format!("{}[{index}]", parent.path()),
        }
    }

    /// The path as Go tells type errors: fields alone, embedded structs by their Go names.
    fn go_path(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key { parent, .. } | Self::Index { parent, .. } => parent.go_path(),
            Self::Field { parent, field, .. } => {
                let outer = match &field.embedded {
                    Some(embedding) => join(parent.go_path(), &embedding.path()),
                    None => parent.go_path(),
                };
                join(outer, &field.name)
            }
        }
    }

    /// The type whose field leads here.
    fn owner(&self) -> Option<&ObjectType> {
        match self {
            Self::Root => None,
            Self::Field { owner, .. } => Some(owner),
            Self::Key { parent, .. } | Self::Index { parent, .. } => parent.owner(),
        }
    }

    /// The Go type here, where the table tells one that the shape does not.
    fn told_go_type(&self) -> Option<String> {
        match self {
            Self::Root => None,
            Self::Field { field, .. } => field.go_type.as_ref().map(ToString::to_string),
            Self::Index { parent, .. } => {
                let list = parent.told_go_type()?;
                list.strip_prefix("[]").map(str::to_owned)
            }
            Self::Key { parent, .. } => {
                let map = parent.told_go_type()?;
                map.split_once(']').map(|(_, value)| value.to_owned())
            }
        }
    }
}

fn join(path: String, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    unknown: Vec<String>,
}

impl Walk<'_> {
    fn object(
        &mut self,
        object_type: &ObjectType,
        object: &mut Map<String, Value>,
        trail: &Trail<'_>,
    ) -> Result<(), String> {
        let mut refusal = None;
        object.retain(|name, value| {
            let Some(field) = object_type.field(name) else {
                if self.unknown.len() < UNKNOWN_FIELDS_MAX {
                    self.unknown.push(join(trail.path(), name));
                }
                return false;
            };
            if refusal.is_some() {
                return true;
            }
            let here = Trail::Field {
                parent: trail,
                owner: object_type,
                field,
            };
            if let Err(problem) = self.value(&field.shape, value, &here) {
                refusal = Some(problem);
            }
            is_kept(field, value)
        });
        fill(self.schema, object_type, object);
        refusal.map_or(Ok(()), Err)
    }

    /// Checks a value that is set; `null` stays for the caller to judge.
    fn value(&mut self, shape: &Shape, value: &mut Value, trail: &Trail<'_>) -> Result<(), String> {
        match (shape, value) {
            (_, Value::Null)
            | (Shape::Any | Shape::Deduced, _)
            | (Shape::String, Value::String(_))
            | (Shape::Boolean, Value::Bool(_))
            | (Shape::Number, Value::Number(_)) => Ok(()),
            (Shape::Object { type_id, .. }, Value::Object(object)) => {
                self.object(self.schema.object_type(*type_id), object, trail)
            }
            (Shape::List { element, .. }, Value::Array(elements)) => {
                self.list(element, elements, trail)
            }
            (Shape::Map { value: shape, .. }, Value::Object(entries)) => {
                self.map(shape, entries, trail)
            }
            (Shape::Int32 | Shape::Int64, Value::Number(number)) => {
                self.integer(shape, number, trail)
            }
            (Shape::Bytes, Value::String(text)) => replace_base64(text),
            (Shape::Time, value) => replace_time(value, Precision::Seconds),
            (Shape::MicroTime, value) => replace_time(value, Precision::Microseconds),
            (Shape::Quantity, value) => replace_quantity(value),
            (Shape::IntOrString, value) => check_int_or_string(value),
            (_, value) => Err(self.mismatch(type_word(value), shape, trail)),
        }
    }

    fn list(
        &mut self,
        shape: &Shape,
        elements: &mut [Value],
        trail: &Trail<'_>,
    ) -> Result<(), String> {
        for (index, element) in elements.iter_mut().enumerate() {
            let here = Trail::Index {
                parent: trail,
                index,
            };
            self.value(shape, element, &here)?;
            if element.is_null() {
                *element = zero(self.schema, shape);
            }
        }
        Ok(())
    }

    fn map(
        &mut self,
        shape: &Shape,
        entries: &mut Map<String, Value>,
        trail: &Trail<'_>,
    ) -> Result<(), String> {
        for (key, value) in entries.iter_mut() {
            let here = Trail::Key { parent: trail, key };
            self.value(shape, value, &here)?;
            if value.is_null() {
                *value = zero(self.schema, shape);
            }
        }
        Ok(())
    }

    fn integer(&self, shape: &Shape, number: &Number, trail: &Trail<'_>) -> Result<(), String> {
        let fits = match (shape, number.as_i64()) {
            (Shape::Int32, Some(value)) => i32::try_from(value).is_ok(),
            (_, value) => value.is_some(),
        };
        if fits {
            Ok(())
        } else {
            Err(self.mismatch(&format!("number {number}"), shape, trail))
        }
    }

    fn mismatch(&self, found: &str, shape: &Shape, trail: &Trail<'_>) -> String {
        let go_type = trail
            .told_go_type()
            .unwrap_or_else(|| self.schema.go_type(shape));
        let path = trail.go_path();
        let owner = trail.owner().map_or("", ObjectType::short_name);
        format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {go_type}"
        )
    }
}

/// Whether Go would write a field with this value; what it writes as empty is made so.
fn is_kept(field: &Field, value: &mut Value) -> bool {
    match field.presence {
        Presence::OmitEmpty => !is_empty(value),
        Presence::Optional => !value.is_null(),
        // An unset one is filled in with the fields that the object did not have.
        Presence::Always => !value.is_null(),
        Presence::Nullable => true,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Adds the fields that Go writes even when they are not set.
fn fill(schema: &Schema, object_type: &ObjectType, object: &mut Map<String, Value>) {
    for field in &object_type.fields {
        let unset = match field.presence {
            Presence::OmitEmpty | Presence::Optional => continue,
            Presence::Always => |schema: &Schema, shape: &Shape| zero(schema, shape),
            Presence::Nullable => |_: &Schema, _: &Shape| Value::Null,
        };
        if !object.contains_key(&*field.name) {
            object.insert(field.name.to_string(), unset(schema, &field.shape));
        }
    }
}

/// What Go writes for a value that is not set.
fn zero(schema: &Schema, shape: &Shape) -> Value {
    match shape {
        Shape::String => Value::String(String::new()),
        Shape::Boolean => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Number | Shape::IntOrString => Value::from(0),
        Shape::Quantity => Value::String("0".to_owned()),
        Shape::Object { type_id, .. } => Value::Object(unset(schema, *type_id)),
        Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any
        | Shape::Deduced
        | Shape::Map { .. }
        | Shape::List { .. } => Value::Null,
    }
}

/// Takes what Go takes: also in lines, and with bits at the end that mean nothing.
const AS_GO_READS_IT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

fn replace_base64(text: &mut String) -> Result<(), String> {
    if STANDARD.decode(&*text).is_ok() {
        return Ok(());
    }
    let in_one_line = text.replace(['\r', '\n'], "");
    if let Ok(bytes) = AS_GO_READS_IT.decode(in_one_line) {
        *text = STANDARD.encode(bytes);
        return Ok(());
    }
    let may_be_there =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'\r' | b'\n');
    let wrong = text.bytes().position(|byte| !may_be_there(byte));
    let offset = wrong.unwrap_or(text.len());
    Err(format!("illegal base64 data at input byte {offset}"))
}

fn replace_time(value: &mut Value, precision: Precision) -> Result<(), String> {
    let Value::String(text) = value else {
        return Err(plain_mismatch(value, "string"));
    };
    let written = time::canonical(text, precision)?;
    *text = written;
    Ok(())
}

fn replace_quantity(value: &mut Value) -> Result<(), String> {
    let text = match &mut *value {
        Value::String(text) => mem::take(text),
        other => other.to_string(),
    };
    let written = quantity::canonical(text.trim()).map_err(|error| error.to_string())?;
    *value = Value::String(written);
    Ok(())
}

fn check_int_or_string(value: &Value) -> Result<(), String> {
    match value {
        Value::String(_) => Ok(()),
        Value::Number(number) => match number.as_i64().map(i32::try_from) {
            Some(Ok(_)) => Ok(()),
            _ => Err(format!(
                "json: cannot unmarshal number {number} into Go value of type int32"
            )),
        },
        _ => Err(plain_mismatch(value, "int32")),
    }
}

fn plain_mismatch(value: &Value, go_type: &str) -> String {
    let found = type_word(value);
    format!("json: cannot unmarshal {found} into Go value of type {go_type}")
}
