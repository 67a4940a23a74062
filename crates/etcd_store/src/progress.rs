//! How a watch that has nothing to tell learns how far it is.
//!
//! A current etcd is asked. An older one may answer with a revision whose events are still to come;
//! there a key of the store's own is written, and when that comes back, so has all before it. One
//! such write serves everybody who waits, here and in other processes.

use std::{
    sync::{
        Arc, Once,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use listwatch_etcd::{ProgressRequests, Put, Watch};

use crate::{cluster::Cluster, own_keys};

/// Asks watches how far they are.
pub(crate) struct Progress {
    cluster: Arc<Cluster>,
    writing: AtomicBool,
    told: Once,
}

impl Progress {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            writing: AtomicBool::new(false),
            told: Once::new(),
        }
    }

    /// How long a revision that is known to be there may take to come by itself.
    pub(crate) fn patience(watch: &Watch) -> Duration {
        match watch.progress_requests() {
            ProgressRequests::Reliable => Duration::from_millis(5),
            // A write is dearer than a question.
            ProgressRequests::Unreliable => Duration::from_millis(200),
        }
    }

    /// Lets the watch tell soon how far it is.
    pub(crate) fn request(self: &Arc<Self>, watch: &Watch) {
        match watch.progress_requests() {
            ProgressRequests::Reliable => watch.request_progress(),
            ProgressRequests::Unreliable => self.write(),
        }
    }

    /// Says in the log, once, that this etcd cannot be asked.
    pub(crate) fn tell_unreliable(&self) {
        self.told.call_once(|| {
            tracing::warn!(
                "this etcd answers progress requests wrongly (it is older than 3.4.31 or 3.5.13); \
                 when a read has to know how far a watch is, a small key is written instead"
            );
        });
    }

    fn write(self: &Arc<Self>) {
        if self.writing.swap(true, Ordering::Relaxed) {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let key = this.cluster.mount.own(own_keys::PROGRESS);
            let written = this.cluster.client.put(Put::new(key, "")).await;
            this.writing.store(false, Ordering::Relaxed);
            if let Err(error) = written {
                tracing::debug!(%error, "the key that tells progress could not be written");
            }
        });
    }
}
