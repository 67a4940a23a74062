//! The types that expressions have.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::names;

/// The type of an expression, a variable or a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Known only when the expression runs.
    Dyn,
    /// Of something that has been reported as wrong already.
    Error,
    /// Of `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// 64 bits with a sign.
    Int,
    /// 64 bits without a sign.
    Uint,
    /// A floating point number.
    Double,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A span of time.
    Duration,
    /// A list with elements of one type.
    List(Arc<Type>),
    /// A map from keys of one type to values of another.
    Map(Arc<Type>, Arc<Type>),
    /// An object with named fields.
    Object(Arc<ObjectType>),
    /// A type of the libraries that has functions but no fields, such as `kubernetes.Quantity`.
    Named(&'static str),
    /// A type of the libraries that is equal to nothing else, such as `net.IP`.
    Opaque(&'static str),
    /// A value that may be absent.
    Optional(Arc<Type>),
    /// A type itself.
    Type(Option<Arc<Type>>),
    /// To be found out: a parameter of a function, or the element of an empty list.
    Parameter(usize),
}

/// An object's name and fields.
#[derive(Debug, Eq)]
pub struct ObjectType {
    /// The name that messages show.
    pub name: String,
    /// Types by the names that expressions use.
    pub fields: BTreeMap<String, Type>,
    /// Whether fields that are not listed exist.
    pub openness: Openness,
}

/// Whether an object may have fields that nobody declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    /// Only the declared ones.
    Closed,
    /// Any, each of a type known when the expression runs.
    Open,
}

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl ObjectType {
    /// An object with exactly these fields.
    pub fn closed(name: impl Into<String>, fields: BTreeMap<String, Type>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            fields,
            openness: Openness::Closed,
        })
    }

    /// An object with any fields.
    pub fn open(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            fields: BTreeMap::new(),
            openness: Openness::Open,
        })
    }

    pub(crate) fn field(&self, name: &str) -> Option<Type> {
        match (self.fields.get(name), self.openness) {
            (Some(field), _) => Some(field.clone()),
            (None, Openness::Open) => Some(Type::Dyn),
            (None, Openness::Closed) if names::is_reserved(name) => {
                self.fields.get(&format!("__{name}__")).cloned()
            }
            (None, Openness::Closed) => None,
        }
    }
}

impl Type {
    /// A list of elements.
    pub fn list(element: Type) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map of values by keys.
    pub fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    /// Something that may be absent.
    pub fn optional(inner: Type) -> Self {
        Self::Optional(Arc::new(inner))
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The type inside an optional one, or the type itself.
    pub(crate) fn unwrapped(&self) -> (&Type, bool) {
        match self {
            Self::Optional(inner) => (inner, true),
            other => (other, false),
        }
    }

    /// The types that this one is made of.
    pub(crate) fn parts(&self) -> Vec<&Type> {
        match self {
            Self::List(element) | Self::Optional(element) => vec![element],
            Self::Map(key, value) => vec![key, value],
            Self::Type(Some(inner)) => vec![inner],
            _ => Vec::new(),
        }
    }

    /// Whether every value of this type has the same size.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool
            | Self::Double
            | Self::Duration
            | Self::Int
            | Self::Timestamp
            | Self::Uint => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// The name without what is in parentheses.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_, _) => "map",
            Self::Object(object) => &object.name,
            Self::Named(name) | Self::Opaque(name) => name,
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Parameter(_) => "parameter",
        }
    }

    /// The name that messages about types use, where absence of a value is called by its own name.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::List(element) => format!("list({})", element.shown()),
            Self::Map(key, value) => format!("map({}, {})", key.shown(), value.shown()),
            Self::Optional(inner) => format!("optional_type({})", inner.shown()),
            Self::Type(Some(inner)) => format!("type({})", inner.shown()),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(element) => write!(formatter, "list({element})"),
            Self::Map(key, value) => write!(formatter, "map({key}, {value})"),
            Self::Optional(inner) => write!(formatter, "optional_type({inner})"),
            Self::Type(Some(inner)) => write!(formatter, "type({inner})"),
            Self::Parameter(number) => write!(formatter, "_var{number}"),
            other => formatter.write_str(other.name()),
        }
    }
}
