//! Reading one's own writes before the watch brings them.

use std::{borrow::Borrow, collections::BTreeMap, fmt, hash::Hash, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Cache, Index, Snapshot};
use crate::{Object, ObjectKey, Version};

/// Writes that are remembered. At the bound the oldest is forgotten, and the cache answers alone.
pub const OWN_WRITES_MAX: usize = 100;

/// How long a write is remembered if the cache does not come to it.
pub const OWN_WRITES_AGE_MAX: Duration = Duration::from_secs(5 * 60);

/// A cache under the writes of this program.
///
/// A write counts as long as the cache has not followed the source up to its version. From then on
/// the cache knows better, also of an object that it has not: that one was deleted since. Where
/// versions cannot be compared, a write counts until the cache shows the object in another state
/// than at the time of the write.
///
/// ```text
/// cache @4: web@3        wrote web@6     get -> web@6
/// cache @7: web@7                        get -> web@7
/// ```
pub struct OwnWrites<T> {
    cache: Cache<T>,
    writes: Mutex<BTreeMap<ObjectKey, Write<T>>>,
}

struct Write<T> {
    version: Version,
    /// What was written; `None` if that was the deletion.
    object: Option<Arc<Object<T>>>,
    /// The state that the cache had.
    cached: Option<Version>,
    at: Instant,
}

impl<T> OwnWrites<T> {
    /// No writes over this cache.
    pub fn new(cache: Cache<T>) -> Self {
        Self {
            cache,
            writes: Mutex::default(),
        }
    }

    /// Remembers an object as the source answered that it has written it.
    pub fn wrote(&self, object: Arc<Object<T>>) {
        let (key, version) = (object.key.clone(), object.version.clone());
        self.remember(key, version, Some(object));
    }

    /// Remembers that an object was deleted, at this version.
    pub fn deleted(&self, key: ObjectKey, version: Version) {
        self.remember(key, version, None);
    }

    /// The object with this key, as this program wrote it or in a newer state.
    pub fn get(&self, key: &str) -> Option<Arc<Object<T>>> {
        let snapshot = self.cache.snapshot();
        let mut writes = self.writes.lock();
        match writes.get(key) {
            Some(write) if write.counts(key, &snapshot) => write.object.clone(),
            Some(_) => {
                writes.remove(key);
                snapshot.get(key).cloned()
            }
            None => snapshot.get(key).cloned(),
        }
    }

    /// The objects that have this value in the index, in the order of their keys: those of the
    /// cache, but each in the state that this program wrote if that is newer.
    pub fn by_index<V, Q>(&self, index: &Index<T, V>, value: &Q) -> Vec<Arc<Object<T>>>
    where
        V: Borrow<Q> + Hash + Eq + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let snapshot = self.cache.snapshot();
        let found = snapshot.by_index(index, value).into_iter();
        let mut objects: BTreeMap<_, _> = found
            .map(|object| (object.key.clone(), Arc::clone(object)))
            .collect();
        let mut writes = self.writes.lock();
        writes.retain(|key, write| write.counts(key.as_str(), &snapshot));
        for (key, write) in writes.iter() {
            let has_value = |object: &&Arc<Object<T>>| {
                let mut values = Vec::new();
                index.values_of(object, &mut values);
                values.iter().any(|other| other.borrow() == value)
            };
            match write.object.as_ref().filter(has_value) {
                Some(object) => objects.insert(key.clone(), Arc::clone(object)),
                None => objects.remove(key),
            };
        }
        objects.into_values().collect()
    }

    fn remember(&self, key: ObjectKey, version: Version, object: Option<Arc<Object<T>>>) {
        let snapshot = self.cache.snapshot();
        let cached = snapshot.get(key.as_str());
        let write = Write {
            version,
            object,
            cached: cached.map(|object| object.version.clone()),
            at: Instant::now(),
        };
        let mut writes = self.writes.lock();
        let known = writes.get(&key).map(|known| &known.version);
        let is_older = known.is_some_and(|known| known.reaches(&write.version));
        if is_older || !write.counts(key.as_str(), &snapshot) {
            return;
        }
        if writes.len() >= OWN_WRITES_MAX && !writes.contains_key(&key) {
            let oldest = writes.iter().min_by_key(|(_, write)| write.at);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                writes.remove(&oldest);
            }
        }
        writes.insert(key, write);
    }
}

impl<T> Write<T> {
    /// Whether the cache may not know of it yet.
    fn counts(&self, key: &str, snapshot: &Snapshot<T>) -> bool {
        let followed = snapshot.version();
        let ahead = match followed.and_then(|followed| followed.compare(&self.version)) {
            Some(order) => order.is_lt(),
            None => snapshot.get(key).map(|object| &object.version) == self.cached.as_ref(),
        };
        ahead && self.at.elapsed() < OWN_WRITES_AGE_MAX
    }
}

