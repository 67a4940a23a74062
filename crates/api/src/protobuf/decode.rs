//! From a message to the JSON value that stands for the same object, in one walk.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::ProtobufError;
use super::layout::{Content, FieldLayout, Form, Layouts, Member, find};
use super::wire::{Reader, Wire};
use crate::schema::{Field, Presence, Schema, TypeId};

mod special;

/// Objects and lists within each other, as many as a JSON body may have.
const DEPTH_MAX: usize = 127;
/// Objects in one body: ten times what the largest definitions have. A body with more is refused,
/// since an object takes two bytes there and hundreds here.
const OBJECTS_MAX: usize = 100_000;

const KEY: u32 = 1;
const VALUE: u32 = 2;
const ITEMS: u32 = 1;

pub(super) fn decode(
    schema: &Schema,
    type_id: TypeId,
    raw: &[u8],
) -> Result<Map<String, Value>, ProtobufError> {
    super::check_has_form(schema, type_id)?;
    let mut decoder = Decoder {
        schema,
        layouts: schema.layouts(),
        objects_left: OBJECTS_MAX,
    };
    let mut object = Map::new();
    decoder.object_into(type_id, raw, &mut object, 1)?;
    Ok(object)
}

struct Decoder<'a> {
    schema: &'a Schema,
    layouts: &'a Layouts,
    objects_left: usize,
}

impl<'a> Decoder<'a> {
    /// An object that stands `depth` deep, itself included.
    fn object(
        &mut self,
        type_id: TypeId,
        raw: &[u8],
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        let mut object = Map::new();
        self.object_into(type_id, raw, &mut object, depth)?;
        Ok(Value::Object(object))
    }

    fn object_into(
        &mut self,
        type_id: TypeId,
        raw: &[u8],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        check_depth(depth)?;
        self.objects_left = self
            .objects_left
            .checked_sub(1)
            .ok_or_else(|| ProtobufError::new("proto: too many objects"))?;
        let layout = self.layouts.message(type_id);
        let message = Message {
            name: self.schema.object_type(type_id).short_name(),
            fields: &self.schema.object_type(type_id).fields,
            layouts: &layout.fields,
            members: &layout.members,
        };
        self.message(message, raw, object, depth)
    }

    fn message(
        &mut self,
        message: Message<'a>,
        raw: &[u8],
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        let mut reader = Reader::named(message.name, raw);
        while let Some((number, wire)) = reader.next()? {
            let Some(member) = find(message.members, number) else {
                continue;
            };
            match &member.content {
                Content::Field(place) => {
                    let (field, found) = message.found(*place, wire);
                    self.field(found, field.presence, object, depth)?;
                }
                Content::Embedded(members) => {
                    let inside = Message { members, ..message };
                    self.message(inside, wire.bytes("embedded")?, object, depth)?;
                }
            }
        }
        Ok(())
    }

    /// Puts a field into the object that stands `depth` deep.
    fn field(
        &mut self,
        found: Found<'_>,
        presence: Presence,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        let value = match (found.form, object.get_mut(found.name)) {
            (Form::List(element), Some(Value::Array(elements))) => {
                return self.element(found.of(element), elements, depth + 1);
            }
            (Form::Map(value), Some(Value::Object(entries))) => {
                return self.entry(found.of(value), entries, depth + 1);
            }
            (Form::Object(type_id), Some(Value::Object(earlier))) => {
                return self.object_into(*type_id, found.bytes()?, earlier, depth + 1);
            }
            (Form::List(element), _) => {
                check_depth(depth + 1)?;
                let mut elements = Vec::new();
                self.element(found.of(element), &mut elements, depth + 1)?;
                Value::Array(elements)
            }
            (Form::Map(value), _) => {
                check_depth(depth + 1)?;
                let mut entries = Map::new();
                self.entry(found.of(value), &mut entries, depth + 1)?;
                Value::Object(entries)
            }
            _ => self.value(found, depth)?,
        };
        if presence == Presence::OmitEmpty && is_zero(&value) {
            object.remove(found.name);
        } else {
            object.insert(found.name.to_owned(), value);
        }
        Ok(())
    }

    /// Adds one element to a list that stands `depth` deep, or several numbers written together.
    fn element(
        &mut self,
        found: Found<'_>,
        elements: &mut Vec<Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        match (found.form, found.wire) {
            (Form::Boolean | Form::Int32 | Form::Int64, Wire::Bytes(packed)) => {
                let mut reader = Reader::new(packed);
                while let Some(number) = reader.next_packed()? {
                    let wire = Wire::Varint(number);
                    elements.push(self.value(Found { wire, ..found }, depth)?);
                }
            }
            _ => elements.push(self.value(found, depth)?),
        }
        Ok(())
    }

    /// Adds one entry to a map that stands `depth` deep.
    fn entry(
        &mut self,
        found: Found<'_>,
        entries: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        let mut key = "";
        let mut value = None;
        let mut reader = Reader::new(found.bytes()?);
        while let Some((number, wire)) = reader.next()? {
            match number {
                KEY => key = wire.text(found.name)?,
                VALUE => value = Some(wire),
                _ => {}
            }
        }
        let value = match (value, found.form) {
            (None, Form::Bytes) => Value::Null,
            (value, _) => {
                let wire = value.unwrap_or(Wire::Bytes(&[]));
                self.value(Found { wire, ..found }, depth)?
            }
        };
        entries.insert(key.to_owned(), value);
        Ok(())
    }

