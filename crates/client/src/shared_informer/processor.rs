//! From the queue into the cache, and from there into the log.

use std::sync::Arc;

use super::{Shared, staleness::Progress};
use crate::{CacheWriter, Delta, Version};

/// Applies what the queue brings, batch by batch, until the queue ends or the informer stops.
pub(super) async fn run<T>(shared: Arc<Shared<T>>, mut writer: CacheWriter<T>) {
    let metrics = ProcessorMetrics::new(&shared.name);
    while let Some(deltas) = shared.queue.pop_batch().await {
        if !shared.log.has_room().await {
            return;
        }
        metrics.count(&deltas);
        let version = apply(&shared, &mut writer, deltas);
        metrics.reached(version.as_ref());
    }
}

/// Readers see the new state before any handler is told how it came to be.
fn apply<T>(
    shared: &Shared<T>,
    writer: &mut CacheWriter<T>,
    deltas: Vec<Delta<T>>,
) -> Option<Version> {
    let changes = writer.apply(deltas);
    let snapshot = shared.cache.snapshot();
    let version = snapshot.version().cloned();
    let sync = shared.log.append(changes, snapshot);
    let progress = Progress::heard(version.clone(), sync);
    shared.progress.send_replace(progress);
    version
}

struct ProcessorMetrics {
    deltas: metrics::Counter,
    batches: metrics::Counter,
    version: metrics::Gauge,
}

impl ProcessorMetrics {
    fn new(informer: &str) -> Self {
        let labels = [("informer", informer.to_owned())];
        Self {
            deltas: metrics::counter!("listwatch_informer_deltas_total", &labels),
            batches: metrics::counter!("listwatch_informer_batches_total", &labels),
            version: metrics::gauge!("listwatch_informer_version", &labels),
        }
    }

    fn count<T>(&self, deltas: &[Delta<T>]) {
        self.deltas.increment(deltas.len() as u64);
        self.batches.increment(1);
    }

    /// Only a number can be shown; beyond 2^53 its last digits are lost.
    fn reached(&self, version: Option<&Version>) {
        if let Some(Version::Number(number)) = version {
            self.version.set(*number as f64);
        }
    }
}
