//! Writes a message from its end to its beginning, as Kubernetes does: fields by number, maps by
//! key, and fields that Go always has also when they are not set.

use super::super::layout::{Content, FieldLayout, Form, Layouts, Member};
use super::super::wire::varint_length;
use super::tree::{Found, Node, Span, Tree};
use crate::schema::{Field, Presence, Schema, TypeId};

/// Bytes of the first allocation of a writer.
const CAPACITY_MIN: usize = 256;

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;

/// Bytes that grow at their beginning.
pub(in super::super) struct Backward {
    /// What is written stands at the end.
    bytes: Vec<u8>,
    start: usize,
}

impl Backward {
    pub(in super::super) fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: vec![0; capacity],
            start: capacity,
        }
    }

    /// What is written, and nothing beside it.
    pub(in super::super) fn to_vec(&self) -> Vec<u8> {
        self.bytes[self.start..].to_vec()
    }

    /// How much is written.
    pub(in super::super) fn length(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(in super::super) fn put(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            self.grow(bytes.len());
        }
        let end = self.start;
        self.start -= bytes.len();
        self.bytes[self.start..end].copy_from_slice(bytes);
    }

    fn grow(&mut self, room: usize) {
        let written = self.length();
        let more = self.bytes.len().max(room).max(CAPACITY_MIN);
        let mut bytes = vec![0; self.bytes.len() + more];
        let start = bytes.len() - written;
        bytes[start..].copy_from_slice(&self.bytes[self.start..]);
        *self = Self { bytes, start };
    }

    fn varint(&mut self, mut value: u64) {
        let mut bytes = [0; 10];
        let length = varint_length(value);
        for byte in &mut bytes[..length] {
            *byte = value.to_le_bytes()[0] | 0x80;
            value >>= 7;
        }
        bytes[length - 1] &= 0x7f;
        self.put(&bytes[..length]);
    }

    fn tag(&mut self, number: u32, wire_type: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire_type));
    }

    pub(in super::super) fn varint_field(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, VARINT);
    }

    pub(in super::super) fn bytes_field(&mut self, number: u32, bytes: &[u8]) {
        self.put(bytes);
        self.close(number, self.length() - bytes.len());
    }

    /// Makes a field of all that has been written since the length was `before`.
    pub(in super::super) fn close(&mut self, number: u32, before: usize) {
        self.length_delimited(number, self.length() - before);
    }

    /// Begins a field whose content has this length and stands behind.
    pub(in super::super) fn length_delimited(&mut self, number: u32, length: usize) {
        self.varint(length as u64);
        self.tag(number, BYTES);
    }
}

/// Writes the message of an object of this type.
pub(super) fn message(schema: &Schema, type_id: TypeId, tree: &Tree<'_>, into: &mut Backward) {
    let mut writer = Writer {
        schema,
        layouts: schema.layouts(),
        tree,
        out: into,
    };
    writer.message(type_id, tree.root());
}

struct Writer<'a> {
    schema: &'a Schema,
    layouts: &'a Layouts,
    tree: &'a Tree<'a>,
    out: &'a mut Backward,
}

/// The fields of the message that is written, of which the last ones come first.
struct Open<'a> {
    fields: &'a [Field],
    layouts: &'a [Option<FieldLayout>],
    left: &'a [Node<'a>],
}

impl<'a> Open<'a> {
    /// The value of the field at this place, if it is the next one that has a value.
    fn take(&mut self, order: usize) -> Found<'a> {
        match self.left.split_last() {
            Some((node, left)) if node.order == order => {
                self.left = left;
                node.found
            }
            _ => Found::Null,
        }
    }
}

impl<'a> Writer<'a> {
    fn message(&mut self, type_id: TypeId, span: Span) {
        let layout = self.layouts.message(type_id);
        let mut open = Open {
            fields: &self.schema.object_type(type_id).fields,
            layouts: &layout.fields,
            left: self.tree.nodes(span),
        };
        self.members(&layout.members, &mut open);
    }

    fn members(&mut self, members: &'a [Member], open: &mut Open<'a>) {
        for member in members.iter().rev() {
            match &member.content {
                Content::Embedded(inside) => {
                    let before = self.out.length();
                    self.members(inside, open);
                    self.out.close(member.number, before);
                }
                Content::Field(place) => {
                    let Some(layout) = &open.layouts[*place] else {
                        continue;
                    };
                    let found = open.take(layout.order);
                    let presence = open.fields[*place].presence;
                    self.field(member.number, &layout.form, presence, found);
                }
            }
        }
    }