    /// A value inside an object, list or map that stands `depth` deep.
    fn value(&mut self, found: Found<'_>, depth: usize) -> Result<Value, ProtobufError> {
        let Found { name, form, wire } = found;
        Ok(match form {
            Form::String => Value::from(wire.text(name)?),
            Form::Bytes => Value::from(STANDARD.encode(found.bytes()?)),
            Form::Boolean => Value::from(wire.varint(name)? != 0),
            Form::Int32 => Value::from(int32(wire.varint(name)?)),
            Form::Int64 => Value::from(wire.varint(name)?.cast_signed()),
            Form::Double => special::double(wire.double(name)?, name)?,
            Form::Time => special::time(found.bytes()?, name)?,
            Form::MicroTime => special::micro_time(found.bytes()?, name)?,
            Form::Quantity => special::quantity(found.bytes()?)?,
            Form::IntOrString => special::int_or_string(found.bytes()?)?,
            Form::RawJson => special::raw_json(found.bytes()?, name, DEPTH_MAX - depth)?,
            Form::Object(type_id) => self.object(*type_id, found.bytes()?, depth + 1)?,
            Form::SchemaOrList(type_id) => {
                self.schema_or_list(*type_id, found.bytes()?, depth + 1)?
            }
            Form::SchemaOrBoolean(type_id) => {
                self.schema_or_boolean(*type_id, found.bytes()?, depth + 1)?
            }
            Form::SchemaOrNames(type_id) => {
                self.schema_or_names(*type_id, found.bytes()?, depth + 1)?
            }
            Form::WrappedList(element) => self.wrapped_list(found.of(element), depth + 1)?,
            Form::List(_) | Form::Map(_) => {
                unreachable!("lists and maps in lists and maps are messages of their own")
            }
        })
    }

    /// A list that is a message of its own and stands `depth` deep.
    fn wrapped_list(&mut self, found: Found<'_>, depth: usize) -> Result<Value, ProtobufError> {
        check_depth(depth)?;
        let mut elements = Vec::new();
        let mut reader = Reader::new(found.bytes()?);
        while let Some((number, wire)) = reader.next()? {
            if number == ITEMS {
                self.element(Found { wire, ..found }, &mut elements, depth)?;
            }
        }
        Ok(Value::Array(elements))
    }

    fn schema_or_list(
        &mut self,
        type_id: TypeId,
        raw: &[u8],
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        let (mut schema, mut list) = (Value::Null, Vec::new());
        let mut reader = Reader::new(raw);
        while let Some((number, wire)) = reader.next()? {
            match number {
                1 => schema = self.object(type_id, wire.bytes("schema")?, depth)?,
                2 => list.push(self.object(type_id, wire.bytes("schemas")?, depth + 1)?),
                _ => {}
            }
        }
        Ok(if list.is_empty() { schema } else { list.into() })
    }

    fn schema_or_boolean(
        &mut self,
        type_id: TypeId,
        raw: &[u8],
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        let (mut allows, mut schema) = (false, None);
        let mut reader = Reader::new(raw);
        while let Some((number, wire)) = reader.next()? {
            match number {
                1 => allows = wire.varint("allows")? != 0,
                2 => schema = Some(self.object(type_id, wire.bytes("schema")?, depth)?),
                _ => {}
            }
        }
        Ok(schema.unwrap_or(Value::Bool(allows)))
    }

    fn schema_or_names(
        &mut self,
        type_id: TypeId,
        raw: &[u8],
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        let (mut schema, mut names) = (Value::Null, Vec::new());
        let mut reader = Reader::new(raw);
        while let Some((number, wire)) = reader.next()? {
            match number {
                1 => schema = self.object(type_id, wire.bytes("schema")?, depth)?,
                2 => {
                    check_depth(depth)?;
                    names.push(Value::from(wire.text("property")?));
                }
                _ => {}
            }
        }
        Ok(if names.is_empty() {
            schema
        } else {
            names.into()
        })
    }
}

/// A message that is being read, or the part of one that Go embeds.
#[derive(Clone, Copy)]
struct Message<'a> {
    name: &'a str,
    fields: &'a [Field],
    layouts: &'a [Option<FieldLayout>],
    members: &'a [Member],
}

impl<'a> Message<'a> {
    fn found(self, place: usize, wire: Wire<'a>) -> (&'a Field, Found<'a>) {
        let field = &self.fields[place];
        let layout = self.layouts[place]
            .as_ref()
            .expect("a field with a number has a layout");
        let found = Found {
            name: &field.name,
            form: &layout.form,
            wire,
        };
        (field, found)
    }
}

/// A field as it stands in a message, and how it is to be read.
#[derive(Clone, Copy)]
struct Found<'a> {
    name: &'a str,
    form: &'a Form,
    wire: Wire<'a>,
}

impl<'a> Found<'a> {
    fn of(self, form: &'a Form) -> Self {
        Self { form, ..self }
    }

    fn bytes(self) -> Result<&'a [u8], ProtobufError> {
        self.wire.bytes(self.name)
    }
}

fn check_depth(depth: usize) -> Result<(), ProtobufError> {
    if depth <= DEPTH_MAX {
        Ok(())
    } else {
        Err(ProtobufError::new("proto: exceeded max depth"))
    }
}

/// The lower half, as all readers of protobuf take it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the upper half only repeats the sign"
)]
fn int32(varint: u64) -> i32 {
    varint as i32
}

/// Whether Go leaves out this value of a field that it omits when empty.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Bool(true) | Value::Object(_) => false,
    }
}

#[cfg(test)]
pub(super) mod tests;
