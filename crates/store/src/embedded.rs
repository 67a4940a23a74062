//! A store that is durable on one machine: a log, the state it leads to in memory, and a base where
//! the log begins. Commits that wait together share one sync; acknowledged means synced.

mod base;
mod compaction;
mod disk_work;
mod error;
mod follow;
mod log;
mod news;
mod open;
mod options;
mod past;
mod queue;
mod record;
mod recovery;
mod segment;
mod snapshot;
mod state;
mod tail;
mod writer;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot, watch};

pub use self::{disk_work::DiskWork, error::OpenError, options::EmbeddedOptions};

use self::{
    compaction::CompactionError,
    follow::EmbeddedChanges,
    log::Keep,
    news::{Answer, News},
    open::Wanted,
    queue::{Pushed, Queue},
    snapshot::Snapshot,
    tail::Tail,
    writer::{Ends, Lifetimes, Request, Writer},
};
use crate::{
    Changes, ChangesError, Commit, CommitError, Condition, Follow, Key, Page, Read, ReadError,
    Revision, Store, StoreFuture, WallClock, Write,
    disk::{Directory, Disk, DiskLock},
    expiry::{Due, Expirer, Expiring, ExpiryFailed},
};

/// Commits that may wait to be written. At the bound a commit waits for its place.
const WAITING_COMMITS_MAX: usize = 4096;

/// The wait after a compaction that failed, so that its reason has time to go away.
const COMPACTION_RETRY_MILLISECONDS: u64 = 60_000;

/// A durable store on one machine. Dropping it writes what waits and lets go of the directory.
pub struct EmbeddedStore {
    inner: Arc<Inner>,
}

impl EmbeddedStore {
    /// Opens the store in a directory; makes both where they are not there yet.
    pub async fn open_directory(
        path: impl AsRef<Path>,
        options: EmbeddedOptions,
    ) -> Result<Self, OpenError> {
        let disk = directory(path.as_ref())?;
        Self::open(disk, WallClock::system(), options).await
    }

    /// Opens the store in a directory, and makes none where none is.
    pub async fn open_existing_directory(
        path: impl AsRef<Path>,
        options: EmbeddedOptions,
    ) -> Result<Self, OpenError> {
        let path = path.as_ref();
        if !path.is_dir() {
            let directory = path.to_owned();
            return Err(OpenError::NoStore { directory });
        }
        let disk = directory(path)?;
        Self::open_wanted(disk, WallClock::system(), options, Wanted::Store).await
    }

    /// Makes a new store in a directory, which is then as [`EmbeddedStore::begin_after`] says.
    pub async fn begin_directory_after(
        path: impl AsRef<Path>,
        options: EmbeddedOptions,
        revision: Revision,
    ) -> Result<Self, OpenError> {
        let disk = directory(path.as_ref())?;
        Self::begin_after(disk, WallClock::system(), options, revision).await
    }

    /// Opens the store on a disk, or makes a new one on an empty disk.
    pub async fn open(
        disk: Arc<dyn Disk>,
        clock: WallClock,
        options: EmbeddedOptions,
    ) -> Result<Self, OpenError> {
        Self::open_wanted(disk, clock, options, Wanted::StoreOrNothing).await
    }

    /// Makes a new store whose first commit gets the revision after this one, and whose newest
    /// revision is this one until then. Takes the place of a store that was never written; refuses
    /// one that was, with [`OpenError::AlreadyWritten`].
    pub async fn begin_after(
        disk: Arc<dyn Disk>,
        clock: WallClock,
        options: EmbeddedOptions,
        revision: Revision,
    ) -> Result<Self, OpenError> {
        Self::open_wanted(disk, clock, options, Wanted::NothingWritten(revision)).await
    }

    async fn open_wanted(
        disk: Arc<dyn Disk>,
        clock: WallClock,
        options: EmbeddedOptions,
        wanted: Wanted,
    ) -> Result<Self, OpenError> {
        // Any two stores are made at two moments.
        let identity = clock.since_epoch().as_nanos() as u64;
        let opening = {
            let (disk, options) = (Arc::clone(&disk), options.clone());
            let work = options.disk_work;
            work.start(move || open::open(&disk, &options, wanted, identity))
        };
        let opened = opening.await.map_err(|error| OpenError::Io {
            path: disk.path(""),
            source: error.into(),
        })??;
        let inner = Arc::new(Inner {
            disk,
            clock,
            options,
            published: watch::Sender::new(Arc::new(opened.writer.snapshot())),
            ends: Arc::clone(&opened.writer.ends),
            tail: Arc::clone(&opened.writer.tail),
            queue: Mutex::default(),
            places: Arc::new(Semaphore::new(WAITING_COMMITS_MAX)),
            writer: Mutex::new(opened.writer),
            compaction: Mutex::new(()),
            compacting: AtomicBool::new(false),
            compact_after: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            expirer: Expirer::default(),
            lock: Mutex::new(Some(opened.lock)),
        });
        inner.expirer.wake(&inner);
        Ok(Self { inner })
    }
}

