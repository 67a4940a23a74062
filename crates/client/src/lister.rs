//! The cache in the words of a controller: get one object, list some of them.
//!
//! Each call reads one moment of the cache. To read several things of one moment, take a snapshot.

use std::{borrow::Borrow, fmt, hash::Hash, sync::Arc};

use listwatch_api::selector::LabelSelector;
use thiserror::Error;

use crate::{
    Cache, Object, ObjectKey, Snapshot,
    indexed_cache::{Index, Matches},
};

/// Gets and lists the objects of a cache.
pub struct Lister<T> {
    cache: Cache<T>,
}

/// Gets and lists the objects of one namespace.
pub struct NamespaceLister<T> {
    cache: Cache<T>,
    namespace: String,
}

/// The cache has no such object. Whether the source has one is another question.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{key} not found")]
pub struct NotFound {
    /// The key that was asked for.
    pub key: ObjectKey,
}

impl<T> Lister<T> {
    /// Reads this cache.
    pub fn new(cache: Cache<T>) -> Self {
        Self { cache }
    }

    /// The cache as it is now, for several reads that belong together.
    pub fn snapshot(&self) -> Snapshot<T> {
        self.cache.snapshot()
    }

    /// The object with this key, such as `default/web`.
    pub fn get(&self, key: &str) -> Result<Arc<Object<T>>, NotFound> {
        let snapshot = self.cache.snapshot();
        let object = snapshot.get(key).cloned();
        object.ok_or_else(|| NotFound { key: key.into() })
    }

    /// All objects in the order of their keys.
    pub fn list(&self) -> Vec<Arc<Object<T>>> {
        let snapshot = self.cache.snapshot();
        let mut objects = Vec::with_capacity(snapshot.len());
        objects.extend(snapshot.iter().cloned());
        objects
    }

    /// The objects whose labels fit the selector, in the order of their keys.
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<Object<T>>> {
        if selector.is_everything() {
            return self.list();
        }
        shared(self.cache.snapshot().select(selector))
    }

    /// The objects that have this value in the index, in the order of their keys.
    pub fn by_index<V, Q>(&self, index: &Index<T, V>, value: &Q) -> Vec<Arc<Object<T>>>
    where
        V: Borrow<Q> + Hash + Eq + 'static,
        Q: Hash + Eq + ?Sized,
    {
        shared(self.cache.snapshot().by_index(index, value))
    }

    /// The objects of one namespace.
    pub fn namespace(&self, namespace: &str) -> NamespaceLister<T> {
        NamespaceLister {
            cache: self.cache.clone(),
            namespace: namespace.to_owned(),
        }
    }
}

impl<T> NamespaceLister<T> {
    /// The object of this name.
    pub fn get(&self, name: &str) -> Result<Arc<Object<T>>, NotFound> {
        let key = ObjectKey::new(Some(&self.namespace), name);
        let object = self.cache.snapshot().get(key.as_str()).cloned();
        object.ok_or(NotFound { key })
    }

    /// All objects of the namespace in the order of their names.
    pub fn list(&self) -> Vec<Arc<Object<T>>> {
        let snapshot = self.cache.snapshot();
        snapshot.namespace(&self.namespace).cloned().collect()
    }

    /// The objects of the namespace whose labels fit the selector, in the order of their names.
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<Object<T>>> {
        let snapshot = self.cache.snapshot();
        let objects = snapshot.namespace(&self.namespace);
        let fitting = objects.filter(|object| selector.matches(|label| object.labels.get(label)));
        fitting.cloned().collect()
    }
}

fn shared<T>(found: Matches<'_, T>) -> Vec<Arc<Object<T>>> {
    found.sorted().into_iter().cloned().collect()
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Self::new(self.cache.clone())
    }
}

impl<T> Clone for NamespaceLister<T> {
    fn clone(&self) -> Self {
        Self {
            cache: self.cache.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

impl<T> fmt::Debug for Lister<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Lister").field(&self.cache).finish()
    }
}

impl<T> fmt::Debug for NamespaceLister<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("NamespaceLister")
            .field(&self.namespace)
            .field(&self.cache)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheWriter, Delta};

    fn lister() -> (CacheWriter<u32>, Lister<u32>) {
        let (mut writer, cache) = CacheWriter::new();
        let objects = [
            ("b/2", "web"),
            ("a/1", "db"),
            ("b/1", "web"),
            ("a/2", "web"),
        ];
        let deltas = objects.map(|(key, app)| {
            Delta::Added(Arc::new(Object {
                key: key.into(),
                version: 1.into(),
                uid: None,
                labels: [("app", app)].into_iter().collect(),
                body: 7,
            }))
        });
        writer.apply(deltas.into());
        (writer, Lister::new(cache))
    }

    fn keys(objects: Vec<Arc<Object<u32>>>) -> Vec<String> {
        let keys = objects.iter().map(|object| object.key.to_string());
        keys.collect()
    }

    fn selector(text: &str) -> LabelSelector {
        LabelSelector::parse(text).unwrap()
    }

    #[test]
    fn everything_is_listed_in_the_order_of_the_keys() {
        let (_writer, lister) = lister();
        assert_eq!(keys(lister.list()), ["a/1", "a/2", "b/1", "b/2"]);
        let all = lister.select(&LabelSelector::everything());
        assert_eq!(keys(all), ["a/1", "a/2", "b/1", "b/2"]);
    }

    #[test]
    fn what_is_not_there_is_not_found_by_name() {
        let (_writer, lister) = lister();
        assert_eq!(**lister.get("a/1").unwrap(), 7);
        let error = lister.get("a/9").unwrap_err();
        assert_eq!(error.to_string(), "a/9 not found");
        let error = lister.namespace("b").get("9").unwrap_err();
        assert_eq!(error.key, "b/9".into());
        assert!(lister.namespace("b").get("1").is_ok());
    }

    #[test]
    fn labels_choose_within_all_and_within_a_namespace() {
        let (_writer, lister) = lister();
        let web = selector("app=web");
        assert_eq!(keys(lister.select(&web)), ["a/2", "b/1", "b/2"]);
        assert_eq!(keys(lister.namespace("a").select(&web)), ["a/2"]);
        assert_eq!(keys(lister.namespace("a").list()), ["a/1", "a/2"]);
        assert_eq!(keys(lister.namespace("z").list()), [""; 0]);
    }

    #[test]
    fn an_index_chooses_too() {
        let (_writer, lister) = lister();
        let cache = lister.cache.clone();
        let by_name = cache.add_index("name", |object: &Object<u32>| {
            [object.key.name().to_owned()]
        });
        assert_eq!(
            keys(lister.by_index(&by_name.unwrap(), "2")),
            ["a/2", "b/2"]
        );
    }
}
