//! What is counted about one handler, for its registration and for metrics.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram};

/// Counts that a handler's task and its registration share.
pub(super) struct Tally {
    delivered: AtomicU64,
    panics: AtomicU64,
    missed: AtomicU64,
    pending: AtomicU64,
    seconds: Histogram,
    panics_total: Counter,
    missed_total: Counter,
    pending_now: Gauge,
}

/// What a handler has done and has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandlerStatus {
    /// Changes that wait for it, with those that it is working on.
    pub pending: u64,
    /// Notifications that it was given.
    pub delivered: u64,
    /// Notifications at which it panicked.
    pub panics: u64,
    /// Changes that it was told only as part of a difference, since it was too slow.
    pub missed: u64,
}

/// What an informer keeps in memory beside its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Deltas on their way into the cache.
    pub deltas: usize,
    /// Changes that the slowest handlers have not taken. Each is kept once for all of them.
    pub changes: usize,
}

impl Tally {
    pub(super) fn new(informer: &str, handler: &str) -> Self {
        let labels = [
            ("informer", informer.to_owned()),
            ("handler", handler.to_owned()),
        ];
        Self {
            delivered: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            seconds: metrics::histogram!("listwatch_handler_seconds", &labels),
            panics_total: metrics::counter!("listwatch_handler_panics_total", &labels),
            missed_total: metrics::counter!("listwatch_handler_missed_changes_total", &labels),
            pending_now: metrics::gauge!("listwatch_handler_pending_changes", &labels),
        }
    }

    pub(super) fn count_delivered(&self) {
        self.delivered.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_call(&self, took: Duration) {
        self.seconds.record(took);
    }

    pub(super) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
        self.panics_total.increment(1);
    }

    pub(super) fn count_missed(&self, missed: u64) {
        self.missed.fetch_add(missed, Ordering::Relaxed);
        self.missed_total.increment(missed);
    }

    pub(super) fn set_pending(&self, pending: u64) {
        self.pending.store(pending, Ordering::Relaxed);
        self.pending_now.set(pending as f64);
    }

    pub(super) fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    pub(super) fn status(&self) -> HandlerStatus {
        HandlerStatus {
            pending: self.pending(),
            delivered: self.delivered.load(Ordering::Relaxed),
            panics: self.panics.load(Ordering::Relaxed),
            missed: self.missed.load(Ordering::Relaxed),
        }
    }
}
