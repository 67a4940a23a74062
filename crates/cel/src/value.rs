//! What expressions compute with. Data given to an expression stays where it is; values point into
//! it.

mod built;
mod collections;
mod compare;
mod json;
mod opaque;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::EvaluationError;
use crate::library::ip::{Address, Network};
use crate::library::quantity::Quantity;
use crate::library::semver::Version;
use crate::library::time::{Duration, Timestamp};
use crate::library::url::Url;

pub use collections::Entries;
pub use collections::{List, Map};
pub use opaque::{
    AccessCheck, AccessDecision, Authorizer, AuthorizerValue, Check, LazyFields, ResourceCheck,
    Subject,
};

/// What looking something up, computing or comparing ends with.
pub(crate) type Outcome<'a> = Result<Value<'a>, EvaluationError>;

/// One value.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number with a sign.
    Int(i64),
    /// A whole number without a sign.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A point in time.
    Timestamp(Timestamp),
    /// A span of time.
    Duration(Duration),
    /// A list.
    List(List<'a>),
    /// A map, or an object read as one.
    Map(Map<'a>),
    /// A type, by name.
    Type(Arc<str>),
    /// A value that may be absent.
    Optional(Option<Arc<Value<'a>>>),
    /// An object that the expression built.
    Object(Arc<Object<'a>>),
    /// Fields that are computed when first looked at.
    Lazy(&'a dyn LazyFields),
    /// Data that can only be compared.
    Preserved(&'a serde_json::Value),
    /// `kubernetes.Quantity`.
    Quantity(Arc<Quantity>),
    /// `net.IP`.
    Ip(Address),
    /// `net.CIDR`.
    Cidr(Network),
    /// `kubernetes.URL`.
    Url(Arc<Url>),
    /// `kubernetes.Semver`.
    Semver(Arc<Version>),
    /// `kubernetes.NamedFormat`.
    Format(&'static crate::library::format::NamedFormat),
    /// Whom to ask who may do what.
    Authorizer(AuthorizerValue<'a>),
    /// A question about access to a path of the server, to be asked with a verb.
    PathCheck(AuthorizerValue<'a>, Arc<str>),
    /// A question about access to resources of a group.
    GroupCheck(AuthorizerValue<'a>, Arc<str>),
    /// A question about access to resources, to be asked with a verb.
    ResourceCheck(AuthorizerValue<'a>, Arc<ResourceCheck>),
    /// The answer to a question about access.
    Decision(Arc<AccessDecision>),
}

/// An object that an expression built, such as `Object.spec{replicas: 1}`.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// The name it was built by.
    pub type_name: Arc<str>,
    /// Its fields, by the names that the expression gave.
    pub fields: std::collections::BTreeMap<String, Value<'a>>,
}

/// Text that is borrowed from data or shared by values.
#[derive(Clone)]
pub enum Text<'a> {
    /// Part of the data.
    Borrowed(&'a str),
    /// Made by the expression.
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::String(Text::Shared(text.into()))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::String(Text::Borrowed(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> Value<'a> {
    /// A list of values.
    pub fn list(items: Vec<Value<'a>>) -> Self {
        Self::List(List::Values(Arc::new(items)))
    }

    /// A present optional value.
    pub fn some(value: Value<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The name of the value's type.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) | Self::Lazy(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Object(object) => &object.type_name,
            Self::Preserved(_) => "unknown",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(..) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(..) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(..) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    /// Characters, bytes, elements or entries; nothing for what has no size.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::String(text) => Some(text.chars().count() as u64),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::List(list) => Some(list.len() as u64),
            Self::Map(map) => Some(map.len() as u64),
            Self::Cidr(network) => Some(network.size()),
            Self::Ip(address) => Some(address.size()),
            _ => None,
        }
    }

    /// Whether this is what its type is when nothing is said: zero, empty, false.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::Timestamp(value) => value.is_zero(),
            Self::Duration(value) => value.nanoseconds() == 0,
            Self::String(_) | Self::Bytes(_) | Self::List(_) | Self::Map(_) => {
                self.size() == Some(0)
            }
            Self::Optional(inner) => inner.as_ref().is_none_or(|inner| inner.is_zero()),
            Self::Object(object) => object.fields.is_empty(),
            _ => false,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}
