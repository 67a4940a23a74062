//! The values of an object, found in its JSON text and put into the order of its message.

use std::fmt;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::super::ProtobufError;
use super::super::layout::{Form, Layouts};
use crate::schema::{ObjectType, Schema, TypeId};
use crate::timestamp;

/// Bytes of JSON per value; fewer values leave room unused, more let it grow.
const BYTES_PER_VALUE: usize = 16;
const NANOSECONDS_PER_SECOND: i32 = 1_000_000_000;

/// The values of one object.
pub(super) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    /// Bytes that do not stand in the text as they are.
    kept: Vec<u8>,
    root: Span,
}

/// A value and where it goes.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    /// The place among the fields of its message; what has none is in the order of the text.
    pub(super) order: usize,
    pub(super) found: Found<'a>,
}

/// What the text says at one place.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    Null,
    /// A boolean or a whole number, as it is written.
    Varint(u64),
    Double(f64),
    Text(&'a [u8]),
    Kept(Span),
    Time {
        seconds: i64,
        nanos: i32,
    },
    /// The fields of an object, in the order of its message.
    Message(Span),
    List(Span),
    /// Keys and values in turn, sorted by key.
    Map(Span),
}

/// Neighbours in a [`Tree`].
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) const EMPTY: Self = Self { start: 0, end: 0 };

    fn new(range: Range<usize>) -> Self {
        let narrow = |place| u32::try_from(place).expect("objects are far smaller than 4 GiB");
        Self {
            start: narrow(range.start),
            end: narrow(range.end),
        }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl<'a> Tree<'a> {
    pub(super) fn root(&self) -> Span {
        self.root
    }

    pub(super) fn nodes(&self, span: Span) -> &[Node<'a>] {
        &self.nodes[span.range()]
    }

    /// The bytes of a text; none where there is no text.
    pub(super) fn bytes(&self, found: Found<'a>) -> &[u8] {
        match found {
            Found::Text(text) => text,
            Found::Kept(span) => &self.kept[span.range()],
            _ => &[],
        }
    }
}

/// Reads the text of an object of this type.
pub(super) fn read<'a>(
    schema: &Schema,
    type_id: TypeId,
    json: &'a [u8],
) -> Result<Tree<'a>, ProtobufError> {
    let mut builder = Builder {
        schema,
        layouts: schema.layouts(),
        nodes: Vec::with_capacity(json.len() / BYTES_PER_VALUE),
        pending: Vec::new(),
        kept: Vec::new(),
    };
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let found = builder
        .value(&Form::Object(type_id))
        .deserialize(&mut deserializer);
    let refuse = |error: serde_json::Error| ProtobufError::new(error.to_string());
    let found = found.map_err(refuse)?;
    deserializer.end().map_err(refuse)?;
    let Found::Message(root) = found else {
        return Err(ProtobufError::new("null where an object is expected"));
    };
    Ok(Tree {
        nodes: builder.nodes,
        kept: builder.kept,
        root,
    })
}

struct Builder<'a, 'de> {
    schema: &'a Schema,
    layouts: &'a Layouts,
    nodes: Vec<Node<'de>>,
    /// The values of all that is not finished, the innermost last.
    pending: Vec<Node<'de>>,
    kept: Vec<u8>,
}

impl<'a, 'de> Builder<'a, 'de> {
    fn value<'b>(&'b mut self, form: &'b Form) -> Value<'b, 'a, 'de> {
        Value {
            builder: self,
            form,
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Found<'de> {
        let start = self.kept.len();
        self.kept.extend_from_slice(bytes);
        Found::Kept(Span::new(start..self.kept.len()))
    }

    /// Makes neighbours of what has been found since `start`.
    fn finish(&mut self, start: usize) -> Span {
        let begin = self.nodes.len();
        self.nodes.extend(self.pending.drain(start..));
        Span::new(begin..self.nodes.len())
    }

    fn message<A: MapAccess<'de>>(
        &mut self,
        type_id: TypeId,
        mut members: A,
    ) -> Result<Found<'de>, A::Error> {
        let object_type = self.schema.object_type(type_id);
        let layout = self.layouts.message(type_id);
        let start = self.pending.len();
        while let Some(place) = members.next_key_seed(FieldName { object_type })? {
            let Some(field) = place.and_then(|place| layout.fields[place].as_ref()) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let found = members.next_value_seed(self.value(&field.form))?;
            let order = field.order;
            self.pending.push(Node { order, found });
        }
        self.pending[start..].sort_by_key(|node| node.order);
        Ok(Found::Message(self.finish(start)))
    }

    fn map<A: MapAccess<'de>>(
        &mut self,
        form: &Form,
        mut entries: A,
    ) -> Result<Found<'de>, A::Error> {
        let start = self.pending.len();
        while let Some(key) = entries.next_key_seed(self.value(&Form::String))? {
            let value = entries.next_value_seed(self.value(form))?;
            self.pending.extend([key, value].map(unordered));
        }
        self.sort_entries(start);
        Ok(Found::Map(self.finish(start)))
    }

    fn sort_entries(&mut self, start: usize) {
        let kept = &self.kept;
        let (entries, _) = self.pending[start..].as_chunks_mut::<2>();
        if !entries.is_sorted_by(|one, other| key(kept, one) <= key(kept, other)) {
            entries.sort_by(|one, other| key(kept, one).cmp(key(kept, other)));
        }
    }

    fn list<A: SeqAccess<'de>>(
        &mut self,
        form: &Form,
        mut elements: A,
    ) -> Result<Found<'de>, A::Error> {
        let start = self.pending.len();
        while let Some(found) = elements.next_element_seed(self.value(form))? {
            self.pending.push(unordered(found));
        }
        Ok(Found::List(self.finish(start)))
    }
}

