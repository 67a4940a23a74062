//! What the caches of all kinds share: where their states come from, and how far they have come.

use std::{future::pending, sync::Arc, time::Duration};

use listwatch_store::{Revision, Store};
use tokio::time::{Instant, timeout_at};

use super::{
    CacheError, feed::Feed, freshness::Applied, question::NewestQuestion, store_cursor::PastReaders,
};

/// How long a reader waits for a state that is fresh enough. Then it is told to come back.
const FRESHNESS_WAIT_MAX: Duration = Duration::from_secs(3);

/// The store, and how it is followed.
pub(super) struct Origin {
    pub(super) store: Arc<dyn Store>,
    /// The revision up to which all kinds have been brought.
    pub(super) applied: Applied,
    pub(super) newest: Arc<NewestQuestion>,
    pub(super) feed: Feed,
    pub(super) past_readers: PastReaders,
}

impl Origin {
    /// Nothing of the store is known yet.
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            newest: Arc::new(NewestQuestion::new(Arc::clone(&store))),
            store,
            applied: Applied::new(Revision::ZERO),
            feed: Feed::new(),
            past_readers: PastReaders::new(),
        }
    }

    /// Waits until every commit has been applied that was acknowledged before this was called.
    pub(super) async fn catch_up(&self) -> Result<(), CacheError> {
        let at_once = self.newest.ask_at_once().transpose()?;
        // What needs no waiting needs no clock either.
        if at_once.is_some_and(|newest| newest <= self.applied.get()) {
            return Ok(());
        }
        let deadline = Instant::now() + FRESHNESS_WAIT_MAX;
        let newest = match at_once {
            Some(newest) => newest,
            None => self.newest_by(deadline).await?,
        };
        let reached = self.applied.reach(newest, deadline).await;
        reached.map_err(|applied| CacheError::Overloaded {
            reason: format!("the watch cache is at {applied} and the store at {newest}"),
        })
    }

    /// Waits until a revision has been applied. If it takes too long, tells what has been.
    ///
    /// The store is asked how far it is, since it may have something to tell only when asked.
    pub(super) async fn reach(&self, revision: Revision) -> Result<(), Revision> {
        if self.applied.get() >= revision {
            return Ok(());
        }
        let deadline = Instant::now() + FRESHNESS_WAIT_MAX;
        let asked = async {
            // Whatever is wrong with the store, the revision may come in all the same.
            let _ = self.newest.ask().await;
            pending().await
        };
        tokio::select! {
            biased;
            reached = self.applied.reach(revision, deadline) => reached,
            never = asked => never,
        }
    }

    /// The same for a revision that the store must have already.
    pub(super) async fn reach_committed(&self, revision: Revision) -> Result<(), CacheError> {
        if self.applied.get() >= revision {
            return Ok(());
        }
        let deadline = Instant::now() + FRESHNESS_WAIT_MAX;
        let newest = self.newest_by(deadline).await?;
        let reached = match revision <= newest {
            true => self.applied.reach(revision, deadline).await,
            false => Err(newest),
        };
        reached.map_err(|current| CacheError::TooLarge {
            requested: revision,
            current,
        })
    }

    /// The store's newest revision, if it tells it in time.
    pub(super) async fn newest_by(&self, deadline: Instant) -> Result<Revision, CacheError> {
        if let Some(answer) = self.newest.ask_at_once() {
            return Ok(answer?);
        }
        match timeout_at(deadline, self.newest.ask()).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(CacheError::Overloaded {
                reason: "the store is too slow to tell its revision".to_owned(),
            }),
        }
    }
}
