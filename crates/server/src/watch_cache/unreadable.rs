//! Values of a kind that cannot be decoded: known by their keys, told once, in nobody's way.

use std::collections::BTreeMap;

use listwatch_store::{Key, Page, Revision};
use parking_lot::Mutex;

use crate::registry::Unreadable;

/// Values of one kind of which the log tells one by one. Of further ones only their number is told.
const LOGGED_MAX: usize = 100;

/// A value that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableValue {
    /// Its key.
    pub key: Key,
    /// The revision that wrote it.
    pub revision: Revision,
    /// Why it is no object.
    pub reason: Unreadable,
}

/// Those that the store holds now. No more than it has entries, as with objects.
#[derive(Default)]
pub(super) struct UnreadableValues {
    by_key: Mutex<BTreeMap<Key, UnreadableValue>>,
}

impl UnreadableValues {
    /// Takes note of a value, and tells of it unless that was done before.
    pub(super) fn note(&self, value: UnreadableValue) {
        let mut by_key = self.by_key.lock();
        let known = by_key.insert(value.key.clone(), value.clone());
        if known.is_some_and(|known| known.revision == value.revision) {
            return;
        }
        let UnreadableValue {
            key,
            revision,
            reason,
        } = value;
        match by_key.len() {
            ..=LOGGED_MAX => {
                tracing::error!(?key, %revision, %reason, "a stored value cannot be decoded");
            }
            number if number.is_power_of_two() => {
                tracing::error!(?key, number, "many stored values cannot be decoded");
            }
            _ => {}
        }
    }

    /// There is something else under the key now, or nothing.
    pub(super) fn forget(&self, key: &Key) {
        let mut by_key = self.by_key.lock();
        if !by_key.is_empty() {
            by_key.remove(key);
        }
    }

    /// Forgets those that a page of the whole kind does not have.
    pub(super) fn retain(&self, page: &Page) {
        let is_there = |key: &Key| {
            let entries = &page.entries;
            entries.binary_search_by(|entry| entry.key.cmp(key)).is_ok()
        };
        self.by_key.lock().retain(|key, _| is_there(key));
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<UnreadableValue> {
        self.by_key.lock().get(key).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use listwatch_store::Entry;

    use super::*;

    fn value(key: &str, revision: u64) -> UnreadableValue {
        UnreadableValue {
            key: Key::new(key),
            revision: Revision::new(revision),
            reason: Unreadable::new("garbage"),
        }
    }

    #[test]
    fn the_newest_value_of_each_key_is_known_until_it_is_replaced() {
        let values = UnreadableValues::default();
        values.note(value("a", 1));
        values.note(value("b", 2));
        values.note(value("a", 3));
        assert_eq!(values.len(), 2);
        assert_eq!(values.get(b"a"), Some(value("a", 3)));
        values.forget(&Key::new("a"));
        values.forget(&Key::new("c"));
        assert_eq!((values.get(b"a"), values.len()), (None, 1));
    }

    #[test]
    fn what_is_not_in_the_store_any_more_is_forgotten() {
        let values = UnreadableValues::default();
        for key in ["a", "b", "c"] {
            values.note(value(key, 1));
        }
        let entries = ["b", "d"].map(|key| Entry {
            key: Key::new(key),
            revision: Revision::new(1),
            value: "garbage".into(),
        });
        values.retain(&Page {
            revision: Revision::new(2),
            entries: entries.to_vec(),
            remaining: 0,
        });
        assert_eq!((values.get(b"b").is_some(), values.len()), (true, 1));
    }
}
