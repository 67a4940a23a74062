//! Kinds that clients define: served as soon as they are stored, changed and removed in place.

use std::sync::Arc;

use listwatch_server::Settings;
use listwatch_store::MemoryStore;
use serde_json::{Value, json};

use crate::running::{TestServer, start_on, start_server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FOOS: &str = "/apis/ex.com/v1/namespaces/default/foos";

fn definition(plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.ex.com")},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": {
                "plural": plural, "singular": kind.to_lowercase(), "kind": kind,
                "listKind": format!("{kind}List"),
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}

fn foo(name: &str) -> Value {
    json!({"apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": name}})
}

async fn with_foos() -> TestServer {
    let server = start_server().await;
    server
        .post(DEFINITIONS, &definition("foos", "Foo"))
        .await
        .created();
    server
}

#[tokio::test]
async fn a_kind_is_served_when_its_definition_has_been_answered() {
    let server = start_server().await;
    assert_eq!(server.get(FOOS).await.code, 404);
    let created = server.post(DEFINITIONS, &definition("foos", "Foo")).await;
    let created = created.created();
    assert_eq!(created["status"]["conditions"], Value::Null);
    server.post(FOOS, &foo("one")).await.created();
    let list = server.get(FOOS).await.ok();
    assert_eq!(list["kind"], "FooList");
    assert_eq!(list["items"][0]["metadata"]["name"], "one");
    let stored = server.get(&format!("{DEFINITIONS}/foos.ex.com")).await.ok();
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .all(|condition| condition["status"] == "True")
    );
    assert_eq!(stored["status"]["acceptedNames"]["kind"], "Foo");
}

#[tokio::test]
async fn a_kind_is_found_by_the_next_server_on_the_same_store() {
    let store = Arc::new(MemoryStore::new());
    let first = start_on(store.clone(), Settings::default()).await;
    first
        .post(DEFINITIONS, &definition("foos", "Foo"))
        .await
        .created();
    first.post(FOOS, &foo("one")).await.created();
    let second = start_on(store, Settings::default()).await;
    assert_eq!(second.get(&format!("{FOOS}/one")).await.ok()["kind"], "Foo");
    // And one that came while it ran, through the other.
    first
        .post(DEFINITIONS, &definition("bars", "Bar"))
        .await
        .created();
    let mut events = second.watch(&format!("{DEFINITIONS}?watch=1")).await;
    events.shows(&["ADDED bars.ex.com"]).await;
    second
        .merge(
            &format!("{DEFINITIONS}/bars.ex.com"),
            &json!({"metadata": {"labels": {"a": "b"}}}),
        )
        .await
        .ok();
    second.get("/apis/ex.com/v1/bars").await.ok();
}

#[tokio::test]
async fn a_name_in_use_is_given_when_it_becomes_free() {
    let server = with_foos().await;
    let mut other = definition("bars", "Bar");
    other["spec"]["names"]["shortNames"] = json!(["foo"]);
    server.post(DEFINITIONS, &other).await.created();
    let bars = format!("{DEFINITIONS}/bars.ex.com");
    let condition = server.get(&bars).await.ok()["status"]["conditions"][0].clone();
    assert_eq!(condition["reason"], "ShortNamesConflict");
    assert_eq!(condition["message"], "\"foo\" is already in use");
    assert_eq!(server.get("/apis/ex.com/v1/bars").await.code, 404);
    let only = format!("{DEFINITIONS}?watch=1&fieldSelector=metadata.name%3Dbars.ex.com");
    let mut events = server.watch(&only).await;
    events.shows(&["ADDED bars.ex.com"]).await;
    server
        .delete(&format!("{DEFINITIONS}/foos.ex.com"))
        .await
        .ok();
    let free = events.shows(&["MODIFIED bars.ex.com"]).await;
    let condition = &free[0].object["status"]["conditions"][0];
    assert_eq!(condition["reason"], "NoConflicts");
}

#[tokio::test]
async fn the_objects_of_a_kind_go_with_its_definition() {
    let server = with_foos().await;
    server.post(FOOS, &foo("one")).await.created();
    let mut held = foo("held");
    held["metadata"]["finalizers"] = json!(["ex.com/hold"]);
    server.post(FOOS, &held).await.created();
    let mut objects = server.watch(&format!("{FOOS}?watch=1")).await;
    objects.shows(&["ADDED held", "ADDED one"]).await;
    let mut definitions = server.watch(&format!("{DEFINITIONS}?watch=1")).await;
    definitions.shows(&["ADDED foos.ex.com"]).await;
    let deleted = server
        .delete(&format!("{DEFINITIONS}/foos.ex.com"))
        .await
        .ok();
    let finalizers = json!(["customresourcecleanup.apiextensions.k8s.io"]);
    assert_eq!(deleted["metadata"]["finalizers"], finalizers);
    objects.shows(&["MODIFIED held", "DELETED one"]).await;
    let message = "foos.ex.com \"late\" is forbidden: create not allowed while custom resource \
                   definition is terminating";
    server.post(FOOS, &foo("late")).await.says(403, message);
    let release = json!({"metadata": {"finalizers": null}});
    server.merge(&format!("{FOOS}/held"), &release).await.ok();
    objects.shows(&["DELETED held"]).await;
    definitions
        .shows(&[
            "MODIFIED foos.ex.com",
            "MODIFIED foos.ex.com",
            "DELETED foos.ex.com",
        ])
        .await;
    server
        .post(DEFINITIONS, &definition("foos", "Foo"))
        .await
        .created();
    assert_eq!(server.get(FOOS).await.ok()["items"], json!([]));
}

#[tokio::test]
async fn a_watch_lives_on_when_the_definition_changes() {
    let server = with_foos().await;
    let mut events = server.watch(&format!("{FOOS}?watch=1")).await;
    server.post(FOOS, &foo("one")).await.created();
    events.shows(&["ADDED one"]).await;
    let short = json!({"spec": {"names": {"shortNames": ["fo"]}}});
    server
        .merge(&format!("{DEFINITIONS}/foos.ex.com"), &short)
        .await
        .ok();
    server.post(FOOS, &foo("two")).await.created();
    events.shows(&["ADDED two"]).await;
    let resources = server.get("/apis/ex.com/v1").await.ok();
    assert_eq!(resources["resources"][0]["shortNames"], json!(["fo"]));
}
