//! The objects of one informer: one writer, any number of readers that never wait for it.
//!
//! The writer changes its own state and publishes it once per batch. What readers get is a
//! [`Snapshot`], which shares all that did not change with the state before it.

use std::{collections::BTreeSet, fmt, hash::Hash, sync::Arc};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::{Deleted, Delta, Object, Version};

mod persistent_array;
mod hash_table;
mod slot_set;
mod key_order;
mod objects;
mod postings;
mod index;
mod labels;
mod working_state;
mod snapshot;
mod matches;
mod difference;
mod own_writes;
#[cfg(test)]
mod tests;

pub use difference::{Difference, Differences};
pub use index::{Index, IndexNameTaken};
pub use matches::{Matches, MatchesIter};
pub use own_writes::{OWN_WRITES_AGE_MAX, OWN_WRITES_MAX, OwnWrites};
pub use snapshot::Snapshot;

use index::{IndexWriter, TypedIndexWriter};
use snapshot::State;
use working_state::WorkingState;

/// The reading end. Clones read the same cache.
pub struct Cache<T> {
    shared: Arc<Shared<T>>,
}

/// The writing end. There is one, so nobody else changes the cache.
pub struct CacheWriter<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    published: ArcSwap<State<T>>,
    /// Taken by the writer for each batch, and by who adds an index. Never by who reads.
    working: Mutex<WorkingState<T>>,
    index_names: Mutex<BTreeSet<String>>,
}

/// What one delta did to the cache.
pub enum Change<T> {
    /// The object was not there.
    Added(Arc<Object<T>>),
    /// The object was there in another state.
    Updated {
        /// The state before.
        old: Arc<Object<T>>,
        /// The state now.
        new: Arc<Object<T>>,
    },
    /// The object is gone, whether it was there or not.
    Deleted(Deleted<T>),
    /// Everything was replaced. What that means for each object is told by [`Snapshot::diff`].
    Replaced {
        /// The cache before.
        before: Snapshot<T>,
        /// The cache now.
        after: Snapshot<T>,
    },
    /// Everything is to be told again.
    Resync(Snapshot<T>),
    /// The cache is known to be as new as this.
    Bookmark(Version),
}

impl<T> CacheWriter<T> {
    /// An empty cache: the end that writes and the first of those that read.
    pub fn new() -> (Self, Cache<T>) {
        let working = WorkingState::new();
        let shared = Arc::new(Shared {
            published: ArcSwap::new(working.snapshot().into_shared()),
            working: Mutex::new(working),
            index_names: Mutex::default(),
        });
        let cache = Cache {
            shared: Arc::clone(&shared),
        };
        (Self { shared }, cache)
    }

    /// Applies deltas in their order and publishes the result as one new state.
    pub fn apply(&mut self, deltas: Vec<Delta<T>>) -> Vec<Change<T>> {
        let mut working = self.shared.working.lock();
        let deltas = deltas.into_iter();
        let changes = deltas.map(|delta| working.apply(delta)).collect();
        self.shared.publish(&working);
        changes
    }
}

impl<T> Shared<T> {
    fn publish(&self, working: &WorkingState<T>) {
        self.published.store(working.snapshot().into_shared());
    }
}

impl<T> Cache<T> {
    /// The cache as it is now.
    pub fn snapshot(&self) -> Snapshot<T> {
        Snapshot::from_shared(self.shared.published.load_full())
    }

    /// Adds an index, at any time: what is in the cache is indexed before this returns, and
    /// meanwhile the cache goes on.
    ///
    /// The function gives the values of an object, none or many, and the same ones whenever it is
    /// asked about the same state. If it panics the object has no values.
    ///
    /// ```
    /// # use listwatch::{CacheWriter, indexed_cache::IndexNameTaken};
    /// # struct Pod { node: Option<String> }
    /// # let (_writer, cache) = CacheWriter::<Pod>::new();
    /// let by_node = cache.add_index("node", |pod| pod.node.clone())?;
    /// for pod in cache.snapshot().by_index(&by_node, "node-1") {
    ///     println!("{}", pod.key);
    /// }
    /// # Ok::<(), IndexNameTaken>(())
    /// ```
    pub fn add_index<V, I>(
        &self,
        name: &str,
        values: impl Fn(&Object<T>) -> I + Send + Sync + 'static,
    ) -> Result<Index<T, V>, IndexNameTaken>
    where
        T: 'static,
        V: Hash + Eq + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
    {
        if !self.shared.index_names.lock().insert(name.to_owned()) {
            return Err(IndexNameTaken {
                name: name.to_owned(),
            });
        }
        let index = Index::new(name, values);
        let mut writer = TypedIndexWriter::new(index.clone());
        let snapshot = self.snapshot();
        let objects = snapshot.objects();
        for slot in objects.ordered_slots() {
            writer.replace(slot, None, objects.at(slot).map(AsRef::as_ref));
        }
        let mut working = self.shared.working.lock();
        working.add_index(Box::new(writer), objects);
        self.shared.publish(&working);
        Ok(index)
    }
}

impl<T> Clone for Cache<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> fmt::Debug for Cache<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(formatter)
    }
}

impl<T> fmt::Debug for CacheWriter<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CacheWriter")
            .finish_non_exhaustive()
    }
}
