//! What the cache must know of a kind.

use listwatch_api::object::MemberPath;
use listwatch_store::KeyRange;

use crate::registry::{Scope, SelectableField};

/// Selectable fields of one kind, at the most. Further ones count as absent.
const FIELDS_MAX: usize = 64;

/// Where the objects of a kind are stored and which of their fields can be selected by.
#[derive(Debug)]
pub struct KindLayout {
    storage_prefix: Box<str>,
    scope: Scope,
    fields: Vec<Field>,
    paths: Vec<MemberPath>,
}

/// A selectable field.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    /// The text of an absent value.
    pub(super) default: Box<str>,
    pub(super) lookup: Lookup,
}

/// How objects with some value of a field are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// By looking at each.
    Scan,
    /// Through an index.
    Index,
}

impl KindLayout {
    /// The layout of a kind whose keys all begin with `storage_prefix`, which ends with a slash.
    pub fn new<'a>(
        storage_prefix: impl Into<Box<str>>,
        scope: Scope,
        selectable_fields: impl IntoIterator<Item = &'a SelectableField>,
    ) -> Self {
        let mut layout = Self {
            storage_prefix: storage_prefix.into(),
            scope,
            fields: Vec::new(),
            paths: Vec::new(),
        };
        for field in selectable_fields {
            if layout.field(&field.name).is_none() && layout.fields.len() < FIELDS_MAX {
                layout.add(field);
            }
        }
        layout
    }

    /// The beginning of all its keys.
    pub fn storage_prefix(&self) -> &str {
        &self.storage_prefix
    }

    fn add(&mut self, field: &SelectableField) {
        self.paths.push(MemberPath::new(field.path.iter().cloned()));
        self.fields.push(Field {
            name: field.name.clone(),
            default: field.default.clone(),
            lookup: match field.indexed {
                true => Lookup::Index,
                false => Lookup::Scan,
            },
        });
    }

    pub(super) fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    pub(super) fn range(&self) -> KeyRange {
        KeyRange::prefix(self.storage_prefix.as_bytes())
    }

    pub(super) fn paths(&self) -> &[MemberPath] {
        &self.paths
    }

    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The index of the field with this name.
    pub(super) fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| &*field.name == name)
    }
}
