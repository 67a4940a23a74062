//! The shape of objects: which fields a type has, and how each is merged and owned.
//!
//! Built-in kinds come from a table, custom ones from their definitions; both end up here, and all
//! that needs shapes (decoding, strategic merge patches, managed fields, OpenAPI) reads them here.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::protobuf::Layouts;

mod text;

pub use text::TableError;

/// The place of an [`ObjectType`] in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

impl TypeId {
    /// The place that the type with this index gets in [`Schema::new`].
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("a schema has far fewer than 2^32 types"))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A closed set of object types.
#[derive(Debug, Default)]
pub struct Schema {
    types: Vec<ObjectType>,
    by_name: HashMap<Box<str>, TypeId>,
    layouts: OnceLock<Layouts>,
}

/// The fields of one type.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectType {
    /// The full name, such as `io.k8s.api.core.v1.PodSpec`.
    pub name: Box<str>,
    /// The fields, sorted by name.
    pub fields: Vec<Field>,
    /// What further members hold; none where there may be no others.
    pub rest: Option<Shape>,
}

/// One field of a type.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// The name in JSON.
    pub name: Box<str>,
    /// What it holds.
    pub shape: Shape,
    /// Whether an object without it is incomplete.
    pub required: bool,
    /// What is written when it has no value.
    pub presence: Presence,
    /// What a strategic merge patch does with it.
    pub patch: PatchStrategy,
    /// Its place among the fields when an object is written.
    pub position: u16,
    /// Its number in protobuf.
    pub number: Option<u32>,
    /// The struct that Go embeds to have it.
    pub embedded: Option<Box<Embedding>>,
    /// The Go type that refusals name, where [`Schema::go_type`] of the shape is another.
    pub go_type: Option<Box<str>>,
    /// What an absent value means, as JSON text.
    pub default: Option<Box<str>>,
}

/// What is written for a field that has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Nothing, and empty values count as none (`omitempty`).
    OmitEmpty,
    /// Nothing, but an empty value is kept (a pointer with `omitempty`).
    Optional,
    /// The empty value.
    Always,
    /// `null` (a pointer without `omitempty`).
    Nullable,
}

/// A struct that Go embeds in another: one in JSON, a message of its own in protobuf.
#[derive(Debug, PartialEq, Eq)]
pub struct Embedding {
    /// The name of the embedded struct.
    pub name: Box<str>,
    /// The number of its message.
    pub number: Option<u32>,
    /// The struct inside it that is embedded in turn, when the field comes from there.
    pub inner: Option<Box<Embedding>>,
}

impl Embedding {
    /// The names of the structs from the outside in, as Go joins them.
    pub fn path(&self) -> String {
        match &self.inner {
            None => self.name.to_string(),
            Some(inner) => format!("{}.{}", self.name, inner.path()),
        }
    }
}

/// What a value may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    String,
    /// Bytes, in JSON as base64.
    Bytes,
    /// True or false.
    Boolean,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Any number.
    Number,
    /// A time to the second, RFC 3339, or null.
    Time,
    /// A time to the microsecond, RFC 3339, or null.
    MicroTime,
    /// An amount such as `500m`; text or number.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// Any JSON, kept as it is.
    Any,
    /// Any JSON; maps are owned by their entries, however deep, and all else as a whole.
    Deduced,
    /// An object of a known type; `atomic` when it is owned and replaced as a whole.
    Object {
        /// Its type.
        type_id: TypeId,
        /// Whether it is one value rather than a set of fields.
        atomic: bool,
    },
    /// A map from text to one shape; `atomic` when it is owned and replaced as a whole.
    Map {
        /// The shape of each value.
        value: Box<Shape>,
        /// Whether it is one value rather than a set of entries.
        atomic: bool,
    },
    /// A list of one shape.
    List {
        /// The shape of each element.
        element: Box<Shape>,
        /// What tells two elements apart.
        identity: ListIdentity,
    },
}

/// What makes an element of a list the same element (`x-kubernetes-list-type`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListIdentity {
    /// Nothing: the list is one value.
    Atomic,
    /// Its value.
    Set,
    /// These fields of it.
    Keys(Vec<Box<str>>),
}

