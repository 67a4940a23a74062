//! How new the cache is, and waiting until it is new enough.

use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, timeout};

use super::{Life, SharedInformer, log::Sync};
use crate::{Snapshot, Version};

/// What the informer has heard.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    version: Option<Version>,
    sync: Sync,
    heard_at: Option<Instant>,
}

/// Why the cache did not become as new as asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WaitError {
    /// It took too long: ask again, or read what there is.
    #[error("the cache is at version {}, not yet at {wanted}", text(reached.as_ref()))]
    TimedOut {
        /// The version that was asked for.
        wanted: Version,
        /// How far the cache has come; `None` if it has not been filled.
        reached: Option<Version>,
    },
    /// The informer has stopped, so it will never be.
    #[error(transparent)]
    Stopped(#[from] InformerStopped),
}

/// The informer has stopped for good.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the informer has stopped")]
pub struct InformerStopped;

/// Why a program that lives on this cache should not be sent work.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotReady {
    /// The informer has not been started.
    #[error("the informer has not been started")]
    NotStarted,
    /// The first list has not been applied.
    #[error("the cache has not been filled")]
    NotSynced,
    /// Nothing was heard of the source for too long, not even a bookmark.
    #[error("nothing was heard of the source for {age:?}")]
    Stale {
        /// Since when.
        age: Duration,
    },
    /// The informer has stopped.
    #[error(transparent)]
    Stopped(#[from] InformerStopped),
}

impl Progress {
    pub(super) fn none() -> Self {
        Self {
            version: None,
            sync: Sync::Waiting,
            heard_at: None,
        }
    }

    pub(super) fn heard(version: Option<Version>, sync: Sync) -> Self {
        Self {
            version,
            sync,
            heard_at: Some(Instant::now()),
        }
    }
}

impl<T> SharedInformer<T> {
    /// Whether the first list has been applied, so that the cache shows the source as it was once.
    pub fn has_synced(&self) -> bool {
        self.shared.progress.borrow().sync == Sync::Done
    }

    /// Waits for the first list to be applied.
    pub async fn wait_until_synced(&self) -> Result<(), InformerStopped> {
        self.until(|progress| (progress.sync == Sync::Done).then_some(()))
            .await
    }

    /// The version of what was applied last; `None` before the first.
    pub fn last_version(&self) -> Option<Version> {
        self.shared.progress.borrow().version.clone()
    }

    /// Waits until the cache shows everything up to a version, such as the one that a write of
    /// one's own has returned.
    ///
    /// A version that is not a number has no order: it is reached only while it is the last.
    pub async fn wait_for(&self, wanted: &Version, patience: Duration) -> Result<(), WaitError> {
        self.read_at_least(wanted, patience).await.map(drop)
    }

    /// The cache as soon as it shows everything up to a version.
    pub async fn read_at_least(
        &self,
        wanted: &Version,
        patience: Duration,
    ) -> Result<Snapshot<T>, WaitError> {
        let reached = self.until(|progress| {
            let snapshot = self.shared.cache.snapshot();
            let reached = snapshot
                .version()
                .is_some_and(|version| version.reaches(wanted));
            (reached && progress.sync == Sync::Done).then_some(snapshot)
        });
        match timeout(patience, reached).await {
            Ok(reached) => Ok(reached?),
            Err(_) => Err(WaitError::TimedOut {
                wanted: wanted.clone(),
                reached: self.last_version(),
            }),
        }
    }

    /// How long ago an event or a bookmark was applied; `None` before the first.
    pub fn age(&self) -> Option<Duration> {
        let heard_at = self.shared.progress.borrow().heard_at;
        heard_at.map(|heard_at| heard_at.elapsed())
    }

    /// Whether a watch is open now, so that changes come as they happen. An informer that is fed
    /// by other means than a source is taken to be watching while it runs.
    pub fn is_watching(&self) -> bool {
        let running = *self.shared.life.borrow() == Life::Running;
        let reflector = self.reflector_status();
        running && reflector.is_none_or(|status| status.is_watching())
    }

    /// Whether the cache is filled and was heard of within `age_max`. A source that sends
    /// bookmarks is heard of about once a minute, whether or not anything changes.
    pub fn readiness(&self, age_max: Duration) -> Result<(), NotReady> {
        match *self.shared.life.borrow() {
            Life::Built => return Err(NotReady::NotStarted),
            Life::Running => {}
            Life::Stopped => return Err(InformerStopped.into()),
        }
        match self.age() {
            Some(age) if self.has_synced() && age > age_max => Err(NotReady::Stale { age }),
            Some(_) if self.has_synced() => Ok(()),
            Some(_) | None => Err(NotReady::NotSynced),
        }
    }

    async fn until<R>(
        &self,
        mut check: impl FnMut(&Progress) -> Option<R>,
    ) -> Result<R, InformerStopped> {
        let mut progress = self.shared.progress.subscribe();
        let mut life = self.shared.life.subscribe();
        loop {
            if let Some(found) = check(&progress.borrow_and_update()) {
                return Ok(found);
            }
            tokio::select! {
                biased;
                // Both senders live as long as `self`.
                _ = life.wait_for(|life| *life == Life::Stopped) => return Err(InformerStopped),
                _ = progress.changed() => {}
            }
        }
    }
}

fn text(version: Option<&Version>) -> String {
    version.map_or_else(|| "none".to_owned(), ToString::to_string)
}
