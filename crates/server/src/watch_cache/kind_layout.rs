//! What the cache must know of a kind.

use bytes::Bytes;
use listwatch_api::object::{LayoutError, MemberPath, StoredObject, append_escaped};
use listwatch_store::KeyRange;

use crate::registry::{Scope, SelectableField, ValueReader};

/// Paths to selectable fields of one kind, at the most. Further fields count as absent.
const PATHS_MAX: usize = 64;

/// Where the objects of a kind are stored and which of their fields can be selected by.
#[derive(Debug)]
pub struct KindLayout {
    storage_prefix: Box<str>,
    scope: Scope,
    fields: Vec<Field>,
    paths: Vec<MemberPath>,
    /// Understands values that others wrote; `None` takes canonical ones alone.
    reader: Option<ValueReader>,
}

/// A selectable field.
#[derive(Debug)]
pub(super) struct Field {
    /// More than one where a field has an old name too.
    names: Vec<Box<str>>,
    pub(super) lookup: Lookup,
    /// The text of an absent value, escaped as values are stored.
    default: Box<str>,
    /// Its place among the paths.
    path: usize,
    /// The place of the path to take when the first leads to nothing.
    fallback: Option<usize>,
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
            reader: None,
        };
        for field in selectable_fields {
            if layout.field(&field.name).is_none() && layout.paths.len() + 2 <= PATHS_MAX {
                layout.add(field);
            }
        }
        layout
    }

    /// The same layout for a store in which others write too, each in their own form.
    #[must_use]
    pub fn with_reader(mut self, reader: ValueReader) -> Self {
        self.reader = Some(reader);
        self
    }

    /// What understands values that others wrote.
    pub fn reader(&self) -> Option<&ValueReader> {
        self.reader.as_ref()
    }

    /// The beginning of all its keys.
    pub fn storage_prefix(&self) -> &str {
        &self.storage_prefix
    }

    fn add(&mut self, field: &SelectableField) {
        let new = Field {
            names: vec![field.name.clone()],
            default: escaped(&field.default),
            path: self.add_path(&field.path),
            fallback: field.fallback.as_ref().map(|path| self.add_path(path)),
            lookup: match field.indexed {
                true => Lookup::Index,
                false => Lookup::Scan,
            },
        };
        match self.fields.iter_mut().find(|known| known.says_what(&new)) {
            Some(known) => known.names.extend(new.names),
            None => self.fields.push(new),
        }
    }

    fn add_path(&mut self, members: &[Box<str>]) -> usize {
        let path = MemberPath::new(members.iter().cloned());
        let known = self.paths.iter().position(|known| *known == path);
        known.unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len() - 1
        })
    }

    /// Finds the parts of canonical bytes that matter of objects of this kind.
    pub(crate) fn scan(&self, value: Bytes) -> Result<StoredObject, LayoutError> {
        StoredObject::scan(value, &self.paths)
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
        let is_named = |field: &Field| field.names.iter().any(|known| &**known == name);
        self.fields.iter().position(is_named)
    }

    /// The text of a field of an object, escaped as it is stored.
    pub(super) fn value<'a>(&'a self, object: &'a StoredObject, index: usize) -> &'a str {
        let field = &self.fields[index];
        let value = object.field(field.path);
        let value = match field.fallback {
            Some(path) => value.filter(|text| !text.is_empty()).or(object.field(path)),
            None => value,
        };
        value.unwrap_or(&field.default)
    }
}

impl Field {
    /// Whether it has the value of the other in every object, and is found as fast.
    fn says_what(&self, other: &Self) -> bool {
        let place = |field: &Self| (field.path, field.fallback, field.lookup);
        place(self) == place(other) && self.default == other.default
    }
}

/// The text as it stands in stored objects.
pub(super) fn escaped(text: &str) -> Box<str> {
    let mut buffer = Vec::with_capacity(text.len());
    append_escaped(text, &mut buffer);
    String::from_utf8(buffer)
        .expect("escapes are ASCII and the rest was text")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, path: &[&str]) -> SelectableField {
        SelectableField {
            name: name.into(),
            path: path.iter().map(|member| (*member).into()).collect(),
            fallback: None,
            default: "".into(),
            indexed: true,
        }
    }

    #[test]
    fn a_field_with_two_names_is_looked_for_and_indexed_once() {
        let fields = [
            field("spec.nodeName", &["spec", "nodeName"]),
            field("spec.host", &["spec", "nodeName"]),
            field("spec.other", &["spec", "other"]),
        ];
        let layout = KindLayout::new("/registry/things/", Scope::Namespaced, &fields);
        assert_eq!((layout.fields().len(), layout.paths().len()), (2, 2));
        assert_eq!(layout.field("spec.host"), layout.field("spec.nodeName"));
        assert_ne!(layout.field("spec.other"), layout.field("spec.nodeName"));
    }
}
