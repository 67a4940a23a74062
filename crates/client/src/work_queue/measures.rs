//! The numbers that a queue publishes.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use super::schedule::{Taken, Unfinished};

/// Handles to the numbers of one queue, labelled with its name.
///
/// They belong to the recorder that is installed when the queue is made.
pub(super) struct Measures {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    refused: Counter,
    latency: Histogram,
    duration: Histogram,
    unfinished: Gauge,
    longest: Gauge,
}

impl Measures {
    pub(super) fn new(queue: &str) -> Self {
        let queue = queue.to_owned();
        Self {
            depth: gauge!("listwatch_work_queue_depth", "queue" => queue.clone()),
            adds: counter!("listwatch_work_queue_adds_total", "queue" => queue.clone()),
            retries: counter!("listwatch_work_queue_retries_total", "queue" => queue.clone()),
            refused: counter!("listwatch_work_queue_refused_total", "queue" => queue.clone()),
            latency: histogram!("listwatch_work_queue_latency_seconds", "queue" => queue.clone()),
            duration: histogram!("listwatch_work_queue_work_seconds", "queue" => queue.clone()),
            unfinished: gauge!(
                "listwatch_work_queue_unfinished_work_seconds", "queue" => queue.clone()
            ),
            longest: gauge!("listwatch_work_queue_longest_running_seconds", "queue" => queue),
        }
    }

    /// Keys became due, by being added or with time.
    pub(super) fn due(&self, keys: usize) {
        self.adds.increment(keys as u64);
    }

    pub(super) fn delayed(&self) {
        self.retries.increment(1);
    }

    pub(super) fn refused(&self) {
        self.refused.increment(1);
    }

    pub(super) fn taken<K>(&self, taken: &Taken<K>) {
        self.latency.record(taken.waited);
    }

    pub(super) fn finished(&self, worked: Duration) {
        self.duration.record(worked);
    }

    pub(super) fn depth(&self, keys: usize) {
        self.depth.set(keys as f64);
    }

    pub(super) fn unfinished(&self, unfinished: Unfinished) {
        self.unfinished.set(unfinished.total.as_secs_f64());
        self.longest.set(unfinished.longest.as_secs_f64());
    }
}
