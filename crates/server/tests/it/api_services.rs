//! APIServices tell which groups and versions are served.

use std::sync::Arc;

use listwatch_server::Settings;
use listwatch_store::MemoryStore;
use serde_json::{Value, json};

use crate::running::{TestServer, start_on, start_server};

const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

fn definition(versions: &[&str]) -> Value {
    let version = |(place, name): (usize, &&str)| {
        json!({
            "name": name, "served": true, "storage": place == 0,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        })
    };
    let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
    json!({
        "metadata": {"name": "foos.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": versions,
        },
    })
}

async fn names(server: &TestServer) -> Vec<String> {
    let list = server.get(SERVICES).await.ok();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn every_group_and_version_that_discovery_tells_has_one() {
    let server = start_server().await;
    let groups = server.get("/apis").await.ok();
    let groups = groups["groups"].as_array().unwrap().iter();
    let versions = groups.flat_map(|group| {
        let versions = group["versions"].as_array().unwrap().iter();
        versions.map(|version| {
            let (version, name) = (version["version"].as_str(), group["name"].as_str());
            format!("{}.{}", version.unwrap(), name.unwrap())
        })
    });
    let mut told: Vec<String> = versions.chain(["v1.".to_owned()]).collect();
    told.retain(|name| name != "v1.apiregistration.k8s.io");
    told.sort();
    assert_eq!(names(&server).await, told);
    let apps = server.get(&format!("{SERVICES}/v1.apps")).await.ok();
    assert_eq!(apps["metadata"]["labels"], json!({MANAGED: "onstart"}));
    let spec = json!({
        "group": "apps", "version": "v1", "groupPriorityMinimum": 17_800, "versionPriority": 15,
    });
    assert_eq!(apps["spec"], spec);
    let condition = &apps["status"]["conditions"][0];
    assert_eq!(condition["type"], "Available");
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["reason"], "Local");
    assert!(condition["lastTransitionTime"].is_string());
}

#[tokio::test]
async fn those_of_custom_kinds_come_and_go_with_the_definitions() {
    let server = start_server().await;
    let selected = format!("{SERVICES}?watch=1&labelSelector={MANAGED}%3Dtrue");
    let mut events = server.watch(&selected).await;
    let two = definition(&["v1", "v2"]);
    server.post(DEFINITIONS, &two).await.created();
    let added = events.shows(&["ADDED v1.ex.com", "ADDED v2.ex.com"]).await;
    let first = &added[0].object;
    assert_eq!(first["spec"]["groupPriorityMinimum"], 1_000);
    assert_eq!(first["spec"]["versionPriority"], 100);
    assert_eq!(first["metadata"]["labels"], json!({MANAGED: "true"}));
    let patch = json!({"spec": {"versions": definition(&["v1"])["spec"]["versions"]}});
    let path = format!("{DEFINITIONS}/foos.ex.com");
    server.merge(&path, &patch).await.ok();
    events.shows(&["DELETED v2.ex.com"]).await;
    assert_eq!(server.delete(&path).await.code, 200);
    events.shows(&["DELETED v1.ex.com"]).await;
}

#[tokio::test]
async fn one_that_is_deleted_or_changed_comes_back_as_it_was() {
    let server = start_server().await;
    server
        .post(DEFINITIONS, &definition(&["v1"]))
        .await
        .created();
    for name in ["v1.apps", "v1.ex.com"] {
        let selected = format!("{SERVICES}?watch=1&fieldSelector=metadata.name%3D{name}");
        let mut events = server.watch(&selected).await;
        let added = events.next().await;
        assert_eq!(added.shown(), format!("ADDED {name}"));
        let path = format!("{SERVICES}/{name}");
        assert_eq!(server.delete(&path).await.code, 200);
        assert_eq!(events.next().await.event_type, "DELETED");
        let again = events.next().await;
        assert_eq!(again.event_type, "ADDED");
        assert_eq!(again.object["spec"], added.object["spec"]);
        assert_ne!(
            again.object["metadata"]["uid"],
            added.object["metadata"]["uid"]
        );
    }
    let selected = format!("{SERVICES}?watch=1&fieldSelector=metadata.name%3Dv1.ex.com");
    let mut events = server.watch(&selected).await;
    assert_eq!(events.next().await.event_type, "ADDED");
    let changed = json!({"spec": {"versionPriority": 7}});
    server
        .merge(&format!("{SERVICES}/v1.ex.com"), &changed)
        .await
        .ok();
    assert_eq!(events.next().await.object["spec"]["versionPriority"], 7);
    assert_eq!(events.next().await.object["spec"]["versionPriority"], 100);
}

#[tokio::test]
async fn one_that_names_another_server_is_kept_and_told_to_be_unavailable() {
    let server = start_server().await;
    let service = json!({
        "metadata": {"name": "v1.metrics.ex.com"},
        "spec": {
            "group": "metrics.ex.com", "version": "v1",
            "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"namespace": "kube-system", "name": "metrics"},
            "insecureSkipTLSVerify": true,
        },
    });
    let created = server.post(SERVICES, &service).await.created();
    assert_eq!(created["spec"]["service"]["port"], 443);
    assert_eq!(created["status"], json!({}));
    let selected = format!("{SERVICES}?watch=1&fieldSelector=metadata.name%3Dv1.metrics.ex.com");
    let mut events = server.watch(&selected).await;
    let mut told = events.next().await.object;
    while told["status"]["conditions"].is_null() {
        told = events.next().await.object;
    }
    assert_eq!(told["status"]["conditions"][0]["status"], "False");
    assert_eq!(told["status"]["conditions"][0]["reason"], "NotAggregated");
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let row = server
        .get_as(&format!("{SERVICES}/v1.metrics.ex.com"), table)
        .await
        .ok();
    let cells = &row["rows"][0]["cells"];
    assert_eq!(cells[1], "kube-system/metrics");
    assert_eq!(cells[2], "False (NotAggregated)");
    assert_eq!(server.get("/apis/metrics.ex.com/v1").await.code, 404);
}

#[tokio::test]
async fn the_next_server_on_the_same_store_keeps_them() {
    let store = Arc::new(MemoryStore::new());
    let first = start_on(store.clone(), Settings::default()).await;
    first
        .post(DEFINITIONS, &definition(&["v1"]))
        .await
        .created();
    let path = format!("{SERVICES}/v1.ex.com");
    let selected = format!("{SERVICES}?watch=1&fieldSelector=metadata.name%3Dv1.ex.com");
    first.watch(&selected).await.next().await;
    let before = first.get(&path).await.ok();
    let count = names(&first).await.len();
    first.shutdown().await;
    let second = start_on(store, Settings::default()).await;
    assert_eq!(second.get(&path).await.ok(), before);
    assert_eq!(names(&second).await.len(), count);
}