fn directory(path: &Path) -> Result<Arc<dyn Disk>, OpenError> {
    let directory = Directory::create(path).map_err(|source| OpenError::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(Arc::new(directory))
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.inner.close();
    }
}

impl Store for EmbeddedStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        Box::pin(async move {
            let snapshot = self.inner.snapshot();
            let at = snapshot.revision_of(&read)?;
            if at == snapshot.revision() {
                return Ok(snapshot.read_newest(&read));
            }
            let work = self.inner.options.disk_work;
            let page = work.start(move || snapshot.read_at(&read, at)).await;
            let unavailable = |reason| ReadError::Unavailable { reason };
            let page = page.map_err(|error| unavailable(error.to_string()))?;
            page.map_err(|error| unavailable(error.to_string()))
        })
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        Box::pin(async move {
            commit.validate()?;
            self.inner.commit(commit).await
        })
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        let Follow { range, after, .. } = follow;
        Box::pin(async move {
            let snapshots = self.inner.published.subscribe();
            follow::check_kept(&snapshots.borrow(), after)?;
            let cursor = EmbeddedChanges {
                snapshots,
                tail: Arc::clone(&self.inner.tail),
                work: self.inner.options.disk_work,
                range,
                after,
                place: None,
            };
            Ok(Box::new(cursor) as Box<dyn Changes>)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        Box::pin(async move {
            let inner = Arc::clone(&self.inner);
            let work = inner.options.disk_work;
            let compacted = work.start(move || inner.compact(before)).await;
            let compacted = compacted.map_err(|error| CommitError::Unavailable {
                reason: error.to_string(),
            })?;
            Ok(compacted?)
        })
    }
}

type Answering = oneshot::Receiver<Answer>;

struct Inner {
    disk: Arc<dyn Disk>,
    clock: WallClock,
    options: EmbeddedOptions,
    published: watch::Sender<Arc<Snapshot>>,
    ends: Ends,
    tail: Arc<Tail>,
    /// Taken after the writer where both are.
    queue: Mutex<Queue>,
    places: Arc<Semaphore>,
    writer: Mutex<Writer>,
    /// Held by the one compaction that may run.
    compaction: Mutex<()>,
    /// Whether a compaction that nobody asked for is on its way.
    compacting: AtomicBool,
    /// When a compaction may be tried again after one that failed, in milliseconds since 1970.
    compact_after: AtomicU64,
    closing: AtomicBool,
    expirer: Expirer,
    lock: Mutex<Option<DiskLock>>,
}

