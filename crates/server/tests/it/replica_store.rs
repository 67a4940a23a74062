//! One server's view of a store that it shares with others: its calls are counted, what the others
//! do can be kept from it for a while, and they can be faster at the last moment.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use listwatch_server::Settings;
use listwatch_store::{
    ChangeBatch, Changes, ChangesError, Commit, CommitError, Condition, Entry, Follow, Key,
    KeyRange, MemoryStore, Page, Read, ReadError, Revision, Store, StoreFuture, Write,
};
use tokio::sync::watch;

use crate::running::{TestServer, start_on};

/// Whether a server hears of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Passed,
    HeldBack,
}

/// What one server sees of the shared store.
pub(crate) struct ReplicaStore {
    shared: Arc<MemoryStore>,
    calls: AtomicUsize,
    news: watch::Sender<News>,
    rival: Mutex<Option<Rival>>,
}

/// Somebody who is faster.
struct Rival {
    /// Than whoever writes a key that begins so.
    prefix: &'static str,
    commit: Commit,
}

impl ReplicaStore {
    /// A view of a store that others may have too.
    pub(crate) fn new(shared: &Arc<MemoryStore>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            calls: AtomicUsize::new(0),
            news: watch::Sender::new(News::Passed),
            rival: Mutex::default(),
        })
    }

    /// A server with this view.
    pub(crate) async fn serve(self: &Arc<Self>, settings: Settings) -> TestServer {
        start_on(Arc::clone(self) as Arc<dyn Store>, settings).await
    }

    /// Keeps changes from the server: its memory stays as it is.
    pub(crate) fn hold_back(&self) {
        self.news.send_replace(News::HeldBack);
    }

    /// Lets the server hear of everything again.
    pub(crate) fn pass_on(&self) {
        self.news.send_replace(News::Passed);
    }

    /// Has somebody else commit this right before the server's next write under a prefix.
    pub(crate) fn overtake(&self, prefix: &'static str, commit: Commit) {
        *self.rival.lock().unwrap() = Some(Rival { prefix, commit });
    }

    /// Whether somebody still waits to be faster.
    pub(crate) fn has_rival(&self) -> bool {
        self.rival.lock().unwrap().is_some()
    }

    async fn let_the_rival_pass(&self, commit: &Commit) {
        let is_overtaken = |rival: &mut Rival| {
            let prefix = rival.prefix.as_bytes();
            let mut operations = commit.operations.iter();
            operations.any(|one| one.key.as_bytes().starts_with(prefix))
        };
        let rival = self.rival.lock().unwrap().take_if(is_overtaken);
        if let Some(rival) = rival {
            self.shared.commit(rival.commit).await.unwrap();
        }
    }

    /// How many reads and commits there have been since this was asked last.
    pub(crate) fn take_calls(&self) -> usize {
        self.calls.swap(0, Ordering::Relaxed)
    }
}

impl Store for ReplicaStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.shared.read(read)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            self.let_the_rival_pass(&commit).await;
            self.shared.commit(commit).await
        })
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        Box::pin(async move {
            let inner = self.shared.changes(follow).await?;
            let news = self.news.subscribe();
            Ok(Box::new(HeldChanges { inner, news }) as Box<dyn Changes>)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        self.shared.compact(before)
    }
}

struct HeldChanges {
    inner: Box<dyn Changes>,
    news: watch::Receiver<News>,
}

impl Changes for HeldChanges {
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>> {
        Box::pin(async move {
            loop {
                let news = *self.news.borrow_and_update();
                match news {
                    News::HeldBack => drop(self.news.changed().await),
                    News::Passed => tokio::select! {
                        biased;
                        _ = self.news.changed() => {}
                        batch = self.inner.next() => return batch,
                    },
                }
            }
        })
    }
}

/// Writes a value past all servers, as another tool would. Tells its resourceVersion.
pub(crate) async fn put(store: &dyn Store, key: &str, value: impl AsRef<[u8]>) -> u64 {
    let write = Write::put(value.as_ref().to_vec());
    let commit = Commit::one(Key::new(key), Condition::Any, write);
    store.commit(commit).await.unwrap().get()
}

/// What stands under a key.
pub(crate) async fn entry(store: &dyn Store, key: &str) -> Option<Entry> {
    let read = Read::newest(KeyRange::single(key));
    let page = store.read(read).await.unwrap();
    page.entries.into_iter().next()
}
