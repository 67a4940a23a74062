//! The objects themselves: in slots, found by key, walked in the order of their keys.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use super::{
    hash_table::HashTable, key_order::KeyOrder, persistent_array::PersistentArray,
    postings::Numbers, slot_set::SlotSet,
};
use crate::{Object, ObjectKey};

/// Objects at one moment. A clone is free.
///
/// An object keeps its slot as long as its key is there, so that an update touches the slot alone:
/// the table of keys, their order and the indexes speak of slots and stay as they are.
pub(super) struct Objects<T> {
    slots: PersistentArray<Slot<T>, 8>,
    by_key: HashTable,
    order: KeyOrder,
    hasher: RandomState,
    len: usize,
}

type Slot<T> = Option<Arc<Object<T>>>;

impl<T> Objects<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: PersistentArray::new(),
            by_key: HashTable::new(),
            order: KeyOrder::new(),
            hasher: RandomState::new(),
            len: 0,
        }
    }

    /// These objects, which must be sorted by key and distinct: the fast way from nothing.
    pub(super) fn fill(&mut self, objects: Vec<Arc<Object<T>>>, numbers: &mut Numbers) {
        debug_assert!(objects.is_sorted_by(|left, right| left.key < right.key));
        debug_assert_eq!(self.len, 0);
        self.len = objects.len();
        self.by_key = HashTable::with_room_for(objects.len());
        let mut slots = Vec::with_capacity(objects.len());
        for object in objects {
            let slot = numbers.take();
            self.by_key.insert(self.hash(object.key.as_str()), slot);
            *self.slots.get_mut(slot as usize) = Some(object);
            slots.push(slot);
        }
        self.order = KeyOrder::from_sorted(&slots, |slot| key_of(&self.slots, slot));
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The slot of the object with this key.
    pub(super) fn find(&self, key: &str) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        self.by_key.find(self.hash(key), |slot| {
            self.at(slot)
                .is_some_and(|object| object.key.as_str() == key)
        })
    }

    /// The object with this key, which is most likely in this slot.
    pub(super) fn get_near(&self, slot: u32, key: &ObjectKey) -> Option<&Arc<Object<T>>> {
        let near = self.at(slot).filter(|object| object.key == *key);
        near.or_else(|| self.find(key.as_str()).and_then(|slot| self.at(slot)))
    }

    /// The object in a slot.
    pub(super) fn at(&self, slot: u32) -> Option<&Arc<Object<T>>> {
        self.slots.get(slot as usize).and_then(Option::as_ref)
    }

    /// The slots in the order of the keys.
    pub(super) fn ordered_slots(&self) -> impl Iterator<Item = u32> {
        self.order.iter()
    }

    /// The slots of the objects that fit.
    pub(super) fn slots_where(&self, fits: impl Fn(&Object<T>) -> bool) -> SlotSet {
        let slots = (0..).zip(self.slots.iter());
        let fitting = slots.filter(|(_, slot)| slot.as_ref().is_some_and(|object| fits(object)));
        fitting.map(|(slot, _)| slot).collect()
    }

    /// All objects in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Object<T>>> {
        self.order.iter().filter_map(|slot| self.at(slot))
    }

    /// The objects whose key is not less than this, in order.
    pub(super) fn iter_from<'a>(
        &'a self,
        key: &str,
    ) -> impl Iterator<Item = &'a Arc<Object<T>>> + use<'a, T> {
        let slots = self.order.iter_from(key, |slot| key_of(&self.slots, slot));
        slots.filter_map(|slot| self.at(slot))
    }

    /// The slots that do not hold the same object in both.
    pub(super) fn changed_slots<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u32> {
        let places = self.slots.changed_places(&other.slots);
        let slots = places.map(|place| u32::try_from(place).expect("a slot is a u32"));
        slots.filter(move |&slot| match (self.at(slot), other.at(slot)) {
            (Some(ours), Some(theirs)) => !Arc::ptr_eq(ours, theirs),
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        })
    }

    /// Puts the object in the place of the one in the slot, which has the same key.
    pub(super) fn replace(&mut self, slot: u32, object: Arc<Object<T>>) -> Option<Arc<Object<T>>> {
        self.slots.get_mut(slot as usize).replace(object)
    }

    /// Adds an object whose key is not there.
    pub(super) fn add(&mut self, slot: u32, object: Arc<Object<T>>) {
        self.by_key.insert(self.hash(object.key.as_str()), slot);
        *self.slots.get_mut(slot as usize) = Some(object);
        self.order.insert(slot, |slot| key_of(&self.slots, slot));
        self.len += 1;
    }

    /// Takes out the object in the slot.
    pub(super) fn remove(&mut self, slot: u32) -> Option<Arc<Object<T>>> {
        let hash = self.hash(self.at(slot)?.key.as_str());
        self.by_key.remove(hash, slot);
        self.order.remove(slot, |slot| key_of(&self.slots, slot));
        self.len -= 1;
        self.slots.get_mut(slot as usize).take()
    }

    fn hash(&self, key: &str) -> u32 {
        (self.hasher.hash_one(key) >> 32) as u32
    }
}

fn key_of<T>(slots: &PersistentArray<Slot<T>, 8>, slot: u32) -> &ObjectKey {
    let object = slots.get(slot as usize).and_then(Option::as_ref);
    &object.expect("a slot in the order holds an object").key
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            by_key: self.by_key.clone(),
            order: self.order.clone(),
            hasher: self.hasher.clone(),
            len: self.len,
        }
    }
}
