//! What changed between two moments of the cache.

use std::{fmt, sync::Arc, vec};

use super::{Snapshot, objects::Objects, slot_set::SlotSet};
use crate::Object;

/// One object that is not the same in two snapshots.
pub enum Difference<T> {
    /// It is not there any more.
    Deleted(Arc<Object<T>>),
    /// It is there in another state.
    Updated {
        /// The state before.
        old: Arc<Object<T>>,
        /// The state after.
        new: Arc<Object<T>>,
    },
    /// It was not there before.
    Added(Arc<Object<T>>),
}

/// The differences of two snapshots: deletions, then updates and additions, each in the order of
/// their keys. Made by [`Snapshot::diff`].
pub struct Differences<T> {
    before: Snapshot<T>,
    after: Snapshot<T>,
    deleted: vec::IntoIter<u32>,
    present: vec::IntoIter<u32>,
}

impl<T> Differences<T> {
    pub(super) fn new(before: Snapshot<T>, after: Snapshot<T>) -> Self {
        let (old, new) = (before.objects(), after.objects());
        let changed: Vec<u32> = old.changed_slots(new).collect();
        let slots = changed.iter().copied();
        let is_gone = |slot: &u32| {
            let object = old.at(*slot);
            object.is_some_and(|object| new.get_near(*slot, &object.key).is_none())
        };
        // An object that went and came back may have another slot, and yet be the same.
        let is_other = |slot: &u32| {
            new.at(*slot).is_some_and(|object| {
                let known = old.get_near(*slot, &object.key);
                !known.is_some_and(|known| Arc::ptr_eq(known, object))
            })
        };
        let deleted = in_order(old, slots.clone().filter(is_gone).collect());
        let present = in_order(new, slots.filter(is_other).collect());
        Self {
            before,
            after,
            deleted,
            present,
        }
    }

    fn present(&self, slot: u32) -> Option<Difference<T>> {
        let new = Arc::clone(self.after.objects().at(slot)?);
        let difference = match self.before.objects().get_near(slot, &new.key) {
            Some(old) => Difference::Updated {
                old: Arc::clone(old),
                new,
            },
            None => Difference::Added(new),
        };
        Some(difference)
    }
}

/// Slots by key: sorted if they are few, else picked from the order of all.
fn in_order<T>(objects: &Objects<T>, mut slots: Vec<u32>) -> vec::IntoIter<u32> {
    if slots.len() > objects.len() / 8 {
        let wanted: SlotSet = slots.into_iter().collect();
        let ordered = objects.ordered_slots();
        slots = ordered.filter(|slot| wanted.contains(*slot)).collect();
    } else {
        slots.sort_by_key(|slot| objects.at(*slot).map(|object| &object.key));
    }
    slots.into_iter()
}

impl<T> Iterator for Differences<T> {
    type Item = Difference<T>;

    fn next(&mut self) -> Option<Difference<T>> {
        if let Some(slot) = self.deleted.next() {
            let object = self.before.objects().at(slot)?;
            return Some(Difference::Deleted(Arc::clone(object)));
        }
        let slot = self.present.next()?;
        self.present(slot)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.deleted.len() + self.present.len();
        (left, Some(left))
    }
}

impl<T> ExactSizeIterator for Differences<T> {}

/// `+ default/web @7`, `~ default/web @7 -> @8` or `- default/web @8`.
impl<T> fmt::Debug for Difference<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted(old) => write!(formatter, "- {} @{}", old.key, old.version),
            Self::Updated { old, new } => {
                let (key, new) = (&new.key, &new.version);
                write!(formatter, "~ {key} @{} -> @{new}", old.version)
            }
            Self::Added(new) => write!(formatter, "+ {} @{}", new.key, new.version),
        }
    }
}

impl<T> fmt::Debug for Differences<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Differences")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}
