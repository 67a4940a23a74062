//! What a watch tells: which events, in which order, with which content.

mod bookmarks;
mod pace;
mod selection;

use serde_json::{Value, json};

use crate::{
    client::{Event, version},
    running::{CONFIG_MAPS, TestServer, start_server},
};

async fn create(server: &TestServer, name: &str) -> Value {
    let object = json!({"metadata": {"name": name}, "data": {"k": "0"}});
    server.post(CONFIG_MAPS, &object).await.created()
}

async fn change(server: &TestServer, name: &str, value: &str) -> Value {
    let patch = json!({"data": {"k": value}});
    let path = format!("{CONFIG_MAPS}/{name}");
    server.merge(&path, &patch).await.ok()
}

/// A watch of everything that happens from now on.
fn from_now(server: &TestServer) -> impl Future<Output = crate::client::Events> {
    let path =
        format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    let client = (*server).clone();
    async move { client.watch(&path).await }
}

#[tokio::test]
async fn a_deletion_shows_the_last_state_with_the_version_of_the_deletion() {
    let server = start_server().await;
    create(&server, "a").await;
    let mut last = change(&server, "a", "last").await;
    let mut events = from_now(&server).await;
    server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    let next = version(&create(&server, "b").await);

    let gone = events.shows(&["DELETED a"]).await.remove(0);
    assert!(version(&last) < gone.version() && gone.version() < next);
    last["metadata"]["resourceVersion"] = json!(gone.version().to_string());
    assert_eq!(gone.object, last);
}

#[tokio::test]
async fn an_update_that_changes_nothing_is_no_event_and_no_version() {
    let server = start_server().await;
    let created = create(&server, "a").await;
    let mut events = from_now(&server).await;
    let item = format!("{CONFIG_MAPS}/a");
    let same = server.put(&item, &created).await.ok();
    assert_eq!(same, created);
    let unversioned = json!({"metadata": {"name": "a"}, "data": {"k": "0"}});
    assert_eq!(server.put(&item, &unversioned).await.ok(), created);
    assert_eq!(change(&server, "a", "0").await, created);
    change(&server, "a", "1").await;
    let told = events.shows(&["MODIFIED a"]).await;
    assert_eq!(told[0].version(), version(&created) + 1);
}

#[tokio::test]
async fn a_deleted_object_that_comes_again_is_added_again() {
    let server = start_server().await;
    let mut events = from_now(&server).await;
    for _ in 0..2 {
        create(&server, "a").await;
        server.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    }
    let told = events
        .shows(&["ADDED a", "DELETED a", "ADDED a", "DELETED a"])
        .await;
    let uid = |event: &Event| event.object["metadata"]["uid"].clone();
    assert_eq!(uid(&told[0]), uid(&told[1]));
    assert_ne!(uid(&told[1]), uid(&told[2]));
    let versions: Vec<u64> = told.iter().map(Event::version).collect();
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
}

#[tokio::test]
async fn a_watch_tells_of_its_own_kind_and_namespace_only() {
    let server = start_server().await;
    let mut events = from_now(&server).await;
    let object = json!({"metadata": {"name": "other"}});
    let secrets = "/api/v1/namespaces/default/secrets";
    server.post(secrets, &object).await.created();
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    server.post(elsewhere, &object).await.created();
    create(&server, "a").await;
    events.shows(&["ADDED a"]).await;
}

