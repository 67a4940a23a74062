//! What is known about JSON data before it is seen: how to read it as values, how large it may be.

mod openapi;

pub use openapi::Position;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::names;
use crate::types::{ObjectType, Openness, Type};

/// What one piece of JSON data is.
#[derive(Clone, Debug)]
pub struct Schema {
    /// How to read it.
    pub shape: Shape,
    /// Whether it may be `null`.
    pub nullability: Nullability,
    /// Most characters, bytes, elements or entries it can have.
    pub elements_max: u64,
    /// Fewest bytes that it takes in a request.
    pub(crate) serialized_bytes_min: u64,
}

/// Whether data may be `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nullability {
    /// `null` is an error.
    Never,
    /// `null` is a value.
    Allowed,
}

/// How data is read.
#[derive(Clone, Debug)]
pub enum Shape {
    /// As it comes.
    Dynamic,
    /// A whole number or text.
    IntOrString,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A floating point number, even when written as a whole one.
    Number,
    /// Text.
    String,
    /// Base64 text, read as bytes.
    Bytes,
    /// Text that is a span of time.
    Duration,
    /// Text that is a day.
    Date,
    /// Text that is a point in time.
    DateTime,
    /// A list of elements that are all alike.
    List {
        /// What each element is.
        items: Arc<Schema>,
        /// What makes two lists the same.
        identity: ListIdentity,
    },
    /// Values by names that are not known in advance.
    Map {
        /// What each value is.
        values: Arc<Schema>,
    },
    /// Values by names that are known.
    Object {
        /// The fields, by the names that the data uses.
        fields: BTreeMap<String, Field>,
    },
    /// Data that nothing is known about; it can be compared, and nothing else.
    Preserved,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// What it holds.
    pub schema: Schema,
    /// Whether expressions may name it.
    pub exposure: Exposure,
}

/// Whether expressions may name a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// They may.
    Exposed,
    /// They may not; it still counts when objects are compared.
    Hidden,
}

/// What makes two lists the same, and what adding one to another does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListIdentity {
    /// The same elements in the same order.
    Atomic,
    /// The same elements in any order.
    Set,
    /// The same elements in any order, told apart by these fields.
    Map(Vec<String>),
}

/// Data about which nothing is known.
pub(crate) static DYNAMIC: Schema = Schema {
    shape: Shape::Dynamic,
    nullability: Nullability::Allowed,
    elements_max: u64::MAX,
    serialized_bytes_min: 1,
};

impl Schema {
    /// Data about which nothing is known.
    pub fn dynamic() -> &'static Schema {
        &DYNAMIC
    }

    /// The type that expressions see, its objects named after `name` and the way to them.
    pub fn declared_type(&self, name: &str) -> Type {
        match &self.shape {
            Shape::Dynamic | Shape::IntOrString | Shape::Preserved => Type::Dyn,
            Shape::Boolean => Type::Bool,
            Shape::Integer => Type::Int,
            Shape::Number => Type::Double,
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Duration => Type::Duration,
            Shape::Date | Shape::DateTime => Type::Timestamp,
            Shape::List { items, .. } => Type::list(items.declared_type(&format!("{name}.@idx"))),
            Shape::Map { values } => {
                Type::map(Type::String, values.declared_type(&format!("{name}.@elem")))
            }
            Shape::Object { fields } => Type::Object(declared_object(name, fields)),
        }
    }

    /// Most times that data of this kind can occur in one request: the worst case where no bound
    /// is declared.
    pub fn occurrences_max(&self) -> u64 {
        openapi::REQUEST_BYTES_MAX / (self.serialized_bytes_min + 1)
    }

    /// The schema at the end of a path of field names, `@items`, `@values` and `@keys`.
    pub(crate) fn at<'s>(&'s self, path: &[String]) -> Option<SchemaAt<'s>> {
        let Some((step, rest)) = path.split_first() else {
            return Some(SchemaAt::Data(self));
        };
        let inner = match (&self.shape, step.as_str()) {
            (Shape::List { items, .. }, "@items") => items,
            (Shape::Map { values }, "@values") => values,
            (Shape::Map { .. }, "@keys") => return rest.is_empty().then_some(SchemaAt::Key),
            (Shape::Object { fields }, name) => {
                let field = fields.get(&names::unescape(name)?)?;
                return (field.exposure == Exposure::Exposed)
                    .then(|| field.schema.at(rest))
                    .flatten();
            }
            _ => return None,
        };
        inner.at(rest)
    }
}

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SchemaAt<'s> {
    Data(&'s Schema),
    /// The key of a map, about whose length nothing is said.
    Key,
}

impl SchemaAt<'_> {
    pub(crate) fn elements_max(self) -> u64 {
        match self {
            Self::Data(schema) => schema.elements_max,
            Self::Key => 0,
        }
    }
}

fn declared_object(name: &str, fields: &BTreeMap<String, Field>) -> Arc<ObjectType> {
    let exposed = fields
        .iter()
        .filter(|(_, field)| field.exposure == Exposure::Exposed);
    let fields = exposed
        .filter_map(|(property, field)| {
            let escaped = names::escape(property)?;
            let declared = field.schema.declared_type(&format!("{name}.{escaped}"));
            Some((escaped, declared))
        })
        .collect();
    Arc::new(ObjectType {
        name: name.to_owned(),
        fields,
        openness: Openness::Closed,
    })
}
