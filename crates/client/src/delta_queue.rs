//! The bounded queue between the reflector and the cache.
//!
//! It decides what is applied together: whatever one batch holds becomes visible at one moment.

use std::{fmt, sync::Arc};

use metrics::SharedString;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::{sync::Notify, time::Instant};

use crate::{Cache, Delta};

mod in_order;
mod compressing;
#[cfg(test)]
mod tests;

use compressing::Compressing;
use in_order::InOrder;

/// Deltas that are applied together, and published as one new state of the cache.
pub const BATCH_DELTAS_MAX: usize = 1000;

/// Deltas that may wait. At the bound the reflector waits, and with it the source. One push is
/// never divided, so that its deltas may go beyond.
pub const QUEUE_DELTAS_MAX: usize = 2 * BATCH_DELTAS_MAX;

/// Deltas on their way from a reflector to a cache. Clones are the same queue.
///
/// Many may push, one pops: asking for the next batch says that the one before has been applied.
pub struct DeltaQueue<T> {
    shared: Arc<Shared<T>>,
    name: SharedString,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    filled: Notify,
    drained: Notify,
}

struct State<T> {
    waiting: Waiting<T>,
    open: Open,
}

enum Waiting<T> {
    InOrder(InOrder<T>),
    Compressing(Compressing<T>),
}

#[derive(PartialEq, Eq)]
enum Open {
    Yes,
    No,
}

/// Deltas to apply together.
struct Batch<T> {
    deltas: Vec<Delta<T>>,
    /// When the first of them came.
    since: Instant,
}

/// Nothing is taken any more.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the delta queue is closed")]
pub struct QueueClosed;

impl<T> DeltaQueue<T> {
    /// A queue that keeps every delta in the order of the source.
    ///
    /// A batch is up to [`BATCH_DELTAS_MAX`] deltas of as many objects: it ends before an object
    /// comes a second time. A list, a resync and a bookmark are batches of their own.
    pub fn in_order() -> Self {
        Self::new(Waiting::InOrder(InOrder::new()))
    }

    /// A queue that delivers all that happened to an object together, for consumers who are slower
    /// than the source and care for objects rather than for their common order.
    ///
    /// An object keeps the place at which it first came. Deletions that follow each other become
    /// one. Everything between two lists is one batch, so that the cache never shows a version
    /// whose changes it has only in part; a list is not moved, and nothing is moved across it.
    pub fn compressing() -> Self {
        Self::new(Waiting::Compressing(Compressing::new()))
    }

    fn new(waiting: Waiting<T>) -> Self {
        let state = State {
            waiting,
            open: Open::Yes,
        };
        let shared = Shared {
            state: Mutex::new(state),
            filled: Notify::new(),
            drained: Notify::new(),
        };
        Self {
            shared: Arc::new(shared),
            name: SharedString::const_str("unnamed"),
        }
    }

    /// The same queue with a name for its metrics, such as `pods`.
    pub fn named(self, name: impl Into<SharedString>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Tells a compressing queue which cache its deltas go to: from then on it drops the deletion
    /// of an object that neither the queue nor the cache knows.
    pub fn feeds(&self, cache: Cache<T>) {
        match &mut self.shared.state.lock().waiting {
            Waiting::InOrder(_) => {}
            Waiting::Compressing(waiting) => waiting.feeds(cache),
        }
    }

    /// Adds deltas at the end. Waits while the queue is full.
    pub async fn push(&self, deltas: Vec<Delta<T>>) -> Result<(), QueueClosed> {
        loop {
            let drained = self.shared.drained.notified();
            {
                let mut state = self.shared.state.lock();
                if state.open == Open::No {
                    return Err(QueueClosed);
                }
                if state.waiting.len() < QUEUE_DELTAS_MAX {
                    state.waiting.push(deltas);
                    self.record_depth(&state);
                    break;
                }
            }
            drained.await;
        }
        self.shared.filled.notify_one();
        Ok(())
    }

    /// The next deltas, at least one; `None` when the queue is closed and empty.
    pub async fn pop_batch(&self) -> Option<Vec<Delta<T>>> {
        loop {
            let filled = self.shared.filled.notified();
            {
                let mut state = self.shared.state.lock();
                if let Some(batch) = state.waiting.take_batch() {
                    self.record_depth(&state);
                    self.record_wait(&batch);
                    self.shared.drained.notify_waiters();
                    return Some(batch.deltas);
                }
                if state.open == Open::No {
                    return None;
                }
            }
            filled.await;
        }
    }

    /// Takes nothing more. What is queued can still be popped.
    pub fn close(&self) {
        self.shared.state.lock().open = Open::No;
        self.shared.filled.notify_waiters();
        self.shared.drained.notify_waiters();
    }

    /// How many deltas wait.
    pub(crate) fn depth(&self) -> usize {
        self.shared.state.lock().waiting.len()
    }

    fn record_depth(&self, state: &State<T>) {
        let depth = state.waiting.len() as f64;
        metrics::gauge!("listwatch_delta_queue_depth", "queue" => self.name.clone()).set(depth);
    }

    fn record_wait(&self, batch: &Batch<T>) {
        let waited = batch.since.elapsed();
        metrics::histogram!("listwatch_delta_queue_wait_seconds", "queue" => self.name.clone())
            .record(waited);
    }
}

impl<T> Waiting<T> {
    fn push(&mut self, deltas: Vec<Delta<T>>) {
        let now = Instant::now();
        for delta in deltas {
            match self {
                Self::InOrder(waiting) => waiting.push(delta, now),
                Self::Compressing(waiting) => waiting.push(delta, now),
            }
        }
    }

    fn take_batch(&mut self) -> Option<Batch<T>> {
        match self {
            Self::InOrder(waiting) => waiting.take_batch(),
            Self::Compressing(waiting) => waiting.take_batch(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::InOrder(waiting) => waiting.len(),
            Self::Compressing(waiting) => waiting.len(),
        }
    }
}

impl<T> Clone for DeltaQueue<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            name: self.name.clone(),
        }
    }
}

impl<T> fmt::Debug for DeltaQueue<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.shared.state.lock().waiting.len();
        formatter
            .debug_struct("DeltaQueue")
            .field("name", &self.name)
            .field("length", &length)
            .finish_non_exhaustive()
    }
}
