//! A store that falls silent when nobody reads.

use std::time::Duration;

use listwatch_server::watch_cache::FeedState;

use super::reload::Scene;
use crate::faulty_store::{Faults, Following, Reading};

const SLOW: Faults = Faults {
    reading: Reading::Slow,
    ..Faults::NONE
};

/// A scene whose store is known to take its time.
async fn far_away() -> Scene {
    let scene = Scene::new().await;
    scene.store.set(SLOW);
    scene.put_thing("a").await;
    scene.things.fresh().await.unwrap();
    scene
}

async fn some_time() {
    tokio::time::sleep(Duration::from_secs(15)).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_answers_nobody_is_noticed_though_nobody_asks() {
    let scene = far_away().await;
    some_time().await;
    assert_eq!(scene.caches.feed().state, FeedState::Following);
    scene.store.set(Faults {
        reading: Reading::Silent,
        ..Faults::NONE
    });
    some_time().await;
    let FeedState::Stale { reason, .. } = scene.caches.feed().state else {
        panic!("it is stale");
    };
    assert_eq!(&*reason, "the store is too slow to tell its revision");
    scene.store.set(SLOW);
    scene.follows().await;
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_brings_nothing_is_noticed_though_nobody_asks() {
    let scene = far_away().await;
    scene.store.set(Faults {
        following: Following::Silent,
        ..SLOW
    });
    some_time().await;
    assert_eq!(
        scene.caches.feed().state,
        FeedState::Following,
        "nothing is missing"
    );
    scene.put_thing("b").await;
    some_time().await;
    let FeedState::Stale { reason, .. } = scene.caches.feed().state else {
        panic!("it is stale");
    };
    assert_eq!(&*reason, "the watch cache is at 1 and the store at 2");
    scene.store.set(SLOW);
    scene.follows().await;
    assert_eq!(scene.things.latest().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_at_hand_is_not_asked_when_nobody_wants_to_know() {
    let scene = Scene::new().await;
    let before = scene.store.questions();
    some_time().await;
    assert_eq!(scene.store.questions(), before);
}
