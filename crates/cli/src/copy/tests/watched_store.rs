//! A store that lets a test act before a commit or a read, and remembers commits.

use std::{
    collections::BTreeMap,
    future::pending,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use listwatch_store::{
    Changes, ChangesError, Commit, CommitError, Follow, Page, Read, ReadError, Revision, Store,
    StoreFuture,
};
use tokio::sync::Notify;

type Action = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What becomes of one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It never ends, and never happens.
    StallsBefore,
    /// It happens, and never ends.
    StallsAfter,
    /// It waits until it is let go.
    Waits,
    /// It does not happen, and nobody is told.
    LostBefore,
    /// It happens, and nobody is told.
    LostAfter,
}

pub(super) struct WatchedStore {
    store: Arc<dyn Store>,
    commits: Mutex<Vec<Commit>>,
    tried: AtomicUsize,
    fates: Mutex<BTreeMap<usize, Fate>>,
    before_commit: Mutex<BTreeMap<usize, Action>>,
    before_read: Mutex<Option<Box<dyn Fn() -> Action + Send>>>,
    stalled: Notify,
    let_go: Notify,
}

impl WatchedStore {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            commits: Mutex::default(),
            tried: AtomicUsize::new(0),
            fates: Mutex::default(),
            before_commit: Mutex::default(),
            before_read: Mutex::default(),
            stalled: Notify::new(),
            let_go: Notify::new(),
        }
    }

    /// Chooses the fate of the commit with this number; the first is 1.
    pub(super) fn with_fate(self, number: usize, fate: Fate) -> Self {
        self.fates.lock().unwrap().insert(number, fate);
        self
    }

    /// Does something before the commit with this number.
    pub(super) fn before_commit(
        &self,
        number: usize,
        action: impl Future<Output = ()> + Send + 'static,
    ) {
        let action = Box::pin(action);
        self.before_commit.lock().unwrap().insert(number, action);
    }

    /// Does something before every read.
    pub(super) fn before_every_read<F>(&self, action: impl Fn() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let action = Box::new(move || Box::pin(action()) as Action);
        *self.before_read.lock().unwrap() = Some(action);
    }

    /// The commits that happened.
    pub(super) fn commits(&self) -> Vec<Commit> {
        self.commits.lock().unwrap().clone()
    }

    /// Waits until a commit has stalled.
    pub(super) async fn stalled(&self) {
        self.stalled.notified().await;
    }

    /// Lets the commit that waits happen.
    pub(super) fn let_go(&self) {
        self.let_go.notify_one();
    }

    async fn commit_watched(&self, commit: Commit) -> Result<Revision, CommitError> {
        let number = self.tried.fetch_add(1, Ordering::Relaxed) + 1;
        let action = self.before_commit.lock().unwrap().remove(&number);
        if let Some(action) = action {
            action.await;
        }
        let fate = self.fates.lock().unwrap().remove(&number);
        let lost = CommitError::Unknown {
            reason: "the answer was lost".to_owned(),
        };
        match fate {
            Some(Fate::StallsBefore) => return self.stall().await,
            Some(Fate::LostBefore) => return Err(lost),
            Some(Fate::Waits) => {
                self.stalled.notify_one();
                self.let_go.notified().await;
            }
            Some(Fate::StallsAfter | Fate::LostAfter) | None => {}
        }
        let revision = self.store.commit(commit.clone()).await?;
        self.commits.lock().unwrap().push(commit);
        match fate {
            Some(Fate::StallsAfter) => self.stall().await,
            Some(Fate::LostAfter) => Err(lost),
            Some(Fate::StallsBefore | Fate::LostBefore | Fate::Waits) | None => Ok(revision),
        }
    }

    async fn stall(&self) -> Result<Revision, CommitError> {
        self.stalled.notify_one();
        pending().await
    }
}

impl Store for WatchedStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        Box::pin(async move {
            let acting = self
                .before_read
                .lock()
                .unwrap()
                .as_ref()
                .map(|action| action());
            if let Some(acting) = acting {
                acting.await;
            }
            self.store.read(read).await
        })
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        Box::pin(self.commit_watched(commit))
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        self.store.changes(follow)
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        self.store.compact(before)
    }
}
