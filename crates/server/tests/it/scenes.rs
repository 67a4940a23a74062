//! The mechanism as its users know it: list, watch, and never miss a change.

use std::{path::Path, sync::Arc};

use listwatch_server::Settings;
use listwatch_store::{EmbeddedOptions, EmbeddedStore, OpenError};
use serde_json::{Value, json};

use crate::{
    client::version,
    running::{TestServer, start_on, start_server, within},
};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str) -> Value {
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    })
}

fn scheduled_pod(name: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["nodeName"] = json!("node-1");
    pod
}

async fn label(server: &TestServer, name: &str, value: &str) -> Value {
    let patch = json!({"metadata": {"labels": {"step": value}}});
    server.merge(&format!("{PODS}/{name}"), &patch).await.ok()
}

#[tokio::test]
async fn a_watch_tells_what_exists_and_then_every_change_with_the_whole_object() {
    for path in [
        "/api/v1/namespaces/default/pods?watch=true",
        "/api/v1/watch/namespaces/default/pods",
    ] {
        let server = start_server().await;
        server.post(PODS, &pod("a")).await.created();
        let b = server.post(PODS, &pod("b")).await.created();
        let mut events = server.watch(path).await;
        let first = events.shows(&["ADDED a", "ADDED b"]).await;
        assert_eq!(first[1].object, b, "{path}");

        let changed = label(&server, "a", "one").await;
        let created = server.post(PODS, &pod("c")).await.created();
        let changed_again = label(&server, "a", "two").await;
        let told = events.shows(&["MODIFIED a", "ADDED c", "MODIFIED a"]).await;
        let told: Vec<Value> = told.into_iter().map(|event| event.object).collect();
        assert_eq!(told, [changed, created, changed_again], "{path}");
    }
}

#[tokio::test]
async fn deleting_a_scheduled_pod_is_told_twice() {
    let server = start_server().await;
    server.post(PODS, &scheduled_pod("web")).await.created();
    let mut events = server.watch(&format!("{PODS}?watch=true")).await;
    events.shows(&["ADDED web"]).await;

    let answered = server.delete(&format!("{PODS}/web")).await.ok();
    assert_eq!(answered["kind"], "Pod");
    let marked = events.shows(&["MODIFIED web"]).await.remove(0).object;
    assert_eq!(marked, answered);
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);

    let acknowledged = format!("{PODS}/web?gracePeriodSeconds=0");
    server.delete(&acknowledged).await.ok();
    let gone = events.shows(&["DELETED web"]).await.remove(0);
    assert!(gone.version() > version(&marked));
    server.get(&format!("{PODS}/web")).await.refused(404);
}

#[tokio::test]
async fn a_list_is_continued_exactly_by_a_watch_from_its_version() {
    let server = start_server().await;
    server.post(PODS, &pod("a")).await.created();
    let list = server.get(PODS).await.ok();
    server.post(PODS, &pod("b")).await.created();
    label(&server, "a", "one").await;
    let from = version(&list);
    let path = format!("{PODS}?watch=true&resourceVersion={from}");
    let mut events = server.watch(&path).await;
    events.shows(&["ADDED b", "MODIFIED a"]).await;
    label(&server, "b", "two").await;
    events.shows(&["MODIFIED b"]).await;
}

#[tokio::test]
async fn a_watch_that_is_cut_resumes_with_nothing_lost_and_nothing_repeated() {
    let server = start_server().await;
    let from = version(&server.get(PODS).await.ok());
    let mut expected = Vec::new();
    let mut told = Vec::new();
    let mut last = from;
    for round in 0..10 {
        let path = format!("{PODS}?watch=true&resourceVersion={last}");
        let mut events = server.watch(&path).await;
        for step in 0..3 {
            let name = format!("pod-{round}-{step}");
            let created = server.post(PODS, &pod(&name)).await.created();
            expected.push(version(&created));
        }
        // The third event is on its way when the connection is cut.
        for _ in 0..2 {
            last = events.next().await.version();
            told.push(last);
        }
    }
    let path = format!("{PODS}?watch=true&resourceVersion={last}");
    let mut events = server.watch(&path).await;
    while told.len() < expected.len() {
        told.push(events.next().await.version());
    }
    assert_eq!(told, expected);
}

/// A server on the data in a directory, once the one before has let go of it.
async fn start_in(directory: &Path) -> TestServer {
    let open = || EmbeddedStore::open_directory(directory, EmbeddedOptions::default());
    let store = within(async {
        loop {
            match open().await {
                Ok(store) => return store,
                Err(OpenError::InUse { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    });
    start_on(Arc::new(store.await), Settings::default()).await
}

#[tokio::test]
async fn a_watch_resumes_across_restarts_of_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = start_in(directory.path()).await;
    let mut last = version(&server.get(PODS).await.ok());
    let mut expected = Vec::new();
    let mut told = Vec::new();
    for round in 0..4 {
        let path = format!("{PODS}?watch=true&resourceVersion={last}");
        let mut events = server.watch(&path).await;
        for step in 0..3 {
            let name = format!("pod-{round}-{step}");
            let created = server.post(PODS, &pod(&name)).await.created();
            expected.push(version(&created));
        }
        let changed = label(&server, &format!("pod-{round}-0"), "changed").await;
        expected.push(version(&changed));
        for _ in 0..2 {
            last = events.next().await.version();
            told.push(last);
        }
        if round % 2 == 0 {
            server.abort().await;
        } else {
            server.shutdown().await;
        }
        server = start_in(directory.path()).await;
    }
    let path = format!("{PODS}?watch=true&resourceVersion={last}");
    let mut events = server.watch(&path).await;
    while told.len() < expected.len() {
        told.push(events.next().await.version());
    }
    assert_eq!(told, expected);
    let listed = server.get(PODS).await;
    assert_eq!(listed.item_names().len(), 12);
    let created = server.post(PODS, &pod("last")).await.created();
    assert!(version(&created) > *expected.last().unwrap());
}
