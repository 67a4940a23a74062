//! One object as the cache keeps it: the store's own bytes, and where things are in them.

use std::sync::Arc;

use bytes::{BufMut, Bytes};
use listwatch_api::{
    ResourceVersion,
    object::{Header, LayoutError, StoredObject},
};
use listwatch_store::{Key, Revision, pack};

use super::{counted_tree::Keyed, kind_layout::KindLayout};
use crate::registry::{Form, Unreadable};

/// The resourceVersion that tells clients of this revision.
pub fn resource_version(revision: Revision) -> ResourceVersion {
    ResourceVersion::new(revision.get())
}

/// A state of an object. Key and value are shared with the store, unless the value had to be made
/// canonical first.
#[derive(Debug)]
pub struct CachedObject {
    key: Key,
    revision: Revision,
    stored: StoredObject,
    /// Where the namespace and the name begin in the key; at one place if there is no namespace.
    namespace_at: u16,
    name_at: u16,
    form: Form,
}

impl CachedObject {
    /// The object that an entry of the store holds.
    pub(super) fn read(
        layout: &KindLayout,
        key: Key,
        revision: Revision,
        value: Bytes,
    ) -> Result<Self, Unreadable> {
        let (stored, form) = scan(layout, &key, value)?;
        let namespace_at = layout.storage_prefix().len();
        let tail = key.as_bytes().get(namespace_at..).unwrap_or_default();
        let slash = tail.iter().position(|byte| *byte == b'/');
        let namespace_len = slash.filter(|_| layout.is_namespaced());
        let name_at = namespace_len.map_or(namespace_at, |length| namespace_at + length + 1);
        let narrow = |at| u16::try_from(at).map_err(|_| LayoutError::TooLong);
        Ok(Self {
            stored,
            namespace_at: narrow(namespace_at)?,
            name_at: narrow(name_at)?,
            form,
            revision,
            key,
        })
    }

    /// The same state in another version.
    pub(crate) fn shown_as(&self, stored: StoredObject) -> Self {
        Self {
            key: self.key.clone(),
            stored,
            ..*self
        }
    }

    /// The key in the store.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The revision that wrote this state.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The namespace; `None` for an object of the cluster.
    pub fn namespace(&self) -> Option<&str> {
        let range = usize::from(self.namespace_at)..usize::from(self.name_at).checked_sub(1)?;
        self.key.as_bytes().get(range).map(text)
    }

    /// The name.
    pub fn name(&self) -> &str {
        text(&self.key.as_bytes()[usize::from(self.name_at)..])
    }

    /// How it is written in the store.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The canonical bytes and their parts.
    pub fn stored(&self) -> &StoredObject {
        &self.stored
    }

    /// Appends the object with the resourceVersion of this state.
    pub fn append(&self, header: Header<'_>, buffer: &mut impl BufMut) {
        self.stored
            .append(header, resource_version(self.revision), buffer);
    }
}

impl Keyed for Arc<CachedObject> {
    fn key(&self) -> &Key {
        &self.key
    }
}

/// Finds the parts of a value: as it is, if it is in this server's form, else made so.
fn scan(layout: &KindLayout, key: &Key, value: Bytes) -> Result<(StoredObject, Form), Unreadable> {
    let Some(reader) = layout.reader() else {
        let stored = StoredObject::scan(value, layout.paths())?;
        return Ok((stored, Form::Canonical));
    };
    if reader.looks_canonical(key, &value)
        && let Ok(stored) = StoredObject::scan(value.clone(), layout.paths())
    {
        return Ok((stored, Form::Canonical));
    }
    let canonical = reader.normalize(key, &value)?;
    let form = match canonical == value {
        true => Form::Canonical,
        false => Form::Foreign,
    };
    let stored = StoredObject::scan(pack(&canonical), layout.paths())?;
    Ok((stored, form))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_takes_ninety_six_bytes_beside_its_value_and_its_places() {
        assert!(size_of::<CachedObject>() <= 96);
    }
}
