//! A store that fails: writes are refused, everything else goes on.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use listwatch_server::Settings;
use listwatch_store::{
    Changes, ChangesError, Commit, CommitError, Follow, MemoryStore, Page, Read, ReadError,
    Revision, Store, StoreFuture,
};
use serde_json::json;

use crate::running::{CONFIG_MAPS, TestServer, start_on};

/// A store in memory whose disk may be full, or gone.
#[derive(Default)]
struct FailingStore {
    inner: MemoryStore,
    is_full: AtomicBool,
    is_gone: AtomicBool,
}

impl Store for FailingStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        if self.is_gone.load(Ordering::Relaxed) {
            let reason = "the disk is gone".to_owned();
            return Box::pin(async { Err(ReadError::Unavailable { reason }) });
        }
        self.inner.read(read)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        if self.is_full.load(Ordering::Relaxed) {
            let reason = "no space left".to_owned();
            return Box::pin(async { Err(CommitError::Full { reason }) });
        }
        self.inner.commit(commit)
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        self.inner.changes(follow)
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        self.inner.compact(before)
    }
}

async fn start() -> (TestServer, Arc<FailingStore>) {
    let store = Arc::new(FailingStore::default());
    let server = start_on(Arc::clone(&store) as Arc<dyn Store>, Settings::default()).await;
    (server, store)
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_nothing_else() {
    let (server, store) = start().await;
    let object = json!({"metadata": {"name": "a"}});
    let created = server.post(CONFIG_MAPS, &object).await.created();
    let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    events.shows(&["ADDED a"]).await;
    store.is_full.store(true, Ordering::Relaxed);
    let item = format!("{CONFIG_MAPS}/a");
    let other = json!({"metadata": {"name": "b"}});
    let patch = json!({"data": {"k": "v"}});
    for answer in [
        server.post(CONFIG_MAPS, &other).await,
        server.merge(&item, &patch).await,
        server.delete(&item).await,
    ] {
        let status = answer.refused(503);
        assert_eq!(status["reason"], "ServiceUnavailable");
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("no space left"), "{message}");
    }
    assert_eq!(server.get(&item).await.ok(), created);
    store.is_full.store(false, Ordering::Relaxed);
    server.merge(&item, &patch).await.ok();
    events.shows(&["MODIFIED a"]).await;
    server.assert_well().await;
}

#[tokio::test]
async fn a_store_that_does_not_answer_makes_the_server_unready() {
    let (server, store) = start().await;
    store.is_gone.store(true, Ordering::Relaxed);
    let answer = server.get("/readyz").await;
    assert_eq!(answer.code, 500);
    let text = answer.text();
    assert!(
        text.contains("[-]store failed: reason withheld\n"),
        "{text}"
    );
    assert!(text.ends_with("readyz check failed\n"), "{text}");
    assert_eq!(server.get("/readyz/store").await.code, 500);
    assert_eq!(server.get("/readyz/ping").await.code, 200);
    assert_eq!(server.get("/readyz?exclude=store").await.code, 200);
    let stale = server
        .get(&format!("{CONFIG_MAPS}?resourceVersion=0"))
        .await;
    stale.ok();
    store.is_gone.store(false, Ordering::Relaxed);
    assert_eq!(server.get("/readyz").await.text(), "ok");
    server.assert_well().await;
}
