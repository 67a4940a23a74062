//! Many who want something of the store at the same time.

use std::sync::Arc;

use listwatch_server::{
    random::Random,
    watch_cache::{Area, CacheLimits, Interest, KindCache, WatchCaches, Watcher},
};
use listwatch_store::{Commit, Condition, Key, Revision, Store, Write};

use super::thing::{THINGS, Thing, layouts};
use crate::{
    faulty_store::{Faults, FaultyStore, Following, Reading},
    running::within,
};

const READERS: usize = 100;
const SILENT: Faults = reading(Reading::Silent);
const SLOW: Faults = reading(Reading::Slow);

const fn reading(reading: Reading) -> Faults {
    let mut faults = Faults::NONE;
    faults.reading = reading;
    faults
}

async fn start(store: &Arc<FaultyStore>, limits: CacheLimits) -> (WatchCaches, KindCache) {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let caches = WatchCaches::start(store, layouts(), limits, Random::seeded(1));
    let caches = caches.await.unwrap();
    let things = caches.kind(THINGS).unwrap();
    (caches, things)
}

async fn put(store: &FaultyStore, name: &str) -> Revision {
    let key = Key::new(format!("{THINGS}default/{name}"));
    let commit = Commit::one(key, Condition::Any, Write::put(Thing::default().bytes()));
    store.commit(commit).await.unwrap()
}

/// A cache that remembers nothing of these many commits.
async fn forgetful(commits: usize) -> (Arc<FaultyStore>, WatchCaches, KindCache) {
    let store = FaultyStore::new();
    for number in 0..commits {
        put(&store, &number.to_string()).await;
    }
    let limits = CacheLimits {
        history_at_start_revisions: 0,
        ..CacheLimits::default()
    };
    let (caches, things) = start(&store, limits).await;
    (store, caches, things)
}

fn watch_all(things: &KindCache) -> Watcher {
    things.watch(&Interest::everything_in(Area::Everywhere), Revision::ZERO)
}

async fn read_all(mut watcher: Watcher, events: usize) {
    let mut seen = 0;
    while seen < events {
        seen += watcher.next(1 << 20).await.unwrap().events.len();
    }
    assert_eq!(seen, events);
}

#[tokio::test(start_paused = true)]
async fn readers_that_come_together_share_one_question() {
    let store = FaultyStore::new();
    let (_caches, things) = start(&store, CacheLimits::default()).await;
    // The first time it is learnt that this store takes its time, with one question more.
    for most in [3, 2] {
        store.set(SILENT);
        let before = store.questions();
        let read = || {
            let things = things.clone();
            tokio::spawn(async move { things.fresh().await.map(|snapshot| snapshot.revision()) })
        };
        let readers: Vec<_> = (0..READERS).map(|_| read()).collect();
        while store.questions() == before {
            tokio::task::yield_now().await;
        }
        let written = put(&store, "a").await;
        let late = read();
        tokio::task::yield_now().await;
        store.heal();
        for reader in readers {
            reader.await.unwrap().unwrap();
        }
        assert!(late.await.unwrap().unwrap() >= written);
        let asked = store.questions() - before;
        assert!(asked <= most, "{asked} questions");
    }
}

#[tokio::test(start_paused = true)]
async fn readers_that_get_no_answer_are_told_to_come_back_and_the_next_are_answered() {
    let store = FaultyStore::new();
    let (_caches, things) = start(&store, CacheLimits::default()).await;
    store.set(SILENT);
    for _ in 0..3 {
        let refused = things.fresh().await.err().map(|error| error.to_string());
        assert_eq!(
            refused.as_deref(),
            Some("the store is too slow to tell its revision")
        );
    }
    store.heal();
    let written = put(&store, "a").await;
    assert!(things.fresh().await.unwrap().revision() >= written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_always_shows_what_was_acknowledged_before_it_began() {
    let store = FaultyStore::new();
    let (_caches, things) = start(&store, CacheLimits::default()).await;
    store.set(SLOW);
    let writer = |writer: usize| {
        let (store, things) = (Arc::clone(&store), things.clone());
        tokio::spawn(async move {
            for number in 0..100 {
                let name = format!("w{writer}-{number}");
                let written = put(&store, &name).await;
                let snapshot = things.fresh().await.unwrap();
                let object = snapshot.get(Some("default"), &name);
                assert_eq!(object.map(|object| object.revision()), Some(written));
            }
        })
    };
    for writer in (0..8).map(writer).collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let asked = store.questions();
    assert!(asked < 8 * 100, "{asked} questions for 800 reads");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_revision_makes_the_store_tell_how_far_it_is() {
    let store = FaultyStore::new();
    let (_caches, things) = start(&store, CacheLimits::default()).await;
    store.set(Faults {
        following: Following::WhenAsked,
        ..Faults::NONE
    });
    let written = put(&store, "a").await;
    let before = store.questions();
    assert_eq!(things.at_least(written).await.unwrap().revision(), written);
    assert_eq!(store.questions(), before + 1);
    things.at_least(written).await.unwrap();
    assert_eq!(store.questions(), before + 1, "what is known is not asked");
    // When there is no answer, the revision may come all the same.
    store.set(reading(Reading::Gone));
    let waiting = tokio::spawn({
        let things = things.clone();
        async move { things.at_least(written.next()).await.is_ok() }
    });
    tokio::task::yield_now().await;
    put(&store, "b").await;
    assert!(waiting.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_watchers_that_resume_are_served_by_a_few_cursors() {
    const COMMITS: usize = 40;
    let (store, _caches, things) = forgetful(COMMITS).await;
    let watchers: Vec<_> = (0..1_000)
        .map(|_| tokio::spawn(read_all(watch_all(&things), COMMITS)))
        .collect();
    for watcher in watchers {
        within(watcher).await.unwrap();
    }
    let most = store.cursors_max();
    assert!(most <= 33, "{most} cursors at one time");
}

#[tokio::test(start_paused = true)]
async fn watchers_that_are_not_read_take_nobodys_turn() {
    const COMMITS: usize = 1_500;
    let (store, _caches, things) = forgetful(COMMITS).await;
    let mut stalled: Vec<_> = (0..40).map(|_| watch_all(&things)).collect();
    for watcher in &mut stalled {
        assert_eq!(watcher.next(1).await.unwrap().events.len(), 1);
    }
    within(read_all(watch_all(&things), COMMITS)).await;
    assert!(store.cursors_max() <= 33);
    for watcher in stalled {
        within(read_all(watcher, COMMITS - 1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_turn_that_is_dropped_keeps_its_place() {
    const COMMITS: usize = 3;
    let (store, _caches, things) = forgetful(COMMITS).await;
    store.set(Faults {
        following: Following::Silent,
        ..Faults::NONE
    });
    let mut waiting: Vec<_> = (0..40).map(|_| watch_all(&things)).collect();
    for watcher in &mut waiting {
        let wait = std::time::Duration::from_millis(1);
        let read = tokio::time::timeout(wait, watcher.next(1 << 20)).await;
        assert!(read.is_err(), "the store says nothing");
    }
    store.heal();
    for watcher in waiting {
        within(read_all(watcher, COMMITS)).await;
    }
}
