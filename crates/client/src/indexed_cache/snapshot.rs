//! Reading one moment of the cache.

use std::{
    borrow::{Borrow, Cow},
    fmt,
    hash::Hash,
    ops::RangeBounds,
    sync::Arc,
};

use listwatch_api::selector::LabelSelector;

use super::{
    difference::Differences,
    index::{Index, PublishedIndex},
    labels::LabelIndex,
    matches::Matches,
    objects::Objects,
    slot_set::SlotSet,
};
use crate::{Object, ObjectKey, Version};

/// The cache at one moment: immutable, and free to take, to clone and to keep. Everything read from
/// it belongs together.
pub struct Snapshot<T> {
    state: Arc<State<T>>,
}

/// What a snapshot shows.
pub(super) struct State<T> {
    pub(super) objects: Objects<T>,
    pub(super) labels: LabelIndex,
    pub(super) indexes: Box<[PublishedIndex]>,
    pub(super) version: Option<Version>,
}

impl<T> Snapshot<T> {
    pub(super) fn new(state: State<T>) -> Self {
        Self {
            state: Arc::new(state),
        }
    }

    pub(super) fn from_shared(state: Arc<State<T>>) -> Self {
        Self { state }
    }

    pub(super) fn into_shared(self) -> Arc<State<T>> {
        self.state
    }

    pub(super) fn objects(&self) -> &Objects<T> {
        &self.state.objects
    }

    /// The object with this key, such as `default/web`.
    pub fn get(&self, key: &str) -> Option<&Arc<Object<T>>> {
        let objects = &self.state.objects;
        objects.find(key).and_then(|slot| objects.at(slot))
    }

    /// All objects in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Object<T>>> {
        self.state.objects.iter()
    }

    /// The objects of a namespace in the order of their keys.
    pub fn namespace<'a>(
        &'a self,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Arc<Object<T>>> + use<'a, T> {
        let prefix = format!("{namespace}/");
        let objects = self.state.objects.iter_from(&prefix);
        objects.take_while(move |object| object.key.as_str().starts_with(&prefix))
    }

    /// The objects that have this value in the index.
    ///
    /// A snapshot that is older than the index answers too, by asking each object.
    pub fn by_index<V, Q>(&self, index: &Index<T, V>, value: &Q) -> Matches<'_, T>
    where
        V: Borrow<Q> + Hash + Eq + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let slots = match index.postings(&self.state.indexes) {
            Some(postings) => match index.lookup(postings, value) {
                Some(slots) => Cow::Borrowed(slots),
                None => Cow::Owned(SlotSet::new()),
            },
            None => Cow::Owned(self.scan(index, |candidate| candidate.borrow() == value)),
        };
        Matches::new(self.objects(), slots)
    }

    /// The objects that have a value within the range. Costs a look at every distinct value.
    pub fn by_index_range<V>(
        &self,
        index: &Index<T, V>,
        range: impl RangeBounds<V>,
    ) -> Matches<'_, T>
    where
        V: Hash + Ord + 'static,
    {
        let slots = match index.postings(&self.state.indexes) {
            Some(postings) => {
                let entries = postings.iter();
                let within = entries.filter(|(value, _)| range.contains(&***value));
                let sets = within.map(|(_, slots)| slots.clone());
                let union = sets.reduce(|left, right| left.union(&right));
                union.unwrap_or_default()
            }
            None => self.scan(index, |candidate| range.contains(candidate)),
        };
        Matches::new(self.objects(), Cow::Owned(slots))
    }

    /// The keys of the objects that have this value in the index, sorted.
    pub fn index_keys<V, Q>(&self, index: &Index<T, V>, value: &Q) -> Vec<ObjectKey>
    where
        V: Borrow<Q> + Hash + Eq + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let found = self.by_index(index, value).into_iter();
        let mut keys: Vec<_> = found.map(|object| object.key.clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Every value that an object has in the index, sorted.
    pub fn index_values<V>(&self, index: &Index<T, V>) -> Vec<Arc<V>>
    where
        V: Hash + Ord + 'static,
    {
        let mut values: Vec<Arc<V>> = match index.postings(&self.state.indexes) {
            Some(postings) => postings
                .iter()
                .map(|(value, _)| Arc::clone(value))
                .collect(),
            None => {
                let values = self.iter().flat_map(|object| {
                    let mut values = Vec::new();
                    index.values_of(object, &mut values);
                    values
                });
                values.map(Arc::new).collect()
            }
        };
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The objects whose labels fit the selector.
    pub fn select(&self, selector: &LabelSelector) -> Matches<'_, T> {
        let slots = self.state.labels.select(selector, self.objects());
        Matches::new(self.objects(), Cow::Owned(slots))
    }

    /// What changed between two moments: deletions, then updates and additions, each in the order
    /// of their keys. Costs little where the two share most of their objects.
    pub fn diff(before: &Self, after: &Self) -> Differences<T> {
        Differences::new(before.clone(), after.clone())
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.state.objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version up to which the source has been followed; `None` before the first.
    pub fn version(&self) -> Option<&Version> {
        self.state.version.as_ref()
    }

    fn scan<V: Hash + Eq>(&self, index: &Index<T, V>, is_it: impl Fn(&V) -> bool) -> SlotSet {
        self.objects().slots_where(|object| {
            let mut values = Vec::new();
            index.values_of(object, &mut values);
            values.iter().any(&is_it)
        })
    }
}

impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
        }
    }
}

impl<T> fmt::Debug for Snapshot<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Snapshot")
            .field("objects", &self.len())
            .field("version", &self.version())
            .finish()
    }
}
