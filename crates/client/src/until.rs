//! Waits until objects are as somebody wants them.

mod condition;
mod from_informer;
mod from_source;

pub use condition::Condition;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use thiserror::Error;
use tokio::time::timeout;

use crate::{Decoder, ListerWatcher, Object, ObjectKey, SharedInformer, SourceError};

/// Where the objects are looked at.
pub enum Watched<T> {
    /// At a source: it is listed, then watched, for as long as somebody waits. A source of nothing
    /// but the objects in question (by field selector, say) costs least.
    Source {
        /// What to list and watch.
        source: Arc<dyn ListerWatcher>,
        /// What makes bodies of bytes.
        decoder: Decoder<T>,
    },
    /// In the cache of an informer that runs anyway: nothing is asked of the source.
    Informer(SharedInformer<T>),
}

/// The state in which each object met the condition; `None` if it met it by not being there.
pub type Met<T> = BTreeMap<ObjectKey, Option<Arc<Object<T>>>>;

/// Why nobody can say that the condition is met.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UntilError {
    /// It took too long: ask again, or go on without.
    #[error("not {condition} in time: {}", join(pending))]
    TimedOut {
        /// What was waited for.
        condition: String,
        /// The objects that have not met it.
        pending: Vec<ObjectKey>,
    },
    /// The source will not be listed or watched.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The informer has stopped.
    #[error("the informer has stopped")]
    InformerStopped,
}

/// Waits until an object meets a condition, and returns the state in which it did: `None` if it
/// met it by not being there.
///
/// The condition is asked of the present state and of each later one. An object that cannot be
/// decoded is passed over until it can.
pub async fn wait_until<T: Send + Sync + 'static>(
    watched: &Watched<T>,
    key: &ObjectKey,
    condition: &Condition<T>,
    patience: Duration,
) -> Result<Option<Arc<Object<T>>>, UntilError> {
    let mut met = wait_until_all(watched, [key.clone()], condition, patience).await?;
    Ok(met.remove(key).flatten())
}

/// Waits until each of these objects has met a condition, not necessarily all at the same moment.
pub async fn wait_until_all<T: Send + Sync + 'static>(
    watched: &Watched<T>,
    keys: impl IntoIterator<Item = ObjectKey>,
    condition: &Condition<T>,
    patience: Duration,
) -> Result<Met<T>, UntilError> {
    let mut waiting = Waiting {
        condition,
        pending: keys.into_iter().collect(),
        met: Met::new(),
    };
    if waiting.is_over() {
        return Ok(waiting.met);
    }
    let ended = match watched {
        Watched::Source { source, decoder } => {
            let watching = from_source::wait(source, decoder, &mut waiting);
            timeout(patience, watching).await
        }
        Watched::Informer(informer) => {
            let watching = from_informer::wait(informer, &mut waiting);
            timeout(patience, watching).await
        }
    };
    match ended {
        Ok(Ok(())) => Ok(waiting.met),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(UntilError::TimedOut {
            condition: condition.to_string(),
            pending: waiting.pending.into_iter().collect(),
        }),
    }
}

/// The objects that are waited for.
struct Waiting<'a, T> {
    condition: &'a Condition<T>,
    pending: BTreeSet<ObjectKey>,
    met: Met<T>,
}

impl<T> Waiting<'_, T> {
    fn concerns(&self, key: &ObjectKey) -> bool {
        self.pending.contains(key)
    }

    fn is_over(&self) -> bool {
        self.pending.is_empty()
    }

    /// Looks at one state of one object.
    fn look(&mut self, key: &ObjectKey, state: Option<&Arc<Object<T>>>) {
        if self.concerns(key) && self.condition.holds(state.map(|object| &**object)) {
            self.pending.remove(key);
            self.met.insert(key.clone(), state.cloned());
        }
    }
}

fn join(keys: &[ObjectKey]) -> String {
    let keys: Vec<_> = keys.iter().map(ObjectKey::as_str).collect();
    keys.join(", ")
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { .. } => formatter.debug_struct("Source").finish_non_exhaustive(),
            Self::Informer(informer) => formatter.debug_tuple("Informer").field(informer).finish(),
        }
    }
}

#[cfg(test)]
mod tests;
