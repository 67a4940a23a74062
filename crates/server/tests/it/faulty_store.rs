//! A store whose faults a test switches on and off.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use listwatch_store::{
    ChangeBatch, Changes, ChangesError, Commit, CommitError, Follow, MemoryStore, Page, Read,
    ReadError, Revision, Store, StoreFuture,
};
use tokio::sync::watch;

/// What is wrong with reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    #[default]
    Well,
    /// It is answered as it was long ago.
    Restored,
    /// The past is forgotten whenever it is asked for.
    Forgetful,
    /// It is answered, but not before others had their turn.
    Slow,
    /// It is not answered while this lasts.
    Silent,
    /// It is refused: come back later.
    Busy,
    /// It is refused: nobody is there.
    Gone,
    /// The same, for keys that begin so.
    GoneFor(&'static str),
}

/// What is wrong with writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    #[default]
    Well,
    /// There is no room.
    Full,
    /// Come back later.
    Busy,
    /// Nobody is there.
    Gone,
    /// It happens, and nobody says so.
    Unsure,
    /// The same, and nothing else is said either.
    Silent,
}

/// What is wrong with following.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Following {
    #[default]
    Well,
    /// Nothing comes while this lasts.
    Silent,
    /// Something comes only after the newest revision has been asked for.
    WhenAsked,
    /// Cursors break, and none can be had.
    Gone,
}

/// Everything that may be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    pub(crate) reading: Reading,
    pub(crate) writing: Writing,
    pub(crate) following: Following,
}

impl Faults {
    /// Nothing is wrong.
    pub(crate) const NONE: Self = Self {
        reading: Reading::Well,
        writing: Writing::Well,
        following: Following::Well,
    };

    /// Nobody is there.
    pub(crate) const GONE: Self = Self {
        reading: Reading::Gone,
        writing: Writing::Gone,
        following: Following::Gone,
    };
}

/// A store in memory with faults.
#[derive(Default)]
pub(crate) struct FaultyStore {
    inner: MemoryStore,
    faults: watch::Sender<Faults>,
    questions: watch::Sender<usize>,
    /// One strong reference here, and one in each open cursor.
    cursors: Arc<()>,
    cursors_max: AtomicUsize,
}

impl FaultyStore {
    /// An empty store without faults.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Replaces all faults by these.
    pub(crate) fn set(&self, faults: Faults) {
        self.faults.send_replace(faults);
    }

    /// Nothing is wrong any more.
    pub(crate) fn heal(&self) {
        self.set(Faults::NONE);
    }

    /// How often the newest revision was asked for.
    pub(crate) fn questions(&self) -> usize {
        *self.questions.borrow()
    }

    /// How many cursors there were at one time, at the most.
    pub(crate) fn cursors_max(&self) -> usize {
        self.cursors_max.load(Ordering::SeqCst)
    }

    async fn read_when_well(&self, read: Read) -> Result<Page, ReadError> {
        let mut faults = self.faults.subscribe();
        loop {
            let reading = faults.borrow_and_update().reading;
            let reason = "the store is away".to_owned();
            match reading {
                Reading::GoneFor(prefix) if read.range.start.starts_with(prefix.as_bytes()) => {
                    return Err(ReadError::Unavailable { reason });
                }
                Reading::Well | Reading::GoneFor(_) => return self.inner.read(read).await,
                Reading::Forgetful => {
                    if let Some(at) = read.at {
                        let forgotten = self.inner.compact(at.next()).await;
                        forgotten.expect("memory can be forgotten");
                    }
                    return self.inner.read(read).await;
                }
                Reading::Restored => return self.inner.read(read.at(Revision::new(1))).await,
                Reading::Slow => {
                    tokio::task::yield_now().await;
                    return self.inner.read(read).await;
                }
                Reading::Busy => return Err(ReadError::Overloaded { reason }),
                Reading::Gone => return Err(ReadError::Unavailable { reason }),
                Reading::Silent => faults.changed().await.expect("the store lives"),
            }
        }
    }
}

impl Store for FaultyStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        if read.limit == Some(0) && read.at.is_none() {
            self.questions.send_modify(|questions| *questions += 1);
        }
        Box::pin(self.read_when_well(read))
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        let writing = self.faults.borrow().writing;
        Box::pin(async move {
            let reason = "the store is away".to_owned();
            match writing {
                Writing::Well => self.inner.commit(commit).await,
                Writing::Full => Err(CommitError::Full {
                    reason: "no space left".to_owned(),
                }),
                Writing::Busy => Err(CommitError::Overloaded { reason }),
                Writing::Gone => Err(CommitError::Unavailable { reason }),
                Writing::Unsure => {
                    self.inner.commit(commit).await?;
                    Err(CommitError::Unknown { reason })
                }
                Writing::Silent => {
                    self.inner.commit(commit).await?;
                    std::future::pending().await
                }
            }
        })
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        Box::pin(async move {
            let faults = self.faults.subscribe();
            if faults.borrow().following == Following::Gone {
                return Err(away());
            }
            let inner = self.inner.changes(follow).await?;
            let open = Arc::clone(&self.cursors);
            let cursors = Arc::strong_count(&open) - 1;
            self.cursors_max.fetch_max(cursors, Ordering::SeqCst);
            let questions = self.questions.subscribe();
            Ok(Box::new(FaultyChanges {
                inner,
                faults,
                questions,
                _open: open,
            }) as Box<dyn Changes>)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        self.inner.compact(before)
    }
}

struct FaultyChanges {
    inner: Box<dyn Changes>,
    faults: watch::Receiver<Faults>,
    questions: watch::Receiver<usize>,
    _open: Arc<()>,
}

impl Changes for FaultyChanges {
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>> {
        Box::pin(async move {
            loop {
                let following = self.faults.borrow_and_update().following;
                match following {
                    Following::Gone => return Err(away()),
                    Following::Silent => self.faults.changed().await.map_err(|_| away())?,
                    Following::WhenAsked if !self.questions.has_changed().unwrap_or(true) => {
                        tokio::select! {
                            _ = self.faults.changed() => {}
                            _ = self.questions.changed() => self.questions.mark_changed(),
                        }
                    }
                    Following::Well | Following::WhenAsked => tokio::select! {
                        biased;
                        _ = self.faults.changed() => {}
                        batch = self.inner.next() => {
                            self.questions.mark_unchanged();
                            return batch;
                        }
                    },
                }
            }
        })
    }
}

fn away() -> ChangesError {
    ChangesError::Unavailable {
        reason: "the store is away".to_owned(),
    }
}
