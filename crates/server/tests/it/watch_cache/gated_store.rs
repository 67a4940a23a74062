//! A store whose feed of all changes can be held up and broken.

use std::sync::Arc;

use listwatch_store::{
    ChangeBatch, Changes, ChangesError, Commit, CommitError, Follow, KeyRange, MemoryStore, Page,
    Read, ReadError, Revision, Store, StoreFuture,
};
use tokio::sync::watch;

/// What happens to the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Changes pass.
    Open,
    /// Changes wait.
    Closed,
    /// Following fails.
    Broken,
}

/// A store in memory with a gate before those who follow everything.
pub(super) struct GatedStore {
    inner: MemoryStore,
    gate: watch::Sender<Gate>,
}

impl GatedStore {
    /// An empty store with an open gate.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::new(),
            gate: watch::Sender::new(Gate::Open),
        })
    }

    /// Moves the gate.
    pub(super) fn set(&self, gate: Gate) {
        self.gate.send_replace(gate);
    }
}

impl Store for GatedStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        self.inner.read(read)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        self.inner.commit(commit)
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        Box::pin(async move {
            let follows_everything = follow.range == KeyRange::prefix("/registry/");
            let inner = self.inner.changes(follow).await?;
            if !follows_everything {
                return Ok(inner);
            }
            let gate = self.gate.subscribe();
            Ok(Box::new(GatedChanges { inner, gate }) as Box<dyn Changes>)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        self.inner.compact(before)
    }
}

struct GatedChanges {
    inner: Box<dyn Changes>,
    gate: watch::Receiver<Gate>,
}

impl Changes for GatedChanges {
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>> {
        Box::pin(async move {
            loop {
                let gate = *self.gate.borrow_and_update();
                match gate {
                    Gate::Broken => {
                        return Err(ChangesError::Unavailable {
                            reason: "broken".to_owned(),
                        });
                    }
                    Gate::Closed => drop(self.gate.changed().await),
                    Gate::Open => tokio::select! {
                        biased;
                        _ = self.gate.changed() => {}
                        batch = self.inner.next() => return batch,
                    },
                }
            }
        })
    }
}
