//! What an unfinished copy leaves in its target: where it comes from, and how far it is.

use bytes::Bytes;
use listwatch_store::{Entry, Key, KeyRange, Read, ReadError, Revision, Store};
use serde::{Deserialize, Serialize};

/// Where the marker lies. It is there from the first write of a copy to its last.
pub(crate) const MARKER_KEY: &str = "/registry/listwatch.copy";

/// How far a copy is. Written with each batch, in the same commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Marker {
    /// Where the objects come from.
    pub(crate) source: String,
    /// The run that wrote this, so that two of them find out about each other.
    pub(crate) run: String,
    /// The revision of the source that the phase is about.
    pub(crate) source_revision: u64,
    /// The newest revision of the target before the copy: what is newer was written by the copy.
    pub(crate) target_began: u64,
    /// What is done.
    pub(crate) phase: Phase,
    /// Objects of the source that are done.
    pub(crate) objects: u64,
}

/// What is done of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Phase {
    /// The objects up to a key, or none.
    Copying(Option<Position>),
    /// All of them, and the changes up to the revision.
    Following,
    /// All of it, but a comparison found a difference.
    Differing,
}

/// A key as text, one letter for each byte: keys are ASCII, but need not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Position(String);

impl Position {
    pub(crate) fn of(key: &Key) -> Self {
        Self(key.as_bytes().iter().copied().map(char::from).collect())
    }

    pub(crate) fn key(&self) -> Key {
        let bytes = self.0.chars().map(|letter| letter as u32 as u8);
        Key::new(bytes.collect::<Vec<_>>())
    }
}

impl Marker {
    /// The marker in an entry; `None` when this version cannot read it.
    pub(crate) fn parse(entry: &Entry) -> Option<Self> {
        serde_json::from_slice(&entry.value).ok()
    }

    pub(crate) fn bytes(&self) -> Bytes {
        let text = serde_json::to_vec(self);
        text.expect("text and numbers become JSON").into()
    }

    pub(crate) fn source_revision(&self) -> Revision {
        Revision::new(self.source_revision)
    }

    pub(crate) fn target_began(&self) -> Revision {
        Revision::new(self.target_began)
    }
}

/// Reads the marker.
pub(crate) fn read_marker() -> Read {
    Read::newest(KeyRange::single(MARKER_KEY)).limit(1)
}

/// Whether a copy into this store was begun and not finished.
pub(crate) async fn is_unfinished(store: &dyn Store) -> Result<bool, ReadError> {
    let page = store.read(read_marker()).await?;
    Ok(!page.entries.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        for key in [Key::from("/registry/pods/a"), Key::new([b'/', 0, 0xff])] {
            let marker = Marker {
                source: "data:/old".to_owned(),
                run: "1".to_owned(),
                source_revision: 7,
                target_began: 1_000_007,
                phase: Phase::Copying(Some(Position::of(&key))),
                objects: 3,
            };
            let entry = Entry {
                key: MARKER_KEY.into(),
                revision: Revision::new(1),
                value: marker.bytes(),
            };
            assert_eq!(Marker::parse(&entry), Some(marker.clone()));
            let Phase::Copying(Some(position)) = marker.phase else {
                panic!("{marker:?}");
            };
            assert_eq!(position.key(), key);
        }
    }
}
