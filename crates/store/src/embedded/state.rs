//! The state now and at every revision since the floor. Values of the past lie on the disk; here is
//! only where.

use std::{iter::Peekable, num::NonZeroU32, ops::Bound, sync::Arc};

use bytes::Bytes;
use imbl::{OrdMap, ordmap, shared_ptr::DefaultSharedPtr};

use super::base::BaseEntry;
use crate::{Entry, Key, KeyRange, Revision, pack};

/// A value that is current.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) revision: Revision,
    pub(crate) value: Bytes,
    /// When it ends, in milliseconds since 1970.
    pub(crate) end: Option<u64>,
    /// Where it was logged; `None` when it came from the base.
    pub(crate) place: Option<Place>,
}

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) sequence: NonZeroU32,
    pub(crate) offset: u32,
}

/// A version of a key that is no longer current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// A value that was logged here, or that is in the base.
    Value(Option<Place>),
    /// The key was deleted.
    Gone,
}

/// A version of a key that had a value at the revision asked for.
#[derive(Clone, Debug)]
pub(crate) enum Version {
    Current(Arc<Stored>),
    Past {
        revision: Revision,
        place: Option<Place>,
    },
}

/// All versions of all keys since the floor. A clone is a snapshot and costs nothing.
///
/// ```text
/// a put at 1 and 4, deleted at 6; b put at 5:   current {b5}   past {a1, a4, a6 gone}
/// at 5: a has the newest version not after 5, which is a4; b has 5
/// floor 4: a1 can be dropped, for a4 replaced it; floor 6: a4 and a6 too
/// ```
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    current: OrdMap<Key, Arc<Stored>>,
    past: OrdMap<(Key, Revision), Past>,
}

impl State {
    /// Takes in an entry of the base.
    pub(crate) fn load(&mut self, entry: &BaseEntry<'_>) {
        let stored = Stored {
            revision: entry.revision,
            value: pack(entry.value),
            end: entry.end,
            place: None,
        };
        self.current.insert(Key::new(entry.key), Arc::new(stored));
    }

    /// Sets a value; returns the one it replaced.
    pub(crate) fn put(&mut self, key: Key, stored: Stored) -> Option<Arc<Stored>> {
        let replaced = self.current.insert(key.clone(), Arc::new(stored));
        self.remember(key, replaced.as_deref());
        replaced
    }

    /// Deletes a value and returns it.
    pub(crate) fn delete(&mut self, key: &Key, revision: Revision) -> Option<Arc<Stored>> {
        let replaced = self.current.remove(key)?;
        self.remember(key.clone(), Some(&replaced));
        self.past.insert((key.clone(), revision), Past::Gone);
        Some(replaced)
    }

    fn remember(&mut self, key: Key, replaced: Option<&Stored>) {
        if let Some(stored) = replaced {
            let past = Past::Value(stored.place);
            self.past.insert((key, stored.revision), past);
        }
    }

    /// Drops a version of the past.
    pub(crate) fn forget(&mut self, key: Key, revision: Revision) {
        self.past.remove(&(key, revision));
    }

    /// The current value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Arc<Stored>> {
        self.current.get(key)
    }

    /// The current values of a range, in order.
    pub(crate) fn range(&self, range: &KeyRange) -> Ranged<'_, Key, Arc<Stored>> {
        self.current.range::<_, [u8]>(range.bounds())
    }

    /// The version of a key that was current at a revision.
    pub(crate) fn version_at(&self, key: &Key, at: Revision) -> Option<Version> {
        if let Some(stored) = self.current.get(key)
            && stored.revision <= at
        {
            return Some(Version::Current(Arc::clone(stored)));
        }
        let ((found, revision), past) = self.past.get_prev(&(key.clone(), at))?;
        let revision = *revision;
        match past {
            Past::Value(place) if found == key => Some(Version::Past {
                revision,
                place: *place,
            }),
            _ => None,
        }
    }

    /// The versions of a range that were current at a revision, in the order of their keys.
    pub(crate) fn range_at(&self, range: &KeyRange, at: Revision) -> RangeAt<'_> {
        let start = Bound::Included((Key::new(&range.start), Revision::ZERO));
        let end = match &range.end {
            Some(end) => Bound::Excluded((Key::new(end.max(&range.start)), Revision::ZERO)),
            None => Bound::Unbounded,
        };
        RangeAt {
            at,
            current: self.range(range).peekable(),
            past: self.past.range((start, end)).peekable(),
        }
    }
}

/// Part of a map, in order.
pub(crate) type Ranged<'a, K, V> = ordmap::RangedIter<'a, K, V, DefaultSharedPtr>;

/// Goes through the current and the past versions side by side.
pub(crate) struct RangeAt<'a> {
    at: Revision,
    current: Peekable<Ranged<'a, Key, Arc<Stored>>>,
    past: Peekable<Ranged<'a, (Key, Revision), Past>>,
}

impl<'a> RangeAt<'a> {
    fn next_key(&mut self) -> Option<&'a Key> {
        let current = self.current.peek().map(|(key, _)| *key);
        let past = self.past.peek().map(|((key, _), _)| key);
        match (current, past) {
            (Some(current), Some(past)) => Some(current.min(past)),
            (current, past) => current.or(past),
        }
    }

    /// The last version of the past of a key that is not after the revision; leaves the key behind.
    fn take_past(&mut self, key: &Key) -> Option<Version> {
        let mut found = None;
        while let Some(((_, revision), past)) = self.past.next_if(|((next, _), _)| next == key) {
            if *revision <= self.at {
                found = match past {
                    Past::Gone => None,
                    Past::Value(place) => Some(Version::Past {
                        revision: *revision,
                        place: *place,
                    }),
                };
            }
        }
        found
    }
}

impl<'a> Iterator for RangeAt<'a> {
    type Item = (&'a Key, Version);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let key = self.next_key()?;
            let past = self.take_past(key);
            let current = self.current.next_if(|(next, _)| *next == key);
            let current = current.filter(|(_, stored)| stored.revision <= self.at);
            let current = current.map(|(_, stored)| Version::Current(Arc::clone(stored)));
            if let Some(version) = current.or(past) {
                return Some((key, version));
            }
        }
    }
}

impl Stored {
    /// The value as a reader sees it.
    pub(crate) fn entry(&self, key: &Key) -> Entry {
        Entry {
            key: key.clone(),
            revision: self.revision,
            value: self.value.clone(),
        }
    }
}
