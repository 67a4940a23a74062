//! Readers, watchers and writers at the same time, on several threads.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use listwatch_server::{
    random::Random,
    watch_cache::{Area, CacheLimits, Event, Interest, KindCache, WatchCaches},
};
use listwatch_store::{Commit, Condition, Key, MemoryStore, Revision, Store, Write};

use super::thing::{THINGS, Thing, layouts};

const WRITERS: u64 = 4;
const COMMITS: u64 = 300;

async fn start(store: &Arc<MemoryStore>, limits: CacheLimits) -> (WatchCaches, KindCache) {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let caches = WatchCaches::start(store, layouts(), limits, Random::seeded(1))
        .await
        .unwrap();
    let things = caches.kind(THINGS).unwrap();
    (caches, things)
}

async fn put(store: &MemoryStore, name: &str) -> Revision {
    let key = Key::new(format!("{THINGS}default/{name}"));
    let commit = Commit::one(key, Condition::Any, Write::put(Thing::default().bytes()));
    store.commit(commit).await.unwrap()
}

async fn write(store: Arc<MemoryStore>, writer: u64) {
    for number in 0..COMMITS {
        put(&store, &format!("w{writer}-{}", number % 50)).await;
        tokio::task::yield_now().await;
    }
}

/// Follows from the beginning and tells every revision it saw.
async fn follow(things: KindCache) -> Vec<u64> {
    let everything = Interest::everything_in(Area::Everywhere);
    let mut watcher = things.watch(&everything, Revision::ZERO);
    let mut seen = Vec::new();
    while seen.len() < (WRITERS * COMMITS) as usize {
        let batch = watcher.next(4_096).await.unwrap();
        seen.extend(
            batch
                .events
                .iter()
                .map(|event| event.event.revision().get()),
        );
    }
    seen
}

/// Takes snapshots while others write: each holds exactly what its revision says.
async fn observe(things: KindCache) {
    let everything = Interest::everything_in(Area::Everywhere);
    let mut last = Revision::ZERO;
    while last.get() < WRITERS * COMMITS {
        let snapshot = things.fresh().await.unwrap();
        assert!(snapshot.revision() >= last);
        last = snapshot.revision();
        let states = |snapshot: &listwatch_server::watch_cache::Snapshot| {
            let objects = snapshot.select(&everything, b"");
            let states = objects.map(|object| (object.key().clone(), object.revision()));
            states.collect::<BTreeMap<_, _>>()
        };
        let again = things.exactly(last).await.unwrap();
        assert_eq!(states(&snapshot), states(&again));
        assert!(states(&snapshot).values().all(|revision| *revision <= last));
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_missed_or_torn_while_many_write_and_read() {
    let limits = CacheLimits {
        history_events_max: 200,
        group_log_events_max: 16,
        ..CacheLimits::default()
    };
    let store = Arc::new(MemoryStore::new());
    let (_caches, things) = start(&store, limits).await;
    let observers: Vec<_> = (0..2)
        .map(|_| tokio::spawn(observe(things.clone())))
        .collect();
    let followers: Vec<_> = (0..16)
        .map(|_| tokio::spawn(follow(things.clone())))
        .collect();
    let writers = (0..WRITERS).map(|writer| tokio::spawn(write(Arc::clone(&store), writer)));
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let expected: Vec<u64> = (1..=WRITERS * COMMITS).collect();
    for follower in followers {
        assert_eq!(follower.await.unwrap(), expected);
    }
    for observer in observers {
        observer.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_is_not_read_keeps_no_event_alive() {
    let limits = CacheLimits {
        history_events_max: 4,
        ..CacheLimits::default()
    };
    let store = Arc::new(MemoryStore::new());
    let (_caches, things) = start(&store, limits).await;
    let everything = Interest::everything_in(Area::Everywhere);
    let mut stalled = things.watch(&everything, Revision::ZERO);
    let mut reader = things.watch(&everything, Revision::ZERO);
    put(&store, "first").await;
    let first: Weak<Event> = {
        let batch = reader.next(1).await.unwrap();
        Arc::downgrade(&batch.events[0].event)
    };
    assert!(first.upgrade().is_some());
    for number in 0..4 {
        put(&store, &format!("later-{number}")).await;
    }
    things.fresh().await.unwrap();
    assert!(first.upgrade().is_none());
    let batch = stalled.next(1 << 20).await.unwrap();
    assert_eq!(batch.events.len(), 5);
}