#[tokio::test]
async fn a_watch_of_all_namespaces_tells_of_each() {
    let server = start_server().await;
    let mut events = server.watch("/api/v1/configmaps?watch=1").await;
    for namespace in ["kube-system", "default"] {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = json!({"metadata": {"name": "a"}});
        server.post(&path, &object).await.created();
        let told = events.shows(&["ADDED a"]).await;
        assert_eq!(told[0].object["metadata"]["namespace"], namespace);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_watchers_see_the_same_events_in_the_same_order() {
    const WRITERS: usize = 4;
    const WRITES: usize = 20;
    let server = start_server().await;
    let mut watches = Vec::new();
    for _ in 0..3 {
        watches.push(from_now(&server).await);
    }
    let writers = (0..WRITERS).map(|writer| {
        let client = (*server).clone();
        tokio::spawn(async move {
            for step in 0..WRITES {
                let object = json!({"metadata": {"name": format!("w{writer}-{step}")}});
                client.post(CONFIG_MAPS, &object).await.created();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let mut seen = Vec::new();
    for watch in &mut watches {
        let mut versions = Vec::new();
        for _ in 0..WRITERS * WRITES {
            versions.push(watch.next().await.version());
        }
        assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
        seen.push(versions);
    }
    assert!(seen[0] == seen[1] && seen[1] == seen[2]);
}

#[tokio::test]
async fn a_watch_of_many_objects_begins_with_all_of_them() {
    const OBJECTS: usize = 500;
    let server = start_server().await;
    let filler = "x".repeat(1_000);
    for index in 0..OBJECTS {
        let name = format!("object-{index:04}");
        let object = json!({"metadata": {"name": name}, "data": {"k": filler}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true");
    let mut events = server.watch(&path).await;
    for index in 0..OBJECTS {
        let expected = format!("ADDED object-{index:04}");
        assert_eq!(events.next().await.shown(), expected);
    }
    events.shows(&["BOOKMARK"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_cleanly_after_its_time() {
    let server = start_server().await;
    create(&server, "a").await;
    let events = server
        .watch(&format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=7"))
        .await;
    let begun = tokio::time::Instant::now();
    let told = events.rest().await;
    assert_eq!(told.len(), 1);
    assert_eq!(begun.elapsed().as_secs(), 7);
}

#[tokio::test]
async fn a_watch_has_the_headers_of_a_stream_before_its_first_event() {
    let server = start_server().await;
    let events = from_now(&server).await;
    let header = |name| {
        events
            .headers
            .get(name)
            .map(|value| value.to_str().unwrap())
    };
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("cache-control"), Some("no-cache, private"));
    assert_eq!(header("transfer-encoding"), Some("chunked"));
    assert!(header("audit-id").is_some() && header("date").is_some());
    assert_eq!(header("content-length"), None);
    assert_eq!(header("content-encoding"), None);
}

#[tokio::test]
async fn every_text_comes_back_as_it_was_sent() {
    let server = start_server().await;
    let texts = [
        "<script>&amp;</script>",
        "quote \" backslash \\ slash /",
        "line\nfeed\r\ttab\u{8}\u{c}",
        "\u{0}\u{1}\u{1f}\u{7f}\u{80}",
        "\u{2028}\u{2029}\u{feff}\u{fffd}\u{ffff}",
        "ä ß 漢字 🦀 \u{10ffff}",
        "{\"type\":\"DELETED\"}\n{",
        "",
    ];
    let data: serde_json::Map<String, Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| (format!("k{index}"), json!(text)))
        .collect();
    let annotations: serde_json::Map<String, Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| (format!("x.io/k{index}"), json!(text)))
        .collect();
    let object = json!({"metadata": {"name": "a", "annotations": annotations}, "data": data});
    let created = server.post(CONFIG_MAPS, &object).await.created();
    assert_eq!(created["data"], object["data"]);
    assert_eq!(
        created["metadata"]["annotations"],
        object["metadata"]["annotations"]
    );
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/a")).await.ok(), created);
    let listed = server.get(CONFIG_MAPS).await.ok();
    assert_eq!(listed["items"][0]["data"], object["data"]);
    let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    assert_eq!(events.next().await.object, created);
    let item = format!("{CONFIG_MAPS}/a");
    let yaml = server.get_as(&item, "application/yaml").await.body;
    let call = server.call(http::Method::PUT, &item);
    let put = call.body("application/yaml", yaml).answer().await.ok();
    assert_eq!(put, created, "YAML tells the same");
}