    fn field(&mut self, number: u32, form: &Form, presence: Presence, found: Found<'a>) {
        match (form, found) {
            (Form::List(element), Found::List(span)) => self.elements(number, element, span),
            (Form::Map(value), Found::Map(span)) => self.entries(number, value, span),
            (Form::List(_) | Form::Map(_), _) => {}
            (_, Found::Null) if is_pointer(form, presence) => {}
            _ => self.single(number, form, found),
        }
    }

    fn elements(&mut self, number: u32, form: &Form, span: Span) {
        for node in self.tree.nodes(span).iter().rev() {
            self.single(number, form, node.found);
        }
    }

    fn entries(&mut self, number: u32, form: &Form, span: Span) {
        let (entries, _) = self.tree.nodes(span).as_chunks::<2>();
        for [key, value] in entries.iter().rev() {
            let before = self.out.length();
            self.field(2, form, Presence::Always, value.found);
            self.single(1, &Form::String, key.found);
            self.out.close(number, before);
        }
    }

    fn single(&mut self, number: u32, form: &Form, found: Found<'a>) {
        match form {
            Form::String | Form::Bytes => {
                let bytes = self.tree.bytes(found);
                self.out.bytes_field(number, bytes);
            }
            Form::Boolean | Form::Int32 | Form::Int64 => {
                self.out.varint_field(number, varint(found));
            }
            Form::Double => {
                let value = if let Found::Double(value) = found {
                    value
                } else {
                    0.0
                };
                self.out.put(&value.to_le_bytes());
                self.out.tag(number, FIXED64);
            }
            _ => {
                let before = self.out.length();
                self.inside(form, found);
                self.out.close(number, before);
            }
        }
    }

    /// What stands in the message of a value that is one.
    fn inside(&mut self, form: &Form, found: Found<'a>) {
        match (form, found) {
            (Form::Object(type_id), Found::Message(span)) => self.message(*type_id, span),
            (Form::Object(type_id), _) => self.message(*type_id, Span::EMPTY),
            (Form::Time | Form::MicroTime, Found::Time { seconds, nanos }) => {
                self.out.varint_field(2, i64::from(nanos).cast_unsigned());
                self.out.varint_field(1, seconds.cast_unsigned());
            }
            (Form::Quantity, Found::Null) => self.out.bytes_field(1, b"0"),
            (Form::Quantity | Form::RawJson, Found::Text(_) | Found::Kept(_)) => {
                self.out.bytes_field(1, self.tree.bytes(found));
            }
            (Form::IntOrString, _) => {
                let is_text = matches!(found, Found::Text(_) | Found::Kept(_));
                self.out.bytes_field(3, self.tree.bytes(found));
                self.out.varint_field(2, varint(found));
                self.out.varint_field(1, is_text.into());
            }
            (Form::SchemaOrBoolean(type_id), Found::Message(_)) => {
                self.single(2, &Form::Object(*type_id), found);
                self.out.varint_field(1, 1);
            }
            (Form::SchemaOrBoolean(_), _) => self.out.varint_field(1, varint(found)),
            (Form::SchemaOrList(type_id) | Form::SchemaOrNames(type_id), Found::Message(_)) => {
                self.single(1, &Form::Object(*type_id), found)
            }
            (Form::SchemaOrList(type_id), Found::List(span)) => {
                self.elements(2, &Form::Object(*type_id), span);
            }
            (Form::SchemaOrNames(_), Found::List(span)) => self.elements(2, &Form::String, span),
            (Form::WrappedList(element), Found::List(span)) => self.elements(1, element, span),
            _ => {}
        }
    }
}

/// Whether Go has nothing there when the value is not set.
fn is_pointer(form: &Form, presence: Presence) -> bool {
    matches!(presence, Presence::Optional | Presence::Nullable)
        || matches!(form, Form::Bytes | Form::WrappedList(_))
}

fn varint(found: Found<'_>) -> u64 {
    match found {
        Found::Varint(value) => value,
        _ => 0,
    }
}