/// What a strategic merge patch does with a field (`x-kubernetes-patch-strategy`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// Objects and maps are merged, lists replaced.
    #[default]
    Default,
    /// The field is replaced as a whole.
    Replace,
    /// The list is merged; `key` is absent for lists of plain values.
    Merge {
        /// The field that identifies an element.
        key: Option<Box<str>>,
        /// Whether only the keys named by the patch are kept (`retainKeys`).
        retain_keys: bool,
    },
    /// The object is merged, and only the keys named by the patch are kept.
    RetainKeys,
}

impl Schema {
    /// Reads tables of types; a type may refer to types of all the tables.
    pub fn parse(tables: &[&str]) -> Result<Self, TableError> {
        text::parse(tables).map(Self::new)
    }

    /// A schema of these types; names must be distinct.
    pub fn new(types: Vec<ObjectType>) -> Self {
        let by_name = types
            .iter()
            .enumerate()
            .map(|(index, object_type)| {
                let index = u32::try_from(index).expect("a schema has far fewer than 2^32 types");
                (object_type.name.clone(), TypeId(index))
            })
            .collect();
        Self {
            types,
            by_name,
            layouts: OnceLock::new(),
        }
    }

    /// The type with this full name.
    pub fn find(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    /// The type at this place.
    pub fn object_type(&self, type_id: TypeId) -> &ObjectType {
        &self.types[type_id.index()]
    }

    /// How the types are written in protobuf; made when first asked for.
    pub(crate) fn layouts(&self) -> &Layouts {
        self.layouts.get_or_init(|| Layouts::new(self))
    }

    /// The places of all types.
    pub(crate) fn type_ids(&self) -> impl Iterator<Item = TypeId> {
        let count = u32::try_from(self.types.len()).expect("a schema has far fewer types");
        (0..count).map(TypeId)
    }

    /// All types, to make another schema of.
    pub fn into_types(self) -> Vec<ObjectType> {
        self.types
    }

    /// All types.
    pub fn types(&self) -> &[ObjectType] {
        &self.types
    }

    /// The Go type of a shape, as Go prints it.
    pub fn go_type(&self, shape: &Shape) -> String {
        let fixed = match shape {
            Shape::String => "string",
            Shape::Bytes => "[]uint8",
            Shape::Boolean => "bool",
            Shape::Int32 => "int32",
            Shape::Int64 => "int64",
            Shape::Number => "float64",
            Shape::Time => "v1.Time",
            Shape::MicroTime => "v1.MicroTime",
            Shape::Quantity => "resource.Quantity",
            Shape::IntOrString => "intstr.IntOrString",
            Shape::Any | Shape::Deduced => "interface {}",
            Shape::Object { type_id, .. } => return self.object_type(*type_id).go_name(),
            Shape::Map { value, .. } => return format!("map[string]{}", self.go_type(value)),
            Shape::List { element, .. } => return format!("[]{}", self.go_type(element)),
        };
        fixed.to_owned()
    }
}

impl ObjectType {
    /// The field with this JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.place(name).map(|place| &self.fields[place])
    }

    /// What the member with this name holds.
    pub fn member(&self, name: &str) -> Option<&Shape> {
        let field = self.field(name).map(|field| &field.shape);
        field.or(self.rest.as_ref())
    }

    /// The place of the field with this JSON name.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        let found = self
            .fields
            .binary_search_by(|field| field.name.as_ref().cmp(name));
        found.ok()
    }

    /// The name without its package, such as `PodSpec`.
    pub fn short_name(&self) -> &str {
        self.name
            .rsplit_once('.')
            .map_or(&self.name, |(_, name)| name)
    }

    /// The name as Go prints it, such as `v1.PodSpec`.
    pub fn go_name(&self) -> String {
        let mut parts = self.name.rsplit('.');
        match (parts.next(), parts.next()) {
            (Some(name), Some(package)) => format!("{package}.{name}"),
            _ => self.name.to_string(),
        }
    }
}
