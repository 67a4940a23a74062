//! For each value of an index the objects that have it.

use std::sync::Arc;

use super::{hash_table::HashTable, persistent_array::PersistentArray, slot_set::SlotSet};

/// Sets of slots by value. The caller hashes the values and tells whether two are the same, so that
/// a value can be looked for without being made.
pub(super) struct Postings<V> {
    by_value: HashTable,
    values: PersistentArray<Option<Arc<V>>, 8>,
    sets: PersistentArray<SlotSet, 8>,
}

/// Postings with what only their writer needs.
pub(super) struct PostingsWriter<V> {
    postings: Postings<V>,
    numbers: Numbers,
}

/// Numbers to give out: those that came back first, then the next.
#[derive(Default)]
pub(super) struct Numbers {
    next: u32,
    free: Vec<u32>,
}

impl Numbers {
    /// A number that nobody has.
    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let number = self.next;
            self.next = number
                .checked_add(1)
                .expect("memory ends before numbers do");
            number
        })
    }

    /// A number that its owner needs no more.
    pub(super) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl<V> Postings<V> {
    fn new() -> Self {
        Self {
            by_value: HashTable::new(),
            values: PersistentArray::new(),
            sets: PersistentArray::new(),
        }
    }

    /// The slots of a value.
    pub(super) fn get(&self, hash: u32, is_it: impl Fn(&V) -> bool) -> Option<&SlotSet> {
        let number = self.find(hash, is_it)?;
        self.sets.get(number as usize)
    }

    /// All values with their slots, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<V>, &SlotSet)> {
        let sets = self.sets.iter();
        let entries = self.values.iter().zip(sets);
        entries.filter_map(|(value, set)| value.as_ref().map(|value| (value, set)))
    }

    fn find(&self, hash: u32, is_it: impl Fn(&V) -> bool) -> Option<u32> {
        self.by_value.find(hash, |number| {
            let value = self.values.get(number as usize).and_then(Option::as_deref);
            value.is_some_and(&is_it)
        })
    }
}

impl<V> PostingsWriter<V> {
    /// No values.
    pub(super) fn new() -> Self {
        Self {
            postings: Postings::new(),
            numbers: Numbers::default(),
        }
    }

    /// The postings as they are now.
    pub(super) fn publish(&self) -> Arc<Postings<V>> {
        Arc::new(self.postings.clone())
    }

    /// Adds a slot to a value.
    pub(super) fn insert(&mut self, hash: u32, slot: u32, value: V)
    where
        V: Eq,
    {
        let found = self.postings.find(hash, |other| *other == value);
        let number = found.unwrap_or_else(|| self.add(hash, value));
        self.postings.sets.get_mut(number as usize).insert(slot);
    }

    /// Adds a slot to a value, which is made if it is the value's first.
    pub(super) fn insert_with(
        &mut self,
        hash: u32,
        slot: u32,
        is_it: impl Fn(&V) -> bool,
        make: impl FnOnce() -> V,
    ) {
        let found = self.postings.find(hash, is_it);
        let number = found.unwrap_or_else(|| self.add(hash, make()));
        self.postings.sets.get_mut(number as usize).insert(slot);
    }

    fn add(&mut self, hash: u32, value: V) -> u32 {
        let number = self.numbers.take();
        self.postings.by_value.insert(hash, number);
        *self.postings.values.get_mut(number as usize) = Some(Arc::new(value));
        number
    }

    /// Takes a slot from a value, and the value away if it was the value's last.
    pub(super) fn remove(&mut self, hash: u32, slot: u32, is_it: impl Fn(&V) -> bool) {
        let postings = &mut self.postings;
        let Some(number) = postings.find(hash, is_it) else {
            return;
        };
        let set = postings.sets.get_mut(number as usize);
        set.remove(slot);
        if set.len() == 0 {
            postings.by_value.remove(hash, number);
            *postings.values.get_mut(number as usize) = None;
            self.numbers.give_back(number);
        }
    }
}

impl<V> Clone for Postings<V> {
    fn clone(&self) -> Self {
        Self {
            by_value: self.by_value.clone(),
            values: self.values.clone(),
            sets: self.sets.clone(),
        }
    }
}
