//! What a lookup found.

use std::{borrow::Cow, fmt, sync::Arc, vec};

use super::{
    objects::Objects,
    slot_set::{SlotSet, Slots},
};
use crate::Object;

/// Objects that a lookup in a snapshot found, in no promised order.
///
/// Two of them, from one snapshot, can be cut or joined without looking at the objects.
pub struct Matches<'a, T> {
    objects: &'a Objects<T>,
    slots: Cow<'a, SlotSet>,
}

impl<'a, T> Matches<'a, T> {
    pub(super) fn new(objects: &'a Objects<T>, slots: Cow<'a, SlotSet>) -> Self {
        Self { objects, slots }
    }

    /// How many objects were found.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the object with this key was found.
    pub fn contains(&self, key: &str) -> bool {
        let slot = self.objects.find(key);
        slot.is_some_and(|slot| self.slots.contains(slot))
    }

    /// The objects.
    pub fn iter(&self) -> impl Iterator<Item = &'a Arc<Object<T>>> {
        let objects = self.objects;
        self.slots.iter().filter_map(|slot| objects.at(slot))
    }

    /// The objects in the order of their keys.
    pub fn sorted(&self) -> Vec<&'a Arc<Object<T>>> {
        let mut objects: Vec<_> = self.iter().collect();
        objects.sort_by(|left, right| left.key.cmp(&right.key));
        objects
    }

    /// What both found. Both must be from one snapshot.
    pub fn intersection(&self, other: &Matches<'a, T>) -> Self {
        self.combined(self.slots.intersection(&other.slots), other)
    }

    /// What one of them found, or both. Both must be from one snapshot.
    pub fn union(&self, other: &Matches<'a, T>) -> Self {
        self.combined(self.slots.union(&other.slots), other)
    }

    fn combined(&self, slots: SlotSet, other: &Matches<'a, T>) -> Self {
        assert!(
            std::ptr::eq(self.objects, other.objects),
            "only what was found in one snapshot can be combined"
        );
        Self::new(self.objects, Cow::Owned(slots))
    }
}

impl<'a, T> IntoIterator for Matches<'a, T> {
    type Item = &'a Arc<Object<T>>;
    type IntoIter = MatchesIter<'a, T>;

    fn into_iter(self) -> MatchesIter<'a, T> {
        let slots = match self.slots {
            Cow::Borrowed(slots) => Walk::Shared(slots.iter()),
            Cow::Owned(slots) => Walk::Own(slots.iter().collect::<Vec<_>>().into_iter()),
        };
        MatchesIter {
            objects: self.objects,
            slots,
        }
    }
}

/// A walk through what a lookup found.
pub struct MatchesIter<'a, T> {
    objects: &'a Objects<T>,
    slots: Walk<'a>,
}

enum Walk<'a> {
    Shared(Slots<'a>),
    Own(vec::IntoIter<u32>),
}

impl<'a, T> Iterator for MatchesIter<'a, T> {
    type Item = &'a Arc<Object<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        let slot = match &mut self.slots {
            Walk::Shared(slots) => slots.next(),
            Walk::Own(slots) => slots.next(),
        };
        slot.and_then(|slot| self.objects.at(slot))
    }
}

impl<T> fmt::Debug for Matches<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.sorted().into_iter().map(|object| &object.key);
        formatter.debug_set().entries(keys).finish()
    }
}

impl<T> fmt::Debug for MatchesIter<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MatchesIter")
            .finish_non_exhaustive()
    }
}
