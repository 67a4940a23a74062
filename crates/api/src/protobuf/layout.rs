//! The schema as protobuf needs it: the fields of every message by number, and how each is written.

use std::fmt;

use crate::schema::{Embedding, Field, Schema, Shape, TypeId};

/// How the messages of all types of a schema are laid out.
#[derive(Debug)]
pub(crate) struct Layouts {
    messages: Vec<Message>,
}

/// How the message of one type is laid out.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// What it consists of, by number.
    pub(super) members: Vec<Member>,
    /// How each field of the [`ObjectType`](crate::schema::ObjectType) is written, in its order.
    pub(super) fields: Vec<Option<FieldLayout>>,
}

/// How a field of a type is written.
#[derive(Debug)]
pub(super) struct FieldLayout {
    pub(super) form: Form,
    /// Its place among all fields when the message is written by number.
    pub(super) order: usize,
}

/// A numbered part of a message.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) number: u32,
    pub(super) content: Content,
}

/// What a part of a message holds.
#[derive(Debug)]
pub(super) enum Content {
    /// The field at this place among those of the type.
    Field(usize),
    /// A struct that Go embeds: a message of its own here, fields of the same object in JSON.
    Embedded(Vec<Member>),
}

/// How a value is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    String,
    Bytes,
    Boolean,
    Int32,
    Int64,
    Double,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// JSON text as bytes in a message.
    RawJson,
    /// A message of this type.
    Object(TypeId),
    /// A schema of this type, or a list of them.
    SchemaOrList(TypeId),
    /// A schema of this type, or whether anything is allowed.
    SchemaOrBoolean(TypeId),
    /// A schema of this type, or the names of fields.
    SchemaOrNames(TypeId),
    /// The field repeated.
    List(Box<Form>),
    /// A message that holds nothing but the list.
    WrappedList(Box<Form>),
    /// The field repeated, each time a message with key and value.
    Map(Box<Form>),
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::String => "a text",
            Self::Bytes => "base64",
            Self::Boolean => "a boolean",
            Self::Int32 => "a whole number of 32 bits",
            Self::Int64 => "a whole number of 64 bits",
            Self::Double => "a number",
            Self::Time | Self::MicroTime => "a time",
            Self::Quantity => "an amount",
            Self::IntOrString => "a number or a text",
            Self::RawJson => "any value",
            Self::Object(_) => "an object",
            Self::SchemaOrList(_) => "a schema or a list",
            Self::SchemaOrBoolean(_) => "a schema or a boolean",
            Self::SchemaOrNames(_) => "a schema or names",
            Self::List(_) | Self::WrappedList(_) => "a list",
            Self::Map(_) => "a map",
        })
    }
}

impl Layouts {
    pub(crate) fn new(schema: &Schema) -> Self {
        let messages = schema.type_ids().map(|type_id| message(schema, type_id));
        Self {
            messages: messages.collect(),
        }
    }

    /// How the message of a type is laid out.
    pub(super) fn message(&self, type_id: TypeId) -> &Message {
        &self.messages[type_id.index()]
    }

    /// How the field at this place among those of a type is written; `None` where nothing is known
    /// of it beyond its JSON.
    pub(crate) fn form(&self, type_id: TypeId, place: usize) -> Option<&Form> {
        let field = self.message(type_id).fields[place].as_ref();
        field.map(|field| &field.form)
    }
}

/// The member with this number.
pub(super) fn find(members: &[Member], number: u32) -> Option<&Member> {
    let found = members.binary_search_by_key(&number, |member| member.number);
    found.ok().map(|place| &members[place])
}

fn message(schema: &Schema, type_id: TypeId) -> Message {
    let fields = &schema.object_type(type_id).fields;
    let mut message = Message::default();
    for (place, field) in fields.iter().enumerate() {
        let Some(number) = field.number else {
            continue;
        };
        let content = Content::Field(place);
        let member = Member { number, content };
        insert(&mut message.members, field.embedded.as_deref(), member);
    }
    message.fields.resize_with(fields.len(), || None);
    let mut places = Vec::new();
    collect_places(&message.members, &mut places);
    for (order, place) in places.into_iter().enumerate() {
        let form = field_form(type_id, &fields[place]);
        message.fields[place] = Some(FieldLayout { form, order });
    }
    message
}

fn collect_places(members: &[Member], places: &mut Vec<usize>) {
    for member in members {
        match &member.content {
            Content::Field(place) => places.push(*place),
            Content::Embedded(inside) => collect_places(inside, places),
        }
    }
}

/// Puts a member into the message of the struct it comes from.
fn insert(members: &mut Vec<Member>, embedding: Option<&Embedding>, member: Member) {
    let number = match embedding {
        None => member.number,
        Some(Embedding {
            number: Some(number),
            ..
        }) => *number,
        // What the envelope tells is not in the message.
        Some(Embedding { number: None, .. }) => return,
    };
    let place = members.partition_point(|other| other.number < number);
    let Some(embedding) = embedding else {
        members.insert(place, member);
        return;
    };
    if members
        .get(place)
        .is_none_or(|found| found.number != number)
    {
        let content = Content::Embedded(Vec::new());
        members.insert(place, Member { number, content });
    }
    if let Content::Embedded(inside) = &mut members[place].content {
        insert(inside, embedding.inner.as_deref(), member);
    }
}

fn field_form(owner: TypeId, field: &Field) -> Form {
    let go_type = field.go_type.as_deref().unwrap_or_default();
    match form(owner, &field.shape, go_type) {
        Form::List(element) if go_type == "v1.Verbs" => Form::WrappedList(element),
        form => form,
    }
}

fn form(owner: TypeId, shape: &Shape, go_type: &str) -> Form {
    match shape {
        Shape::String => Form::String,
        Shape::Bytes => Form::Bytes,
        Shape::Boolean => Form::Boolean,
        Shape::Int32 => Form::Int32,
        Shape::Int64 => Form::Int64,
        Shape::Number => Form::Double,
        Shape::Time => Form::Time,
        Shape::MicroTime => Form::MicroTime,
        Shape::Quantity => Form::Quantity,
        Shape::IntOrString => Form::IntOrString,
        Shape::Object { type_id, .. } => Form::Object(*type_id),
        Shape::List { element, .. } => Form::List(Box::new(form(owner, element, go_type))),
        Shape::Map { value, .. } => Form::Map(Box::new(match form(owner, value, go_type) {
            Form::List(element) => Form::WrappedList(element),
            form => form,
        })),
        Shape::Any | Shape::Deduced => match go_type {
            "v1.JSONSchemaPropsOrArray" => Form::SchemaOrList(owner),
            "v1.JSONSchemaPropsOrBool" => Form::SchemaOrBoolean(owner),
            "v1.JSONSchemaDependencies" => Form::SchemaOrNames(owner),
            _ => Form::RawJson,
        },
    }
}
