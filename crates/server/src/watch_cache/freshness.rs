//! How far the cache has come, and waiting for it.

use std::sync::atomic::{AtomicU64, Ordering};

use listwatch_store::Revision;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

/// The revision up to which all kinds have been brought.
pub(super) struct Applied {
    revision: AtomicU64,
    news: watch::Sender<Revision>,
}

impl Applied {
    pub(super) fn new(revision: Revision) -> Self {
        Self {
            revision: AtomicU64::new(revision.get()),
            news: watch::Sender::new(revision),
        }
    }

    pub(super) fn get(&self) -> Revision {
        Revision::new(self.revision.load(Ordering::Acquire))
    }

    /// Publishes that every kind has everything up to this revision.
    pub(super) fn advance(&self, revision: Revision) {
        let before = self.revision.fetch_max(revision.get(), Ordering::AcqRel);
        if before < revision.get() {
            self.news.send_replace(revision);
        }
    }

    /// Waits until the revision has been applied. At the deadline, tells which one has been.
    pub(super) async fn reach(
        &self,
        revision: Revision,
        deadline: Instant,
    ) -> Result<(), Revision> {
        if self.get() >= revision {
            return Ok(());
        }
        let mut news = self.news.subscribe();
        let reached = news.wait_for(|applied| *applied >= revision);
        match timeout_at(deadline, reached).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(self.get()),
        }
    }
}
