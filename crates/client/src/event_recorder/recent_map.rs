//! A map that keeps what was used last.

use std::collections::BTreeMap;

/// Values by key, `entries_max` at most. At the bound the one unused for longest is forgotten.
pub(super) struct RecentMap<K, V> {
    entries_max: usize,
    values: BTreeMap<K, Entry<V>>,
    by_use: BTreeMap<u64, K>,
    uses: u64,
}

struct Entry<V> {
    last_use: u64,
    value: V,
}

impl<K: Ord + Clone, V> RecentMap<K, V> {
    pub(super) fn new(entries_max: usize) -> Self {
        Self {
            entries_max,
            values: BTreeMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
        }
    }

    /// The value of a key, made now if there was none.
    pub(super) fn use_or_insert(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        match self.values.get(key) {
            Some(entry) => {
                self.by_use.remove(&entry.last_use);
            }
            None => self.make_room(),
        }
        self.by_use.insert(self.uses, key.clone());
        let entry = self.values.entry(key.clone()).or_insert_with(|| Entry {
            last_use: self.uses,
            value: make(),
        });
        entry.last_use = self.uses;
        &mut entry.value
    }

    /// The value of a key, without counting as a use.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.values.get_mut(key).map(|entry| &mut entry.value)
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some(entry) = self.values.remove(key) {
            self.by_use.remove(&entry.last_use);
        }
    }

    fn make_room(&mut self) {
        if self.values.len() >= self.entries_max
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.values.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_unused_for_longest_is_forgotten() {
        let mut map = RecentMap::new(2);
        *map.use_or_insert(&"a", || 0) = 1;
        *map.use_or_insert(&"b", || 0) = 2;
        assert_eq!(*map.use_or_insert(&"a", || 0), 1);
        *map.use_or_insert(&"c", || 0) = 3;
        assert_eq!(map.get_mut(&"b"), None);
        assert_eq!(map.get_mut(&"a"), Some(&mut 1));
        assert_eq!(map.get_mut(&"c"), Some(&mut 3));
        assert_eq!((map.values.len(), map.by_use.len()), (2, 2));
    }

    #[test]
    fn what_is_removed_makes_room() {
        let mut map = RecentMap::new(2);
        map.use_or_insert(&"a", || 1);
        map.use_or_insert(&"b", || 2);
        map.remove(&"b");
        map.use_or_insert(&"c", || 3);
        assert_eq!(map.get_mut(&"a"), Some(&mut 1));
        assert_eq!((map.values.len(), map.by_use.len()), (2, 2));
    }
}