impl<T> fmt::Debug for OwnWrites<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OwnWrites")
            .field("cache", &self.cache)
            .field("writes", &self.writes.lock().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Body, deletion, object};
    use super::*;
    use crate::{CacheWriter, Delta};

    fn world(version: u64) -> (CacheWriter<Body>, OwnWrites<Body>) {
        let (mut writer, cache) = CacheWriter::new();
        writer.apply(vec![Delta::Added(object("a", version, &[1]))]);
        (writer, OwnWrites::new(cache))
    }

    fn version_of(writes: &OwnWrites<Body>, key: &str) -> Option<Version> {
        writes.get(key).map(|object| object.version.clone())
    }

    #[tokio::test]
    async fn the_newer_of_the_cache_and_the_write_is_read() {
        let (mut writer, writes) = world(3);
        writes.wrote(object("a", 5, &[]));
        assert_eq!(version_of(&writes, "a"), Some(5.into()));
        writes.wrote(object("a", 4, &[]));
        assert_eq!(version_of(&writes, "a"), Some(5.into()));
        writer.apply(vec![Delta::Updated(object("a", 6, &[]))]);
        assert_eq!(version_of(&writes, "a"), Some(6.into()));
        writes.wrote(object("a", 5, &[]));
        assert_eq!(version_of(&writes, "a"), Some(6.into()));
    }

    #[tokio::test]
    async fn what_was_created_is_there_at_once_and_what_was_deleted_is_gone() {
        let (_writer, writes) = world(3);
        writes.wrote(object("b", 5, &[]));
        writes.deleted("a".into(), 6.into());
        assert_eq!(version_of(&writes, "b"), Some(5.into()));
        assert_eq!(version_of(&writes, "a"), None);
    }

    #[tokio::test]
    async fn a_later_deletion_drops_the_write_even_if_it_comes_late() {
        let (mut writer, writes) = world(3);
        writes.wrote(object("a", 5, &[]));
        writer.apply(vec![deletion("a", 7)]);
        assert_eq!(version_of(&writes, "a"), None);
        writes.wrote(object("a", 6, &[]));
        assert_eq!(version_of(&writes, "a"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_never_comes_back_is_forgotten_in_time() {
        let (_writer, writes) = world(3);
        writes.wrote(object("a", 5, &[]));
        tokio::time::advance(OWN_WRITES_AGE_MAX - Duration::from_secs(1)).await;
        assert_eq!(version_of(&writes, "a"), Some(5.into()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(version_of(&writes, "a"), Some(3.into()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_write_makes_room_for_one_too_many() {
        let (_writer, writes) = world(3);
        for number in 0..=OWN_WRITES_MAX {
            writes.wrote(object(&format!("own-{number}"), 5, &[]));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(version_of(&writes, "own-0"), None);
        assert_eq!(version_of(&writes, "own-1"), Some(5.into()));
        assert_eq!(version_of(&writes, "own-100"), Some(5.into()));
    }

    #[tokio::test]
    async fn an_index_sees_the_writes_too() {
        let (_writer, writes) = world(3);
        let index = writes
            .cache
            .add_index("groups", |object: &Object<Body>| object.groups.clone());
        let index = index.unwrap();
        let keys = |value: u8| -> Vec<String> {
            let found = writes.by_index(&index, &value);
            found.iter().map(|object| object.key.to_string()).collect()
        };
        assert_eq!(keys(1), ["a"]);
        writes.wrote(object("a", 5, &[2]));
        writes.wrote(object("b", 6, &[1, 2]));
        assert_eq!(
            (keys(1), keys(2)),
            (vec!["b".into()], vec!["a".into(), "b".into()])
        );
        writes.deleted("b".into(), 7.into());
        assert_eq!(keys(1), [""; 0]);
    }

    #[tokio::test]
    async fn without_an_order_of_versions_a_change_in_the_cache_ends_the_write() {
        let (mut writer, writes) = world(3);
        let mut own = Arc::into_inner(object("a", 0, &[])).unwrap();
        own.version = Version::parse("x").unwrap();
        writes.wrote(Arc::new(own));
        assert_eq!(version_of(&writes, "a"), Version::parse("x"));
        writer.apply(vec![Delta::Added(object("b", 4, &[]))]);
        assert_eq!(version_of(&writes, "a"), Version::parse("x"));
        writer.apply(vec![Delta::Updated(object("a", 5, &[]))]);
        assert_eq!(version_of(&writes, "a"), Some(5.into()));
    }
}
