//! What goes on from memory, who is told that it is old, and how it ends.

use std::sync::Arc;

use listwatch_server::Settings;
use listwatch_store::Store;
use serde_json::json;

use super::{Scene, create};
use crate::{
    faulty_store::{Faults, Following, Reading, Writing},
    running::{CONFIG_MAPS, start_on, within},
};

const FOLLOWING: &str = "listwatch_watch_cache_following";
const STALE_SECONDS: &str = "listwatch_watch_cache_stale_seconds";
const FAILURES: &str = "listwatch_watch_cache_follow_failures_total";
const RELOADS: &str = "listwatch_watch_cache_reloads_total";

const NOT_FOLLOWED: Faults = Faults {
    reading: Reading::Well,
    writing: Writing::Well,
    following: Following::Gone,
};

#[tokio::test]
async fn a_server_without_its_store_is_alive_and_not_ready_and_says_since_when() {
    let scene = Scene::new().await;
    assert_eq!(scene.metric(FOLLOWING).await, 1.0);
    assert_eq!(scene.metric(STALE_SECONDS).await, 0.0);
    assert_eq!(scene.metric(FAILURES).await, 0.0);
    scene.store.set(Faults::GONE);
    let text = scene.readiness(500).await;
    let expected = "[-]store failed: reason withheld\n[-]watch-cache failed: reason withheld\n";
    assert!(text.contains(expected), "{text}");
    assert_eq!(scene.server.get("/readyz/watch-cache").await.code, 500);
    assert_eq!(scene.server.get("/livez").await.text(), "ok");
    assert_eq!(scene.metric(FOLLOWING).await, 0.0);
    assert!(scene.metric(FAILURES).await >= 1.0);
    within(async {
        while scene.metric(STALE_SECONDS).await == 0.0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    scene.store.heal();
    assert_eq!(scene.readiness(200).await, "ok");
    let verbose = scene.server.get("/readyz?verbose").await.text();
    assert!(verbose.contains("[+]watch-cache ok\n"), "{verbose}");
    assert_eq!(scene.metric(FOLLOWING).await, 1.0);
    assert_eq!(scene.metric(STALE_SECONDS).await, 0.0);
    assert_eq!(scene.metric(RELOADS).await, 0.0);
}

#[tokio::test]
async fn open_watches_go_on_when_the_store_comes_back_and_miss_nothing() {
    let scene = Scene::new().await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", scene.b);
    let mut events = scene.server.watch(&path).await;
    scene.store.set(NOT_FOLLOWED);
    create(&scene.server, "c").await;
    let text = scene.readiness(500).await;
    assert!(
        text.contains("[+]store ok\n[-]watch-cache failed"),
        "{text}"
    );
    let stale = scene
        .server
        .get(&format!("{CONFIG_MAPS}?resourceVersion=0"))
        .await;
    assert_eq!(stale.item_names(), ["a", "b"]);
    let patch = json!({"data": {"k": "v"}});
    scene
        .server
        .merge(&format!("{CONFIG_MAPS}/a"), &patch)
        .await
        .ok();
    scene.server.delete(&format!("{CONFIG_MAPS}/b")).await.ok();
    scene.store.heal();
    events.shows(&["ADDED c", "MODIFIED a", "DELETED b"]).await;
    assert_eq!(scene.readiness(200).await, "ok");
    assert_eq!(scene.server.get(CONFIG_MAPS).await.item_names(), ["a", "c"]);
}

#[tokio::test]
async fn a_server_that_was_just_started_has_the_recent_past_in_memory() {
    let scene = Scene::new().await;
    let store = Arc::clone(&scene.store) as Arc<dyn Store>;
    let again = start_on(store, Settings::default()).await;
    scene.store.set(Faults::GONE);
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", scene.a);
    let mut watches = Vec::new();
    for _ in 0..50 {
        let mut events = again.watch(&path).await;
        events.shows(&["ADDED b"]).await;
        watches.push(events);
    }
    assert_eq!(scene.store.cursors_max(), 2, "one for each server");
    let exact = format!("resourceVersion={}&resourceVersionMatch=Exact", scene.a);
    let list = again.get(&format!("{CONFIG_MAPS}?{exact}")).await;
    assert_eq!(list.item_names(), ["a"]);
}

#[tokio::test]
async fn what_the_store_forgot_while_it_was_away_is_made_up_by_the_difference() {
    let scene = Scene::new().await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", scene.b);
    let mut events = scene.server.watch(&path).await;
    scene.store.set(NOT_FOLLOWED);
    scene.readiness(500).await;
    create(&scene.server, "c").await;
    scene.server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    let last = create(&scene.server, "d").await;
    scene.compact(last).await;
    scene.store.heal();
    // The deletion is dated by the first revision that was missed, which is that of `c`.
    let told = events.shows(&["ADDED c", "DELETED a", "ADDED d"]).await;
    let versions: Vec<u64> = told.iter().map(|event| event.version()).collect();
    assert!(versions.is_sorted(), "{versions:?}");
    assert_eq!(scene.readiness(200).await, "ok");
    assert_eq!(scene.metric(RELOADS).await, 1.0);
    create(&scene.server, "e").await;
    events.shows(&["ADDED e"]).await;
}

#[tokio::test]
async fn no_bookmark_goes_back_behind_a_difference_that_is_told_by_halves() {
    let scene = Scene::new().await;
    let query = "watch=1&allowWatchBookmarks=true&timeoutSeconds=1";
    let path = format!("{CONFIG_MAPS}?{query}&resourceVersion={}", scene.a);
    create_node(&scene, "before").await;
    scene.server.has_settled().await;
    let events = scene.server.watch(&path).await;
    scene.store.set(NOT_FOLLOWED);
    scene.readiness(500).await;
    let last = create(&scene.server, "c").await;
    create(&scene.server, "d").await;
    create_node(&scene, "after").await;
    scene.compact(last).await;
    // What is read after the config maps cannot be, so that nobody knows how far all have come.
    scene.store.set(Faults {
        reading: Reading::GoneFor("/registry/pods/"),
        ..Faults::NONE
    });
    let told = events.rest().await;
    let shown: Vec<String> = told.iter().map(|event| event.shown()).collect();
    assert!(shown.contains(&"ADDED d".to_owned()), "{shown:?}");
    let versions: Vec<u64> = told.iter().map(|event| event.version()).collect();
    assert!(versions.is_sorted(), "{shown:?} {versions:?}");
}

async fn create_node(scene: &Scene, name: &str) {
    let node = json!({"metadata": {"name": name}});
    scene.server.post("/api/v1/nodes", &node).await.created();
}

#[tokio::test]
async fn a_store_that_comes_back_with_less_than_it_had_is_not_followed() {
    let scene = Scene::new().await;
    scene.store.set(NOT_FOLLOWED);
    scene.readiness(500).await;
    scene.store.set(Faults {
        reading: Reading::Restored,
        ..Faults::NONE
    });
    let failures = scene.metric(FAILURES).await;
    within(async {
        while scene.metric(FAILURES).await < failures + 2.0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    scene.readiness(500).await;
    assert_eq!(scene.metric(FOLLOWING).await, 0.0);
    let old = scene
        .server
        .get(&format!("{CONFIG_MAPS}?resourceVersion=0"))
        .await;
    assert_eq!(old.item_names(), ["a", "b"]);
    scene.store.heal();
    scene.readiness(200).await;
}