fn key<'a>(kept: &'a [u8], entry: &[Node<'a>; 2]) -> &'a [u8] {
    match entry[0].found {
        Found::Kept(span) => &kept[span.range()],
        Found::Text(text) => text,
        _ => &[],
    }
}

fn unordered(found: Found<'_>) -> Node<'_> {
    Node { order: 0, found }
}

/// Seconds, and the nanoseconds that count forward from there.
fn split(time: Timestamp) -> (i64, i32) {
    match time.subsec_nanosecond() {
        nanos if nanos < 0 => (time.as_second() - 1, nanos + NANOSECONDS_PER_SECOND),
        nanos => (time.as_second(), nanos),
    }
}

/// The name of a field, read as its place among those of the type.
struct FieldName<'a> {
    object_type: &'a ObjectType,
}

impl<'de> DeserializeSeed<'de> for FieldName<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.object_type.place(name))
    }
}

/// A value of a known form.
struct Value<'b, 'a, 'de> {
    builder: &'b mut Builder<'a, 'de>,
    form: &'b Form,
}

impl Value<'_, '_, '_> {
    fn mismatch<E: Error>(&self, found: &str) -> E {
        E::custom(format!("{found} where {} is expected", self.form))
    }

    fn integer<E: Error>(&self, number: i64) -> Result<u64, E> {
        match self.form {
            Form::Int64 => Ok(number.cast_unsigned()),
            Form::Int32 | Form::IntOrString if i32::try_from(number).is_ok() => {
                Ok(number.cast_unsigned())
            }
            _ => Err(self.mismatch("a whole number")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, 'de> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if *self.form != Form::RawJson {
            return deserializer.deserialize_any(self);
        }
        let text = <&'de RawValue as serde::Deserialize>::deserialize(deserializer)?.get();
        Ok(match text {
            "null" => Found::Null,
            text => Found::Text(text.as_bytes()),
        })
    }
}

impl<'de> Visitor<'de> for Value<'_, '_, 'de> {
    type Value = Found<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.form)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Found::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        match self.form {
            Form::Boolean | Form::SchemaOrBoolean(_) => Ok(Found::Varint(value.into())),
            _ => Err(self.mismatch("a boolean")),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        match self.form {
            #[expect(clippy::cast_precision_loss, reason = "JSON numbers are doubles here")]
            Form::Double => Ok(Found::Double(number as f64)),
            _ => self.integer(number).map(Found::Varint),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        match (self.form, i64::try_from(number)) {
            #[expect(clippy::cast_precision_loss, reason = "JSON numbers are doubles here")]
            (Form::Double, _) => Ok(Found::Double(number as f64)),
            (_, Ok(number)) => self.visit_i64(number),
            (_, Err(_)) => Err(self.mismatch("a number beyond 64 bits")),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        match self.form {
            Form::Double => Ok(Found::Double(number)),
            _ => Err(self.mismatch("a number with a fraction")),
        }
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        match self.form {
            Form::String | Form::Quantity | Form::IntOrString => Ok(Found::Text(text.as_bytes())),
            _ => self.visit_str(text),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match self.form {
            Form::String | Form::Quantity | Form::IntOrString => {
                Ok(self.builder.keep(text.as_bytes()))
            }
            Form::Bytes => match STANDARD.decode(text) {
                Ok(bytes) => Ok(self.builder.keep(&bytes)),
                Err(_) => Err(self.mismatch("no base64")),
            },
            Form::Time => {
                let (seconds, _) = split(timestamp::parse_seconds(text).map_err(E::custom)?);
                Ok(Found::Time { seconds, nanos: 0 })
            }
            Form::MicroTime => {
                let (seconds, nanos) = split(timestamp::parse_micros(text).map_err(E::custom)?);
                Ok(Found::Time { seconds, nanos })
            }
            _ => Err(self.mismatch("a text")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Self::Value, A::Error> {
        match self.form {
            Form::List(element) | Form::WrappedList(element) => {
                self.builder.list(element, elements)
            }
            Form::SchemaOrList(type_id) => self.builder.list(&Form::Object(*type_id), elements),
            Form::SchemaOrNames(_) => self.builder.list(&Form::String, elements),
            _ => Err(self.mismatch("a list")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        match self.form {
            Form::Map(value) => self.builder.map(value, members),
            Form::Object(type_id)
            | Form::SchemaOrList(type_id)
            | Form::SchemaOrBoolean(type_id)
            | Form::SchemaOrNames(type_id) => self.builder.message(*type_id, members),
            _ => Err(self.mismatch("an object")),
        }
    }
}
