//! What each verb answers while something is wrong with the store.

use listwatch_server::watch_cache::CacheLimits;
use serde_json::{Value, json};

use super::{Scene, config_map};
use crate::{
    client::{Answer, names},
    faulty_store::{Faults, Following, Reading, Writing},
    running::CONFIG_MAPS,
};

const A: &str = "/api/v1/namespaces/default/configmaps/a";
const NAMESPACE_STATUS: &str = "/api/v1/namespaces/default/status";

/// The answers of everything that needs the store: reads of the newest state, and writes.
async fn answers(scene: &Scene) -> Vec<(&'static str, Answer)> {
    let server = &scene.server;
    let patch = json!({"data": {"k": "v"}});
    let labels = json!({"metadata": {"labels": {"k": "v"}}});
    vec![
        ("get", server.get(A).await),
        ("list", server.get(CONFIG_MAPS).await),
        ("page", server.get(&format!("{CONFIG_MAPS}?limit=1")).await),
        ("create", server.post(CONFIG_MAPS, &config_map("c")).await),
        ("update", server.put(A, &config_map("a")).await),
        ("patch", server.merge(A, &patch).await),
        ("status", server.merge(NAMESPACE_STATUS, &labels).await),
        ("delete", server.delete(A).await),
        ("delete collection", server.delete(CONFIG_MAPS).await),
    ]
}

/// The Status in the one event of a watch that is refused.
async fn watch_refused(scene: &Scene, query: &str) -> Value {
    let path = format!("{CONFIG_MAPS}?watch=1&{query}");
    let mut events = scene.server.watch(&path).await.rest().await;
    assert_eq!(events.len(), 1, "{query}: {events:?}");
    assert_eq!(events[0].event_type, "ERROR", "{query}");
    events.remove(0).object
}

const WATCH_LIST: &str =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[tokio::test]
async fn what_needs_a_store_that_is_gone_is_refused_at_once() {
    let scene = Scene::new().await;
    scene.store.set(Faults::GONE);
    for (verb, answer) in answers(&scene).await {
        let status = answer.refused(503);
        assert_eq!(status["reason"], "ServiceUnavailable", "{verb}");
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("the store is away"), "{verb}: {message}");
    }
    for query in ["", WATCH_LIST] {
        let refused = watch_refused(&scene, query).await;
        assert_eq!(refused["code"], 503);
        assert_eq!(refused["reason"], "ServiceUnavailable");
    }
    scene.store.heal();
    scene.readiness(200).await;
    scene.server.assert_well().await;
}

#[tokio::test]
async fn what_needs_a_store_that_is_busy_is_told_to_come_back() {
    let scene = Scene::new().await;
    scene.store.set(Faults {
        reading: Reading::Busy,
        writing: Writing::Busy,
        ..Faults::NONE
    });
    for (verb, answer) in answers(&scene).await {
        let status = answer.refused(429);
        assert_eq!(status["reason"], "TooManyRequests", "{verb}");
        assert_eq!(answer.header("retry-after"), "1", "{verb}");
    }
    let refused = watch_refused(&scene, WATCH_LIST).await;
    assert_eq!(refused["code"], 429);
    assert_eq!(refused["details"]["retryAfterSeconds"], 1);
    scene.store.heal();
    scene.server.assert_well().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_happened_is_neither_denied_nor_retried() {
    for writing in [Writing::Unsure, Writing::Silent] {
        assert_left_open(writing).await;
    }
}

async fn assert_left_open(writing: Writing) {
    let scene = Scene::new().await;
    scene.store.set(Faults {
        writing,
        ..Faults::NONE
    });
    let created = scene.server.post(CONFIG_MAPS, &config_map("c")).await;
    let deleted = scene.server.delete(A).await;
    for answer in [created, deleted] {
        let status = answer.refused(504);
        assert_eq!(status["reason"], "Timeout");
        assert_eq!(status["details"]["retryAfterSeconds"], Value::Null);
        assert_eq!(answer.header("retry-after"), "");
    }
    scene.store.heal();
    let list = scene.server.get(CONFIG_MAPS).await;
    assert_eq!(list.item_names(), ["b", "c"], "here they did happen");
}

#[tokio::test(start_paused = true)]
async fn a_consistent_read_of_a_store_that_says_nothing_waits_and_is_told_to_come_back() {
    let scene = Scene::new().await;
    scene.store.set(Faults {
        reading: Reading::Silent,
        ..Faults::NONE
    });
    let answer = scene.server.get(CONFIG_MAPS).await;
    assert_eq!(answer.refused(429)["reason"], "TooManyRequests");
    assert_eq!(answer.header("retry-after"), "1");
    // The same when the store answers and nothing comes in.
    scene.store.set(Faults {
        following: Following::Silent,
        ..Faults::NONE
    });
    let object = config_map("c");
    scene.server.post(CONFIG_MAPS, &object).await.created();
    let answer = scene.server.get(CONFIG_MAPS).await;
    assert_eq!(answer.header("retry-after"), "1");
    let status = answer.refused(429);
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("the watch cache is at "), "{message}");
    let text = scene.readiness(500).await;
    assert!(
        text.contains("[+]store ok\n[-]watch-cache failed"),
        "{text}"
    );
    scene.store.heal();
    assert_eq!(scene.readiness(200).await, "ok");
}

