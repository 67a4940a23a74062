//! Reading everything anew after the store has forgotten what was missed, also when that fails.

use std::sync::Arc;

use listwatch_server::{
    random::Random,
    watch_cache::{Area, CacheLimits, FeedState, Interest, KindCache, WatchCaches, Watcher},
};
use listwatch_store::{Commit, Condition, Key, Revision, Store, Write};

use super::thing::{OTHERS, THINGS, Thing, layouts};
use crate::{
    faulty_store::{Faults, FaultyStore, Following, Reading},
    running::within,
};

const NOT_FOLLOWED: Faults = Faults {
    following: Following::Gone,
    ..Faults::NONE
};

pub(super) struct Scene {
    pub(super) store: Arc<FaultyStore>,
    pub(super) caches: WatchCaches,
    pub(super) things: KindCache,
    others: KindCache,
}

impl Scene {
    pub(super) async fn new() -> Self {
        let store = FaultyStore::new();
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let limits = CacheLimits::default();
        let caches = WatchCaches::start(shared, layouts(), limits, Random::seeded(1));
        let caches = caches.await.unwrap();
        Self {
            store,
            things: caches.kind(THINGS).unwrap(),
            others: caches.kind(OTHERS).unwrap(),
            caches,
        }
    }

    async fn write(&self, key: &str, write: Write) -> Revision {
        let key = Key::new(key);
        let commit = Commit::one(key, Condition::Any, write);
        self.store.commit(commit).await.unwrap()
    }

    pub(super) async fn put_thing(&self, name: &str) -> Revision {
        let key = format!("{THINGS}default/{name}");
        self.write(&key, Write::put(Thing::default().bytes())).await
    }

    async fn delete_thing(&self, name: &str) -> Revision {
        self.write(&format!("{THINGS}default/{name}"), Write::Delete)
            .await
    }

    async fn put_other(&self, name: &str) -> Revision {
        let key = format!("{OTHERS}{name}");
        self.write(&key, Write::put(Thing::default().bytes())).await
    }

    /// Waits until the store has been tried so often in vain.
    async fn fails(&self, times: u64) {
        let failures = self.caches.feed().failures + times;
        within(async {
            while self.caches.feed().failures < failures {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
        .await;
    }

    pub(super) async fn follows(&self) {
        within(async {
            while self.caches.feed().state != FeedState::Following {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

fn watch(cache: &KindCache, after: Revision) -> Watcher {
    cache.watch(&Interest::everything_in(Area::Everywhere), after)
}

/// What comes until nothing does: `ADDED a@1`.
async fn told(watcher: &mut Watcher) -> Vec<String> {
    let mut told = Vec::new();
    let moment = std::time::Duration::from_millis(1);
    while let Ok(batch) = tokio::time::timeout(moment, watcher.next(1)).await {
        told.extend(batch.unwrap().events.iter().map(|event| {
            let name = event.event.content(event.event_type).name();
            format!("{} {name}@{}", event.event_type, event.event.revision())
        }));
    }
    told
}

#[tokio::test(start_paused = true)]
async fn a_reload_that_fails_halfway_is_repeated_without_a_gap_or_a_repetition() {
    let scene = Scene::new().await;
    scene.put_thing("a").await;
    scene.put_thing("b").await;
    let start = scene.put_other("x").await;
    scene.things.fresh().await.unwrap();
    let mut things = watch(&scene.things, start);
    let mut others = watch(&scene.others, start);
    scene.store.set(NOT_FOLLOWED);
    scene.fails(1).await;
    scene.put_other("y").await;
    scene.delete_thing("a").await;
    let last = scene.put_thing("c").await;
    scene.store.compact(last).await.unwrap();

    // The others are read before the things, whose keys are greater.
    scene.store.set(Faults {
        reading: Reading::GoneFor(THINGS),
        ..Faults::NONE
    });
    scene.fails(2).await;
    assert_eq!(told(&mut others).await, ["ADDED y@4"]);
    assert_eq!(told(&mut things).await, [""; 0]);
    assert_eq!(things.position(), start, "nothing is claimed too early");
    assert_eq!(scene.caches.revision(), start);
    assert_eq!(scene.caches.feed().reloads, 0);

    // More happens, and is forgotten, before it is tried again.
    scene.put_other("z").await;
    let newest = scene.delete_thing("b").await;
    scene.store.compact(newest).await.unwrap();
    scene.store.heal();
    scene.follows().await;
    assert_eq!(told(&mut others).await, ["ADDED z@7"]);
    assert_eq!(
        told(&mut things).await,
        ["DELETED a@4", "DELETED b@4", "ADDED c@6"]
    );
    assert_eq!((others.position(), things.position()), (newest, newest));
    assert_eq!(scene.caches.feed().reloads, 1);
    let next = scene.put_thing("d").await;
    scene.things.fresh().await.unwrap();
    assert_eq!(told(&mut things).await, [format!("ADDED d@{next}")]);
}

#[tokio::test(start_paused = true)]
async fn a_start_ends_on_a_store_that_forgets_faster_than_it_is_read() {
    let scene = Scene::new().await;
    for number in 0..20 {
        scene.put_thing(&number.to_string()).await;
    }
    scene.store.set(Faults {
        reading: Reading::Forgetful,
        ..Faults::NONE
    });
    let shared = Arc::clone(&scene.store) as Arc<dyn Store>;
    let limits = CacheLimits::default();
    let caches = WatchCaches::start(shared, layouts(), limits, Random::seeded(1));
    let caches = within(caches).await.unwrap();
    let things = caches.kind(THINGS).unwrap();
    assert_eq!(things.latest().len(), 20);
    let next = scene.put_thing("next").await;
    assert_eq!(things.at_least(next).await.unwrap().len(), 21);
}

#[tokio::test(start_paused = true)]
async fn no_bookmark_tells_of_a_place_in_the_middle_of_what_was_missed() {
    let scene = Scene::new().await;
    scene.put_thing("a").await;
    let start = scene.put_thing("b").await;
    scene.things.fresh().await.unwrap();
    let mut watcher = watch(&scene.things, start);
    scene.store.set(NOT_FOLLOWED);
    scene.fails(1).await;
    scene.put_thing("c").await;
    scene.put_thing("d").await;
    scene.put_thing("e").await;
    let newest = scene.delete_thing("a").await;
    scene.store.compact(newest).await.unwrap();
    scene.store.heal();
    scene.follows().await;
    // The deletion is told first, so that the state is one that there never was, until the end.
    for expected in [start, start, newest] {
        watcher.next(1).await.unwrap();
        assert_eq!(watcher.position(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn kinds_come_and_go_while_the_store_is_away() {
    let scene = Scene::new().await;
    scene.put_thing("a").await;
    scene.things.fresh().await.unwrap();
    scene.store.set(Faults::GONE);
    scene.fails(1).await;
    let mut watcher = watch(&scene.things, scene.caches.revision());
    within(scene.caches.remove(THINGS)).await.unwrap();
    assert!(within(watcher.next(1)).await.is_err());
    let layout = || layouts().remove(0);
    let refused = within(scene.caches.add(layout())).await.err();
    let reason = refused.map(|error| error.to_string());
    assert_eq!(reason.as_deref(), Some("the store is away"));
    scene.store.heal();
    scene.follows().await;
    let things = scene.caches.add(layout()).await.unwrap();
    assert_eq!(things.latest().len(), 1);
}
