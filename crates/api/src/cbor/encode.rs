//! From the JSON text of an object to CBOR, in one pass over the text.
//!
//! Members are written as they come and put into order when their map ends; heads are written last,
//! where room was left for the shortest.

use std::fmt;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::CborError;
use super::head::{Major, put_head, put_text};
use super::number::put_float;
use crate::protobuf::Form;
use crate::schema::{ObjectType, Schema, TypeId};

const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
/// The head of the tag around bytes that are base64 in JSON.
const BASE64_TAG: u8 = 0xd6;

/// What is known of the values of an object.
#[derive(Clone, Copy)]
pub enum Typing<'a> {
    /// Nothing: texts are texts and numbers are as they are written.
    Untyped,
    /// The types of its fields, which say what is bytes and what may have a fraction.
    Typed(&'a Schema, TypeId),
}

/// Writes the JSON text of a value, without the tag around a [`document`](super::document).
pub fn encode(json: &[u8], typing: Typing<'_>) -> Result<Vec<u8>, CborError> {
    let (schema, form) = match typing {
        Typing::Untyped => (None, None),
        Typing::Typed(schema, type_id) => (Some(schema), Some(Form::Object(type_id))),
    };
    let mut writer = Writer {
        schema,
        out: Vec::with_capacity(json.len()),
        entries: Vec::new(),
        sorted: Vec::new(),
    };
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let refuse = |error: serde_json::Error| CborError::unacceptable(error.to_string());
    let item = Item {
        writer: &mut writer,
        form: form.as_ref(),
    };
    item.deserialize(&mut deserializer).map_err(refuse)?;
    deserializer.end().map_err(refuse)?;
    Ok(writer.out)
}

struct Writer<'a> {
    schema: Option<&'a Schema>,
    out: Vec<u8>,
    /// Where the members of the open maps are written, the innermost last.
    entries: Vec<Range<usize>>,
    /// Room to put members into order.
    sorted: Vec<u8>,
}

impl Writer<'_> {
    /// Leaves room for a head.
    fn open(&mut self) -> usize {
        self.out.push(0);
        self.out.len() - 1
    }

    /// Writes the head for which room was left.
    fn close(&mut self, start: usize, major: Major, count: usize) {
        let mut head = Vec::with_capacity(size_of::<u64>() + 1);
        put_head(major, count as u64, &mut head);
        match head[..] {
            [byte] => self.out[start] = byte,
            _ => drop(self.out.splice(start..=start, head)),
        }
    }

    /// Puts the members of the innermost map into order: shorter names first, then by byte, which
    /// is the order of the bytes that say them.
    fn sort_entries(&mut self, first: usize) {
        let Self {
            out,
            entries,
            sorted,
            ..
        } = self;
        let members = &mut entries[first..];
        if !members.is_sorted_by(|one, other| out[one.clone()] <= out[other.clone()]) {
            members.sort_unstable_by(|one, other| out[one.clone()].cmp(&out[other.clone()]));
            sorted.clear();
            for member in members {
                sorted.extend_from_slice(&out[member.clone()]);
            }
            let start = out.len() - sorted.len();
            out[start..].copy_from_slice(sorted);
        }
        entries.truncate(first);
    }

    fn integer(&mut self, number: i64) {
        match u64::try_from(number) {
            Ok(number) => put_head(Major::Unsigned, number, &mut self.out),
            Err(_) => put_head(Major::Negative, !number.cast_unsigned(), &mut self.out),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.push(BASE64_TAG);
        put_head(Major::Bytes, bytes.len() as u64, &mut self.out);
        self.out.extend_from_slice(bytes);
    }
}

/// A value that is written as it is read.
struct Item<'b, 'a> {
    writer: &'b mut Writer<'a>,
    form: Option<&'b Form>,
}

/// What is known of the members of an object.
enum Members<'a> {
    /// Nothing.
    Unknown,
    /// All have this form.
    Alike(&'a Form),
    /// Each its own.
    Fields(&'a Schema, TypeId, &'a ObjectType),
}

impl<'a> Members<'a> {
    fn of(schema: Option<&'a Schema>, form: Option<&'a Form>) -> Self {
        match (schema, form) {
            (_, Some(Form::Map(value))) => Self::Alike(value),
            (
                Some(schema),
                Some(
                    Form::Object(type_id)
                    | Form::SchemaOrList(type_id)
                    | Form::SchemaOrBoolean(type_id)
                    | Form::SchemaOrNames(type_id),
                ),
            ) => Self::Fields(schema, *type_id, schema.object_type(*type_id)),
            _ => Self::Unknown,
        }
    }

    fn form(&self, name: &str) -> Option<&'a Form> {
        match self {
            Self::Unknown => None,
            Self::Alike(form) => Some(form),
            Self::Fields(schema, type_id, object_type) => {
                let place = object_type.place(name)?;
                schema.layouts().form(*type_id, place)
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Item<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.writer.out.push(NULL);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.writer.out.push(if value { TRUE } else { FALSE });
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        match self.form {
            #[expect(clippy::cast_precision_loss, reason = "the field is a double")]
            Some(Form::Double) => put_float(number as f64, &mut self.writer.out),
            _ => self.writer.integer(number),
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            #[expect(
                clippy::cast_precision_loss,
                reason = "Go reads such numbers as doubles"
            )]
            Err(_) => self.visit_f64(number as f64),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        put_float(number, &mut self.writer.out);
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if self.form == Some(&Form::Bytes)
            && let Ok(bytes) = STANDARD.decode(text)
        {
            self.writer.bytes(&bytes);
            return Ok(());
        }
        put_text(text, &mut self.writer.out);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let schema_form;
        let form = match self.form {
            Some(Form::List(element) | Form::WrappedList(element)) => Some(&**element),
            Some(Form::SchemaOrList(type_id)) => {
                schema_form = Form::Object(*type_id);
                Some(&schema_form)
            }
            _ => None,
        };
        let writer = self.writer;
        let (start, mut count) = (writer.open(), 0);
        while let Some(()) = elements.next_element_seed(Item { writer, form })? {
            count += 1;
        }
        writer.close(start, Major::Array, count);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let writer = self.writer;
        let known = Members::of(writer.schema, self.form);
        let (start, first) = (writer.open(), writer.entries.len());
        loop {
            let at = writer.out.len();
            let name = Name {
                out: &mut writer.out,
                members: &known,
            };
            let Some(form) = members.next_key_seed(name)? else {
                break;
            };
            members.next_value_seed(Item { writer, form })?;
            writer.entries.push(at..writer.out.len());
        }
        let count = writer.entries.len() - first;
        writer.sort_entries(first);
        writer.close(start, Major::Map, count);
        Ok(())
    }
}

/// The name of a member, written as it is read; tells what is known of the member.
struct Name<'b, 'a> {
    out: &'b mut Vec<u8>,
    members: &'b Members<'a>,
}

impl<'de, 'a> DeserializeSeed<'de> for Name<'_, 'a> {
    type Value = Option<&'a Form>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Name<'_, 'a> {
    type Value = Option<&'a Form>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        put_text(name, self.out);
        Ok(self.members.form(name))
    }
}