#[tokio::test]
async fn what_memory_has_needs_no_store() {
    let scene = Scene::new().await;
    let Scene { server, a, b, .. } = &scene;
    let first = server.get(&format!("{CONFIG_MAPS}?limit=1")).await.ok();
    let token = first["metadata"]["continue"].as_str().unwrap();
    scene.store.set(Faults::GONE);
    for (query, expected) in [
        ("resourceVersion=0".to_owned(), ["a", "b"].as_slice()),
        (format!("resourceVersion={b}"), &["a", "b"]),
        (
            format!("resourceVersion={a}&resourceVersionMatch=Exact"),
            &["a"],
        ),
        (format!("limit=1&continue={token}"), &["b"]),
    ] {
        let list = server.get(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(names(&list.ok()), expected, "{query}");
    }
    for query in [
        "resourceVersion=0".to_owned(),
        format!("resourceVersion={a}"),
    ] {
        server.get(&format!("{A}?{query}")).await.ok();
    }
    for (query, expected) in [
        (
            "resourceVersion=0".to_owned(),
            ["ADDED a", "ADDED b"].as_slice(),
        ),
        (format!("resourceVersion={a}"), &["ADDED b"]),
        (
            format!("{WATCH_LIST}&resourceVersion=0"),
            &["ADDED a", "ADDED b", "BOOKMARK"],
        ),
        (
            format!("{WATCH_LIST}&resourceVersion={b}"),
            &["ADDED a", "ADDED b", "BOOKMARK"],
        ),
    ] {
        let mut events = server
            .watch(&format!("{CONFIG_MAPS}?watch=1&{query}"))
            .await;
        events.shows(expected).await;
    }
}

#[tokio::test]
async fn what_only_the_store_remembers_is_refused_while_it_is_gone() {
    let limits = CacheLimits {
        history_events_max: 1,
        ..CacheLimits::default()
    };
    let scene = Scene::with(limits).await;
    let before = scene.a - 1;
    scene.store.set(Faults::GONE);
    let past = format!("resourceVersion={before}");
    let exact = format!("{CONFIG_MAPS}?{past}&resourceVersionMatch=Exact");
    let status = scene.server.get(&exact).await.refused(503);
    assert_eq!(status["reason"], "ServiceUnavailable");
    let refused = watch_refused(&scene, &past).await;
    assert_eq!(refused["code"], 503);
    assert_eq!(refused["reason"], "ServiceUnavailable");
    scene.store.heal();
    scene.readiness(200).await;
    assert!(scene.server.get(&exact).await.item_names().is_empty());
    let mut events = scene
        .server
        .watch(&format!("{CONFIG_MAPS}?watch=1&{past}"))
        .await;
    events.shows(&["ADDED a", "ADDED b"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_version_from_the_future_is_waited_for_and_then_refused_with_its_cause() {
    let scene = Scene::new().await;
    let future = scene.b + 5;
    let refused = |status: &Value| {
        assert_eq!(status["reason"], "Timeout");
        let cause = &status["details"]["causes"][0];
        assert_eq!(cause["reason"], "ResourceVersionTooLarge");
        assert_eq!(status["details"]["retryAfterSeconds"], 1);
    };
    for path in [A, CONFIG_MAPS] {
        let answer = scene
            .server
            .get(&format!("{path}?resourceVersion={future}"))
            .await;
        refused(&answer.refused(504));
    }
    let query = format!("{WATCH_LIST}&resourceVersion={future}");
    refused(&watch_refused(&scene, &query).await);
    // A plain watch says nothing until the version has passed.
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={future}");
    let mut events = scene.server.watch(&path).await;
    for number in scene.b + 1..=future + 1 {
        let name = format!("n{number}");
        scene
            .server
            .post(CONFIG_MAPS, &config_map(&name))
            .await
            .created();
    }
    events.shows(&[&format!("ADDED n{}", future + 1)]).await;
}
