//! The shape of objects: which fields a type has, and how each is merged and owned.
//!
//! Built-in kinds come from a table, custom ones from their definitions; both end up here, and all
//! that needs shapes (decoding, strategic merge patches, managed fields, OpenAPI) reads them here.

use std::collections::HashMap;

/// The place of an [`ObjectType`] in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

/// A closed set of object types.
#[derive(Debug, Default)]
pub struct Schema {
    types: Vec<ObjectType>,
    by_name: HashMap<Box<str>, TypeId>,
}

/// The fields of one type.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectType {
    /// The full name, such as `io.k8s.api.core.v1.PodSpec`.
    pub name: Box<str>,
    /// The fields, sorted by name.
    pub fields: Vec<Field>,
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
    /// What a strategic merge patch does with it.
    pub patch: PatchStrategy,
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
        Self { types, by_name }
    }

    /// The type with this full name.
    pub fn find(&self, name: &str) -> Option<TypeId> {
        self.by_name.get(name).copied()
    }

    /// The type at this place.
    pub fn object_type(&self, type_id: TypeId) -> &ObjectType {
        &self.types[type_id.0 as usize]
    }

    /// All types.
    pub fn types(&self) -> &[ObjectType] {
        &self.types
    }
}

impl ObjectType {
    /// The field with this JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let found = self
            .fields
            .binary_search_by(|field| field.name.as_ref().cmp(name));
        found.ok().map(|index| &self.fields[index])
    }
}
