//! What an owner owns. Most writes touch few owners, so it is read only when it must change.

use std::borrow::Cow;

use listwatch_api::field_set::FieldSet;

/// A set of fields, as it is stored or as a set.
#[derive(Clone, Debug)]
pub(super) enum Fields {
    /// As this server has written it before.
    Written(Box<str>),
    /// As a set.
    Read(FieldSet),
}

impl Fields {
    /// Whether one of these fields is among them.
    pub(super) fn intersects(&self, others: &FieldSet) -> bool {
        match self {
            Self::Written(fields) => others.intersects_written(fields),
            Self::Read(fields) => others.intersects(fields),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Written(fields) => matches!(&**fields, "{}" | "null"),
            Self::Read(fields) => fields.is_empty(),
        }
    }

    /// The fields as a set.
    pub(super) fn as_set(&self) -> Cow<'_, FieldSet> {
        match self {
            Self::Written(fields) => {
                Cow::Owned(FieldSet::from_fields_v1_text(fields).unwrap_or_default())
            }
            Self::Read(fields) => Cow::Borrowed(fields),
        }
    }

    /// Adds fields.
    pub(super) fn add(&mut self, others: FieldSet) {
        let covered = match self {
            Self::Written(fields) => others.is_within_written(fields),
            Self::Read(_) => false,
        };
        if !covered {
            *self = Self::Read(self.take().union(others));
        }
    }

    /// Takes fields away.
    pub(super) fn remove(&mut self, others: &FieldSet) {
        if self.intersects(others) {
            *self = Self::Read(self.take().difference(others));
        }
    }

    /// Appends the stored form.
    pub(super) fn append(&self, text: &mut Vec<u8>) {
        match self {
            Self::Written(fields) => text.extend_from_slice(fields.as_bytes()),
            Self::Read(fields) => fields.append_fields_v1(text),
        }
    }

    fn take(&mut self) -> FieldSet {
        match std::mem::replace(self, Self::Read(FieldSet::default())) {
            Self::Written(fields) => FieldSet::from_fields_v1_text(&fields).unwrap_or_default(),
            Self::Read(fields) => fields,
        }
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Written(one), Self::Written(other)) if one == other => true,
            _ => self.as_set() == other.as_set(),
        }
    }
}

impl Eq for Fields {}
