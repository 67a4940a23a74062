//! Values of the past, from the disk.

use bytes::Bytes;

use super::{
    error::OpenError,
    record::{LoggedWrite, writes_in},
    snapshot::Files,
    state::{Place, Version},
};
use crate::{Entry, Key, Revision};

/// Reads versions of one moment of a store. Keeps the record that it read last: what was written
/// together is mostly read together, and a large record is then read and checked once.
pub(crate) struct PastReader<'a> {
    files: &'a Files,
    last: Option<(Place, Vec<u8>)>,
}

impl<'a> PastReader<'a> {
    pub(crate) fn new(files: &'a Files) -> Self {
        Self { files, last: None }
    }

    /// A version with its value.
    pub(crate) fn entry(&mut self, key: &Key, version: &Version) -> Result<Entry, OpenError> {
        match version {
            Version::Current(stored) => Ok(stored.entry(key)),
            Version::Past { revision, place } => Ok(Entry {
                key: key.clone(),
                revision: *revision,
                value: self.value(key.as_bytes(), *revision, *place)?,
            }),
        }
    }

    /// The value that a key had from a revision on.
    fn value(
        &mut self,
        key: &[u8],
        revision: Revision,
        place: Option<Place>,
    ) -> Result<Bytes, OpenError> {
        match place {
            Some(place) if revision > self.files.base.header.revision => {
                let segment = self.files.segment(place.sequence.get().into());
                let found = value_in(self.writes(place)?, key);
                found.ok_or_else(|| segment.vanished(place.offset))
            }
            _ => self.files.base.value_of(key),
        }
    }

    fn writes(&mut self, place: Place) -> Result<&[u8], OpenError> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != place) {
            let segment = self.files.segment(place.sequence.get().into());
            self.last = Some((place, segment.writes_at(place.offset)?));
        }
        let (_, writes) = self.last.as_ref().expect("it was read just now");
        Ok(writes)
    }
}

fn value_in(writes: &[u8], key: &[u8]) -> Option<Bytes> {
    writes_in(writes).find_map(|write| match write {
        LoggedWrite::Put {
            key: written,
            value,
            ..
        } if written == key => Some(Bytes::copy_from_slice(value)),
        _ => None,
    })
}