impl Inner {
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.published.borrow())
    }

    async fn commit(self: &Arc<Self>, commit: Commit) -> Result<Revision, CommitError> {
        let answer = self.submit(commit).await?.await;
        answer.map_err(|_| CommitError::Unknown {
            reason: "the writer ended before its answer".to_owned(),
        })?
    }

    /// Lets a commit wait for the writer.
    async fn submit(self: &Arc<Self>, commit: Commit) -> Result<Answering, CommitError> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let (reply, answer) = oneshot::channel();
        let request = Request {
            commit,
            time: self.clock.milliseconds(),
            reply,
            _permit: place.expect("the semaphore is never closed"),
        };
        self.enqueue(request)?;
        Ok(answer)
    }

    fn enqueue(self: &Arc<Self>, request: Request) -> Result<(), CommitError> {
        // The queue is let go of first: a turn that cannot be started takes it at once.
        let pushed = self.queue.lock().push(request);
        match pushed {
            Pushed::Waiting => {}
            Pushed::Refused => return Err(closed()),
            Pushed::First => {
                let turn = Turn {
                    inner: Arc::clone(self),
                    state: TurnState::Waiting,
                };
                self.options.disk_work.start(move || turn.run());
            }
        }
        Ok(())
    }

    /// Writes group after group until nothing waits.
    fn write_waiting(self: &Arc<Self>) {
        loop {
            let mut writer = self.writer.lock();
            let group = self.queue.lock().take_group();
            if group.is_empty() {
                return;
            }
            let written = writer.write(group);
            news::publish_silently(&self.published, Arc::new(writer.snapshot()));
            let due = self.due(&writer);
            drop(writer);
            News::new(&self.published, written.answers).spread();
            if written.lifetimes == Lifetimes::Some {
                self.expirer.wake(self);
            }
            if let Some(floor) = due {
                self.start_compaction(floor);
            }
        }
    }

    fn due(&self, writer: &Writer) -> Option<Revision> {
        let now = self.clock.milliseconds();
        if now < self.compact_after.load(Ordering::Relaxed) {
            return None;
        }
        let base_bytes = writer.files.base.bytes;
        let keep = Keep {
            bytes_max: self.options.history_bytes,
            age_max: self.options.history_age,
            worth_bytes: base_bytes.max(self.options.segment_bytes.into()),
        };
        writer.due(keep, self.options.history_changes, now)
    }

    fn start_compaction(self: &Arc<Self>, floor: Revision) {
        if self.compacting.swap(true, Ordering::Relaxed) {
            return;
        }
        let compacting = Compacting(Arc::clone(self));
        let compact = move || match compacting.0.compact(floor) {
            Ok(()) | Err(CompactionError::Closing) => {}
            Err(error) => {
                tracing::warn!(%error, "history was not compacted; it will be tried again");
                compacting.0.put_off_compaction();
            }
        };
        self.options.disk_work.start_if_possible(compact);
    }

    fn put_off_compaction(&self) {
        let now = self.clock.milliseconds();
        let later = now.saturating_add(COMPACTION_RETRY_MILLISECONDS);
        self.compact_after.store(later, Ordering::Relaxed);
    }

    fn compact(&self, before: Revision) -> Result<(), CompactionError> {
        let _turn = self.compaction.lock();
        if self.closing.load(Ordering::Relaxed) {
            return Err(CompactionError::Closing);
        }
        let snapshot = self.snapshot();
        let floor = before.min(snapshot.revision());
        if floor <= snapshot.floor() {
            return Ok(());
        }
        let base = compaction::write_base(&*self.disk, &snapshot, floor, &self.closing)?;
        let header = base.header;
        let before = {
            let mut writer = self.writer.lock();
            let before = writer.rebase(Arc::new(base));
            self.published.send_replace(Arc::new(writer.snapshot()));
            before
        };
        // What is left over is removed at the next opening.
        if let Err(error) = compaction::remove_old(&*self.disk, &before, &header) {
            tracing::warn!(%error, "old files could not be removed");
        }
        Ok(())
    }

    fn close(self: &Arc<Self>) {
        self.queue.lock().close();
        self.closing.store(true, Ordering::Relaxed);
        self.write_waiting();
        let _no_compaction = self.compaction.lock();
        self.writer.lock().close();
        self.lock.lock().take();
    }
}

/// A compaction that nobody asked for, until it has ended in whatever way.
struct Compacting(Arc<Inner>);

impl Drop for Compacting {
    fn drop(&mut self) {
        self.0.compacting.store(false, Ordering::Relaxed);
    }
}

fn closed() -> CommitError {
    let reason = "it has been closed".to_owned();
    CommitError::Unavailable { reason }
}

/// The writer's turn, which those who wait rely on.
struct Turn {
    inner: Arc<Inner>,
    state: TurnState,
}

#[derive(Clone, Copy)]
enum TurnState {
    Waiting,
    Running,
    Done,
}

impl Turn {
    fn run(mut self) {
        self.state = TurnState::Running;
        self.inner.write_waiting();
        self.state = TurnState::Done;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        match self.state {
            TurnState::Done => {}
            // The runtime has ended. Another may come.
            TurnState::Waiting => self.inner.queue.lock().writer_never_came(),
            // Nobody knows what a writer that panicked has left.
            TurnState::Running => self.inner.queue.lock().writer_failed(),
        }
    }
}

impl Expiring for Inner {
    fn due(&self) -> Due {
        let now = self.clock.milliseconds();
        let ends = self.ends.lock();
        match ends.first() {
            None => Due::Never,
            Some(end) if end <= now => Due::Now(ends.due(now)),
            Some(end) => Due::After(std::time::Duration::from_millis(end - now)),
        }
    }

    fn delete(
        self: Arc<Self>,
        ended: Vec<(Key, Revision)>,
    ) -> StoreFuture<'static, Result<(), ExpiryFailed>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(ended.len());
            for (key, revision) in ended {
                let condition = Condition::Unchanged(revision);
                let commit = Commit::one(key, condition, Write::Delete);
                answers.push(self.submit(commit).await.map_err(|_| ExpiryFailed)?);
            }
            for answer in answers {
                match answer.await.map_err(|_| ExpiryFailed)? {
                    // A conflict means that the key was written again in time.
                    Ok(_) | Err(CommitError::Conflict { .. }) => {}
                    Err(_) => return Err(ExpiryFailed),
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
