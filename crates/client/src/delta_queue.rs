//! The bounded queue between the reflector and the cache.

use std::{collections::VecDeque, fmt, sync::Arc};

use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::Notify;

use crate::Delta;

/// Deltas that are applied together, and published as one new state of the cache.
pub const BATCH_DELTAS_MAX: usize = 1000;

/// Deltas that may wait. At the bound the reflector waits, and with it the source.
const QUEUE_DELTAS_MAX: usize = 2 * BATCH_DELTAS_MAX;

/// Deltas on their way from a reflector to a cache, in the order of the source.
pub struct DeltaQueue<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    filled: Notify,
    drained: Notify,
}

struct State<T> {
    deltas: VecDeque<Delta<T>>,
    open: Open,
}

#[derive(PartialEq, Eq)]
enum Open {
    Yes,
    No,
}

/// Nothing is taken any more.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the delta queue is closed")]
pub struct QueueClosed;

impl<T> DeltaQueue<T> {
    /// A queue that keeps every delta in its order.
    pub fn in_order() -> Self {
        let state = State {
            deltas: VecDeque::new(),
            open: Open::Yes,
        };
        let shared = Shared {
            state: Mutex::new(state),
            filled: Notify::new(),
            drained: Notify::new(),
        };
        Self {
            shared: Arc::new(shared),
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
                if state.deltas.len() < QUEUE_DELTAS_MAX {
                    state.deltas.extend(deltas);
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
                let count = state.deltas.len().min(BATCH_DELTAS_MAX);
                if count > 0 {
                    let batch = state.deltas.drain(..count).collect();
                    self.shared.drained.notify_waiters();
                    return Some(batch);
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
}

impl<T> Clone for DeltaQueue<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> fmt::Debug for DeltaQueue<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.shared.state.lock().deltas.len();
        formatter
            .debug_struct("DeltaQueue")
            .field("length", &length)
            .finish_non_exhaustive()
    }
}
