//! Indexes of the user's own: from a value of any type to the objects that have it.

use std::{
    any::Any,
    borrow::Borrow,
    fmt,
    hash::{BuildHasher, Hash, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use thiserror::Error;

use super::postings::{Postings, PostingsWriter};
use super::slot_set::SlotSet;
use crate::Object;

/// An index of a cache, to look up with. Made by [`Cache::add_index`](super::Cache::add_index).
pub struct Index<T, V> {
    definition: Arc<Definition<T, V>>,
}

struct Definition<T, V> {
    identity: IndexIdentity,
    name: Arc<str>,
    values: Box<Values<T, V>>,
    hasher: RandomState,
}

type Values<T, V> = dyn Fn(&Object<T>, &mut Vec<V>) + Send + Sync;

/// The cache has an index of this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is an index named {name} already")]
pub struct IndexNameTaken {
    /// The name.
    pub name: String,
}

/// Tells an index from all others of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexIdentity(u64);

impl IndexIdentity {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// An index as one snapshot has it.
#[derive(Clone)]
pub(super) struct PublishedIndex {
    identity: IndexIdentity,
    /// `Postings<V>` of the index's own `V`.
    postings: Arc<dyn Any + Send + Sync>,
}

/// Keeps one index up to date, whatever the type of its values.
pub(super) trait IndexWriter<T>: Send {
    /// Puts `new` in the place of `old`, two states of the object in the slot.
    fn replace(&mut self, slot: u32, old: Option<&Object<T>>, new: Option<&Object<T>>);

    /// The index as it is now.
    fn publish(&self) -> PublishedIndex;
}

/// The writer of an index with values of one type.
pub(super) struct TypedIndexWriter<T, V> {
    index: Index<T, V>,
    postings: PostingsWriter<V>,
    old_values: Vec<V>,
    new_values: Vec<V>,
}

impl<T, V: Hash + Eq> Index<T, V> {
    pub(super) fn new<I: IntoIterator<Item = V>>(
        name: &str,
        values: impl Fn(&Object<T>) -> I + Send + Sync + 'static,
    ) -> Self {
        let definition = Definition {
            identity: IndexIdentity::next(),
            name: name.into(),
            values: Box::new(move |object, into| into.extend(values(object))),
            hasher: RandomState::new(),
        };
        Self {
            definition: Arc::new(definition),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The postings among those of a snapshot; `None` if the index is younger than that.
    pub(super) fn postings<'a>(&self, published: &'a [PublishedIndex]) -> Option<&'a Postings<V>>
    where
        V: 'static,
    {
        let identity = self.definition.identity;
        let found = published.iter().find(|index| index.identity == identity)?;
        found.postings.downcast_ref()
    }

    /// The slots of a value.
    pub(super) fn lookup<'a, Q>(&self, postings: &'a Postings<V>, value: &Q) -> Option<&'a SlotSet>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        postings.get(self.hash(value), |candidate| candidate.borrow() == value)
    }

    /// Writes the values of an object into an empty buffer; none if the function panics.
    pub(super) fn values_of(&self, object: &Object<T>, into: &mut Vec<V>) {
        let values = AssertUnwindSafe(|| (self.definition.values)(object, into));
        if catch_unwind(values).is_err() {
            into.clear();
            let name = self.definition.name.to_string();
            metrics::counter!("listwatch_index_panics_total", "index" => name).increment(1);
            tracing::error!(index = self.name(), key = %object.key, "an index function panicked");
        }
    }

    fn hash<Q: Hash + ?Sized>(&self, value: &Q) -> u32 {
        (self.definition.hasher.hash_one(value) >> 32) as u32
    }
}

impl<T, V> TypedIndexWriter<T, V> {
    /// Keeps an index of nothing yet.
    pub(super) fn new(index: Index<T, V>) -> Self {
        Self {
            index,
            postings: PostingsWriter::new(),
            old_values: Vec::new(),
            new_values: Vec::new(),
        }
    }
}

impl<T, V: Hash + Eq + Send + Sync + 'static> IndexWriter<T> for TypedIndexWriter<T, V> {
    fn replace(&mut self, slot: u32, old: Option<&Object<T>>, new: Option<&Object<T>>) {
        let index = &self.index;
        if let Some(object) = old {
            index.values_of(object, &mut self.old_values);
        }
        if let Some(object) = new {
            index.values_of(object, &mut self.new_values);
        }
        if self.old_values != self.new_values {
            for value in &self.old_values {
                if !self.new_values.contains(value) {
                    let hash = index.hash(value);
                    self.postings.remove(hash, slot, |other| other == value);
                }
            }
            for value in self.new_values.drain(..) {
                if !self.old_values.contains(&value) {
                    self.postings.insert(index.hash(&value), slot, value);
                }
            }
        }
        self.old_values.clear();
        self.new_values.clear();
    }

    fn publish(&self) -> PublishedIndex {
        PublishedIndex {
            identity: self.index.definition.identity,
            postings: self.postings.publish(),
        }
    }
}

impl<T, V> Clone for Index<T, V> {
    fn clone(&self) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
        }
    }
}

impl<T, V> fmt::Debug for Index<T, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.definition.name;
        formatter.debug_tuple("Index").field(name).finish()
    }
}
