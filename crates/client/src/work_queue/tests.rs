mod delays;
mod measures;
mod model;
mod one_at_a_time;
mod priorities;
mod shutdown;

use std::{hash::Hash, pin::pin, time::Duration};

use futures_util::FutureExt;

use super::{ItemExponential, Permit, WorkQueue, WorkQueueSettings};

const SECOND: Duration = Duration::from_secs(1);

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn queue() -> WorkQueue<&'static str> {
    WorkQueue::new("test")
}

/// The next key if one can be taken at once.
fn take<K: Clone + Eq + Hash>(queue: &WorkQueue<K>) -> Option<Permit<K>> {
    pin!(queue.get()).now_or_never().flatten()
}

/// Whether a `get` would wait rather than answer.
fn would_wait<K: Clone + Eq + Hash>(queue: &WorkQueue<K>) -> bool {
    pin!(queue.get()).now_or_never().is_none()
}

fn key_of<K: Clone + Eq + Hash>(permit: Option<Permit<K>>) -> Option<K> {
    permit.map(|permit| permit.key().clone())
}

/// Takes and finishes everything that can be taken at once.
fn drain<K: Clone + Eq + Hash>(queue: &WorkQueue<K>) -> Vec<K> {
    std::iter::from_fn(|| key_of(take(queue))).collect()
}

/// A queue whose retries wait 1 ms, 2 ms, 4 ms and so on.
fn queue_with_quick_retries() -> WorkQueue<&'static str> {
    let limiter = Box::new(ItemExponential::new(milliseconds(1), SECOND));
    let keys_max = None;
    WorkQueue::with_settings("test", WorkQueueSettings { limiter, keys_max })
}
