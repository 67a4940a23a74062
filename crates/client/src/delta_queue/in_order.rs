//! Deltas as they came.

use std::collections::{HashSet, VecDeque};

use tokio::time::Instant;

use super::{BATCH_DELTAS_MAX, Batch};
use crate::Delta;

/// Every delta, in its order.
pub(super) struct InOrder<T> {
    deltas: VecDeque<(Delta<T>, Instant)>,
}

impl<T> InOrder<T> {
    pub(super) fn new() -> Self {
        Self {
            deltas: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, delta: Delta<T>, now: Instant) {
        self.deltas.push_back((delta, now));
    }

    pub(super) fn len(&self) -> usize {
        self.deltas.len()
    }

    pub(super) fn take_batch(&mut self) -> Option<Batch<T>> {
        let (_, since) = self.deltas.front()?;
        let since = *since;
        let count = self.batch_length();
        let deltas = self.deltas.drain(..count).map(|(delta, _)| delta);
        Some(Batch {
            deltas: deltas.collect(),
            since,
        })
    }

    /// How many of the first deltas are about one object each, and no object twice; one if the
    /// first is about all objects.
    fn batch_length(&self) -> usize {
        let first = self.deltas.iter().take(BATCH_DELTAS_MAX);
        let mut keys = HashSet::with_capacity(first.len());
        let distinct = first.map_while(|(delta, _)| delta.key().filter(|key| keys.insert(*key)));
        distinct.count().max(1)
    }
}
