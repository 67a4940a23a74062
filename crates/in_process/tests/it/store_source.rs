//! A store as a source.

use std::{sync::Arc, time::Duration};

use listwatch::{
    ListerWatcher, RawEvent, SourceError, Version,
    lister_watcher::{WatchOptions, WatchStart},
};
use listwatch_in_process::StoreSource;
use listwatch_store::{Commit, Condition, Key, MemoryStore, Put, Revision, Store, Write};

use crate::{list_all, read, watch};

async fn put(store: &MemoryStore, key: impl AsRef<[u8]>, value: &'static str) -> Revision {
    let write = Write::Put(Put {
        value: value.into(),
        lifetime: None,
    });
    let commit = Commit::one(Key::new(key), Condition::Any, write);
    store.commit(commit).await.unwrap()
}

async fn delete(store: &MemoryStore, key: &str) -> Revision {
    let commit = Commit::one(Key::new(key), Condition::Any, Write::Delete);
    store.commit(commit).await.unwrap()
}

#[tokio::test]
async fn all_pages_of_a_list_are_at_one_revision() {
    let store = Arc::new(MemoryStore::new());
    for number in 0..7 {
        put(&store, format!("/jobs/a/{number}"), "{}").await;
    }
    let last = put(&store, "/other/x", "{}").await;
    let source = StoreSource::new(store, "/jobs/");
    let (objects, version) = list_all(&source, Some(3)).await;
    let keys: Vec<_> = objects.iter().map(|object| object.key.as_str()).collect();
    assert_eq!(keys, ["a/0", "a/1", "a/2", "a/3", "a/4", "a/5", "a/6"]);
    assert_eq!(version, Version::Number(last.get()));
}

#[tokio::test]
async fn a_deletion_carries_the_last_value_and_its_own_revision() {
    let store = Arc::new(MemoryStore::new());
    let before = put(&store, "/jobs/a", "one").await;
    put(&store, "/other/x", "not ours").await;
    let deleted = delete(&store, "/jobs/a").await;
    let source = StoreSource::new(Arc::clone(&store) as _, "/jobs/");
    let start = WatchStart::After(Version::Number(before.get()));
    let mut stream = watch(&source, start).await;
    let events = stream.next().await.unwrap().unwrap();
    let RawEvent::Deleted(object) = &events[0] else {
        panic!("not a deletion: {events:?}");
    };
    assert_eq!(object.version, Version::Number(deleted.get()));
    assert_eq!(object.body.as_ref(), b"one");

    put(&store, "/jobs/a", "two").await;
    put(&store, "/jobs/a", "three").await;
    assert_eq!(read(&mut *stream, 2).await, ["added a", "modified a"]);
}

#[tokio::test]
async fn a_key_that_is_no_text_costs_only_itself() {
    let store = Arc::new(MemoryStore::new());
    let begin = put(&store, "/jobs/a", "{}").await;
    put(&store, b"/jobs/\xff", "{}").await;
    put(&store, "/jobs/b", "{}").await;
    let source = StoreSource::new(store, "/jobs/");
    let start = WatchStart::After(Version::Number(begin.get()));
    let told = read(&mut *watch(&source, start).await, 2).await;
    assert!(told[0].starts_with("unreadable: the key"), "{told:?}");
    assert_eq!(told[1], "added b");
}

#[tokio::test]
async fn a_revision_that_was_compacted_is_expired() {
    let store = Arc::new(MemoryStore::new());
    let old = put(&store, "/jobs/a", "one").await;
    put(&store, "/jobs/a", "two").await;
    let new = put(&store, "/jobs/a", "three").await;
    store.compact(new).await.unwrap();
    let source = StoreSource::new(store, "/jobs/");
    let options = WatchOptions {
        start: WatchStart::After(Version::Number(old.get())),
        timeout: Duration::from_secs(300),
    };
    let error = match source.watch(&options).await {
        Ok(mut stream) => stream.next().await.unwrap().unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, SourceError::Expired { .. }), "{error}");
}
