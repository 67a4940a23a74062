//! The objects of one informer: one writer, any number of readers that never wait for it.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use imbl::OrdMap;

use crate::{Deleted, Delta, FinalState, Object, ObjectKey, Version};

/// The reading end. Clones read the same cache.
pub struct Cache<T> {
    published: Arc<ArcSwap<State<T>>>,
}

/// The writing end. There is one, so nobody else changes the cache.
pub struct CacheWriter<T> {
    published: Arc<ArcSwap<State<T>>>,
}

/// The cache at one moment. Everything read from it belongs together.
pub struct Snapshot<T> {
    state: Arc<State<T>>,
}

struct State<T> {
    objects: OrdMap<ObjectKey, Arc<Object<T>>>,
    version: Option<Version>,
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
    /// Everything was replaced. What that means for each object is found by comparing the two.
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
        let state = State {
            objects: OrdMap::new(),
            version: None,
        };
        let published = Arc::new(ArcSwap::from_pointee(state));
        let cache = Cache {
            published: Arc::clone(&published),
        };
        (Self { published }, cache)
    }

    /// Applies deltas in their order and publishes the result as one new state.
    pub fn apply(&mut self, deltas: Vec<Delta<T>>) -> Vec<Change<T>> {
        let mut state = (*self.published.load_full()).clone();
        let changes = deltas.into_iter().map(|delta| state.apply(delta)).collect();
        self.published.store(Arc::new(state));
        changes
    }
}

impl<T> State<T> {
    fn apply(&mut self, delta: Delta<T>) -> Change<T> {
        match delta {
            Delta::Added(object) | Delta::Updated(object) => {
                self.version = Some(object.version.clone());
                let old = self.objects.insert(object.key.clone(), Arc::clone(&object));
                match old {
                    Some(old) => Change::Updated { old, new: object },
                    None => Change::Added(object),
                }
            }
            Delta::Deleted(deletion) => {
                self.version = Some(deletion.version);
                let known = self.objects.remove(&deletion.key);
                let final_state = match deletion.last {
                    Some(_) => FinalState::Known,
                    None => FinalState::Unknown,
                };
                Change::Deleted(Deleted {
                    key: deletion.key,
                    last: deletion.last.or(known),
                    final_state,
                })
            }
            Delta::Replaced(replacement) => {
                let before = self.snapshot();
                let kept = replacement.set_aside.iter().filter_map(|key| {
                    let object = self.objects.get(key)?;
                    Some((key.clone(), Arc::clone(object)))
                });
                let new = replacement.objects.into_iter();
                let new = new.map(|object| (object.key.clone(), object));
                let objects = kept.chain(new).collect();
                self.objects = objects;
                self.version = replacement.version;
                let after = self.snapshot();
                Change::Replaced { before, after }
            }
            Delta::Resync => Change::Resync(self.snapshot()),
            Delta::Bookmark(version) => {
                self.version = Some(version.clone());
                Change::Bookmark(version)
            }
        }
    }

    fn snapshot(&self) -> Snapshot<T> {
        Snapshot {
            state: Arc::new(self.clone()),
        }
    }
}

impl<T> Cache<T> {
    /// The cache as it is now.
    pub fn snapshot(&self) -> Snapshot<T> {
        Snapshot {
            state: self.published.load_full(),
        }
    }
}

impl<T> Snapshot<T> {
    /// The object with this key, such as `default/web`.
    pub fn get(&self, key: &str) -> Option<&Arc<Object<T>>> {
        self.state.objects.get(key)
    }

    /// All objects in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Object<T>>> {
        self.state.objects.values()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.state.objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.state.objects.is_empty()
    }

    /// The version of what was applied last; `None` before the first.
    pub fn version(&self) -> Option<&Version> {
        self.state.version.as_ref()
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            version: self.version.clone(),
        }
    }
}

impl<T> Clone for Cache<T> {
    fn clone(&self) -> Self {
        Self {
            published: Arc::clone(&self.published),
        }
    }
}

impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
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

impl<T> fmt::Debug for Snapshot<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Snapshot")
            .field("objects", &self.len())
            .field("version", &self.version())
            .finish()
    }
}
