//! Watches in a version into which a webhook converts.

use serde_json::json;

use super::{DEFINITION, Scene, V1, V2};
use crate::client::Events;

#[tokio::test]
async fn a_watch_shows_everything_in_its_version() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let path = format!("{V2}?watch=1&allowWatchBookmarks=true");
    let mut events = scene.server.watch(&path).await;
    let initial = events.shows(&["ADDED a", "BOOKMARK"]).await;
    assert_eq!(initial[0].object["spec"]["paint"]["color"], "red");
    assert_eq!(initial[1].object["apiVersion"], "ex.com/v2");
    let blue = json!({"spec": {"color": "blue"}});
    scene.server.merge(&format!("{V1}/a"), &blue).await.ok();
    scene.server.delete(&format!("{V1}/a")).await.ok();
    let changes = events.shows(&["MODIFIED a", "DELETED a"]).await;
    for change in &changes {
        assert_eq!(change.object["apiVersion"], "ex.com/v2");
        assert_eq!(change.object["spec"]["paint"]["color"], "blue");
    }
    assert!(changes[1].version() > changes[0].version());
}

#[tokio::test]
async fn fifty_watchers_cause_one_question_for_each_event() {
    let scene = Scene::new().await;
    let from = scene.store("a", "red").await;
    let from = from["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watches: Vec<Events> = Vec::new();
    for _ in 0..50 {
        let path = format!("{V2}?watch=1&resourceVersion={from}");
        watches.push(scene.server.watch(&path).await);
    }
    for (round, color) in ["blue", "green", "white"].into_iter().enumerate() {
        let change = json!({"spec": {"color": color}});
        scene.server.merge(&format!("{V1}/a"), &change).await.ok();
        for watch in &mut watches {
            let shown = watch.shows(&["MODIFIED a"]).await;
            assert_eq!(shown[0].object["spec"]["paint"]["color"], color);
        }
        assert_eq!(scene.questions(), round + 1);
    }
}

#[tokio::test]
async fn selectors_of_a_watch_look_at_its_version() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    scene.store("b", "blue").await;
    let path = format!("{V2}?watch=1&fieldSelector=spec.paint.color%3Dred");
    let mut events = scene.server.watch(&path).await;
    events.shows(&["ADDED a"]).await;
    for (name, color) in [("a", "blue"), ("b", "green"), ("b", "red")] {
        let change = json!({"spec": {"color": color}});
        scene
            .server
            .merge(&format!("{V1}/{name}"), &change)
            .await
            .ok();
    }
    let seen = events.shows(&["DELETED a", "ADDED b"]).await;
    assert_eq!(seen[0].object["spec"]["paint"]["color"], "red");
    assert_eq!(seen[1].object["spec"]["paint"]["color"], "red");
}

#[tokio::test]
async fn a_watch_that_cannot_be_converted_ends_and_says_why() {
    let scene = Scene::new().await;
    let mut events = scene.server.watch(&format!("{V2}?watch=1")).await;
    scene.store("a", "red").await;
    events.shows(&["ADDED a"]).await;
    let failure = json!({"status": "Failure", "message": "not today"});
    scene.twist(move |answer| answer["response"]["result"] = failure.clone());
    scene.store("b", "red").await;
    let last = events.rest().await;
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].event_type, "ERROR");
    let message = last[0].object["message"].as_str().unwrap();
    let why = "conversion webhook for ex.com/v1, Kind=Widget failed: not today";
    assert!(message.ends_with(why), "{message}");
    assert_eq!(last[0].object["code"], 500);
    // Whoever begins where it ended misses nothing.
    scene.untwist();
    let from = scene.get_v2("a").await.ok();
    let from = from["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("{V2}?watch=1&resourceVersion={from}");
    scene.server.watch(&path).await.shows(&["ADDED b"]).await;
}

#[tokio::test]
async fn a_webhook_that_takes_its_time_delays_nobody_else() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let mut stored = scene.server.watch(&format!("{V1}?watch=1")).await;
    stored.shows(&["ADDED a"]).await;
    let held = scene.hook.hold().await;
    let mut converted = scene.server.watch(&format!("{V2}?watch=1")).await;
    scene.store("b", "red").await;
    stored.shows(&["ADDED b"]).await;
    scene.server.get(V1).await.ok();
    scene.server.get("/api/v1/namespaces").await.ok();
    drop(held);
    converted.shows(&["ADDED a", "ADDED b"]).await;
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_a_webhook() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let _held = scene.hook.hold().await;
    let events = scene.server.watch(&format!("{V2}?watch=1")).await;
    let Scene { server, hook, .. } = scene;
    while hook.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    server.shutdown().await;
    assert!(events.rest().await.is_empty());
}

#[tokio::test]
async fn a_watch_begins_anew_when_a_webhook_comes_or_goes() {
    let scene = Scene::new().await;
    scene.store("a", "red").await;
    let mut events = scene.server.watch(&format!("{V2}?watch=1")).await;
    events.shows(&["ADDED a"]).await;
    let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    scene.server.merge(DEFINITION, &none).await.ok();
    events.rest().await;
    let shown = scene.get_v2("a").await.ok();
    assert_eq!(
        (&shown["apiVersion"], scene.questions()),
        (&json!("ex.com/v2"), 1)
    );
}
