//! Kinds that clients define: served as soon as they are stored, changed and removed in place.

use std::sync::Arc;

use listwatch_server::Settings;
use listwatch_store::MemoryStore;
use serde_json::{Value, json};

use crate::{
    client::{Answer, MERGE_PATCH},
    running::{TestServer, start_on, start_server},
};

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

/// A kind in two versions, of which the second fills in a color and knows no junk.
fn in_two_versions(color: &str) -> Value {
    let schema = |spec: Value| {
        json!({"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        }}})
    };
    let fields = json!({
        "size": {"type": "integer"},
        "color": {"type": "string", "default": color},
    });
    let mut definition = definition("foos", "Foo");
    let scale = json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"});
    definition["spec"]["versions"] = json!([
        {
            "name": "v1", "served": true, "storage": true, "schema": schema(fields.clone()),
            "subresources": {"status": {}, "scale": scale},
            "additionalPrinterColumns": [
                {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
            ],
        },
        {
            "name": "v1beta1", "served": true, "storage": false, "schema": schema(fields),
            "deprecated": true,
        },
    ]);
    definition
}

async fn with_versions() -> TestServer {
    let server = start_server().await;
    server
        .post(DEFINITIONS, &in_two_versions("red"))
        .await
        .created();
    server
}

#[tokio::test]
async fn all_versions_show_the_same_object() {
    let server = with_versions().await;
    let beta = "/apis/ex.com/v1beta1/namespaces/default/foos";
    let mut events = server.watch(&format!("{beta}?watch=1")).await;
    let mut one = foo("one");
    one["spec"] = json!({"size": 3, "junk": 1});
    let created = server.post(FOOS, &one).await.created();
    assert_eq!(created["spec"], json!({"size": 3, "color": "red"}));
    let event = events.shows(&["ADDED one"]).await;
    assert_eq!(event[0].object["apiVersion"], "ex.com/v1beta1");
    let shown = server.get(&format!("{beta}/one")).await;
    assert_eq!(shown.ok()["apiVersion"], "ex.com/v1beta1");
    assert_eq!(
        shown.header("warning"),
        "299 - \"ex.com/v1beta1 Foo is deprecated\""
    );
    let patched = server
        .merge(&format!("{beta}/one"), &json!({"spec": {"size": 4}}))
        .await
        .ok();
    assert_eq!(patched["apiVersion"], "ex.com/v1beta1");
    assert_eq!(patched["metadata"]["generation"], 2);
    let shown = server.get(&format!("{FOOS}/one")).await.ok();
    assert_eq!(
        (&shown["apiVersion"], &shown["spec"]["size"]),
        (&json!("ex.com/v1"), &json!(4))
    );
    let text = server.get(&format!("{FOOS}?limit=1")).await.text();
    assert!(text.starts_with(
        r#"{"apiVersion":"ex.com/v1","items":[{"apiVersion":"ex.com/v1","kind":"Foo","metadata":"#
    ));
    assert!(text.contains(r#""kind":"FooList","metadata":{"continue":"","resourceVersion":""#));
}

#[tokio::test]
async fn objects_from_before_are_shown_and_written_by_the_rules_of_today() {
    let server = with_versions().await;
    let mut old = in_two_versions("red");
    for version in old["spec"]["versions"].as_array_mut().unwrap() {
        let spec = "/schema/openAPIV3Schema/properties/spec/properties";
        let fields = version.pointer_mut(spec).unwrap();
        *fields = json!({"size": {"type": "integer"}, "old": {"type": "string"}});
        version
            .as_object_mut()
            .unwrap()
            .remove("additionalPrinterColumns");
    }
    let path = format!("{DEFINITIONS}/foos.ex.com");
    let patch = json!({"spec": {"versions": old["spec"]["versions"]}});
    server.merge(&path, &patch).await.ok();
    let mut one = foo("one");
    one["spec"] = json!({"size": 3, "old": "x"});
    server.post(FOOS, &one).await.created();
    let mut events = server.watch(&format!("{FOOS}?watch=1")).await;
    events.shows(&["ADDED one"]).await;
    let new = json!({"spec": {"versions": in_two_versions("blue")["spec"]["versions"]}});
    server.merge(&path, &new).await.ok();
    let today = json!({"size": 3, "color": "blue"});
    assert_eq!(server.get(FOOS).await.ok()["items"][0]["spec"], today);
    assert_eq!(server.get(&format!("{FOOS}/one")).await.ok()["spec"], today);
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let patched = server.merge(&format!("{FOOS}/one"), &labels).await.ok();
    assert_eq!(patched["spec"], today);
    assert_eq!(patched["metadata"]["generation"], 1);
    let event = events.shows(&["MODIFIED one"]).await;
    assert_eq!(event[0].object["spec"], today);
}

#[tokio::test]
async fn a_custom_object_is_scaled_where_its_definition_says() {
    let server = with_versions().await;
    let mut one = foo("one");
    one["spec"] = json!({"size": 3});
    server.post(FOOS, &one).await.created();
    let scale = format!("{FOOS}/one/scale");
    let shown = server.get(&scale).await.ok();
    assert_eq!(
        (&shown["kind"], &shown["spec"]),
        (&json!("Scale"), &json!({"replicas": 3}))
    );
    let more = json!({"spec": {"replicas": 7}});
    assert_eq!(
        server.merge(&scale, &more).await.ok()["spec"]["replicas"],
        7
    );
    let shown = server.get(&format!("{FOOS}/one")).await.ok();
    assert_eq!(
        (&shown["spec"]["size"], &shown["metadata"]["generation"]),
        (&json!(7), &json!(2))
    );
}

#[tokio::test]
async fn a_status_is_written_alone_and_leaves_the_metadata() {
    let server = with_versions().await;
    server.post(FOOS, &foo("one")).await.created();
    let change = json!({
        "metadata": {"labels": {"a": "b"}}, "spec": {"size": 9}, "status": {"replicas": 2},
    });
    let status = format!("{FOOS}/one/status");
    let shown = server.patch(&status, MERGE_PATCH, &change).await.ok();
    assert_eq!(shown["status"], json!({"replicas": 2}));
    assert_eq!(shown["metadata"]["labels"], Value::Null);
    assert_eq!(shown["metadata"]["generation"], 1);
    assert_eq!(shown["spec"]["size"], Value::Null);
}

#[tokio::test]
async fn the_documents_tell_of_custom_kinds_and_change_with_them() {
    let server = with_versions().await;
    let groups = server.get("/apis").await.ok();
    let group = groups["groups"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(group["name"], "ex.com");
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let index = server.get("/openapi/v3").await.ok();
    let place = |index: &Value| {
        let place = index["paths"]["apis/ex.com/v1"]["serverRelativeURL"].clone();
        place.as_str().unwrap().to_owned()
    };
    let document = server.get(&place(&index)).await;
    assert!(document.header("cache-control").contains("immutable"));
    let foo = &document.ok()["components"]["schemas"]["com.ex.v1.Foo"];
    assert_eq!(
        foo["properties"]["spec"]["properties"]["size"]["type"],
        "integer"
    );
    let everything = server.get("/openapi/v2").await.ok();
    assert!(everything["definitions"]["com.ex.v1.Foo"].is_object());
    let patch = json!({"spec": {"versions": in_two_versions("blue")["spec"]["versions"]}});
    server
        .merge(&format!("{DEFINITIONS}/foos.ex.com"), &patch)
        .await
        .ok();
    assert_ne!(place(&server.get("/openapi/v3").await.ok()), place(&index));
}

#[tokio::test]
async fn what_is_no_object_of_the_kind_is_refused_in_kubernetes_words() {
    let server = with_versions().await;
    let body = json!({"apiVersion": "ex.com/v2", "kind": "Foo", "metadata": {"name": "x"}});
    let message = "the API version in the data (ex.com/v2) does not match the expected API \
                   version (ex.com/v1)";
    server.post(FOOS, &body).await.says(400, message);
    let body = json!({"apiVersion": "ex.com/v1", "kind": "Bar", "metadata": {"name": "x"}});
    let message = "Bar.ex.com \"x\" is invalid: kind: Invalid value: \"Bar\": must be Foo";
    server.post(FOOS, &body).await.says(422, message);
    let mut body = foo("x");
    body["spec"] = json!({"b": 1, "a": 2});
    body["metadata"]["zip"] = json!(1);
    let message = "Foo in version \"v1\" cannot be handled as a Foo: strict decoding error: \
                   unknown field \"metadata.zip\", unknown field \"spec.a\", unknown field \
                   \"spec.b\"";
    let strict = format!("{FOOS}?fieldValidation=Strict");
    server.post(&strict, &body).await.says(400, message);
    let protobuf = server
        .get_as(FOOS, "application/vnd.kubernetes.protobuf")
        .await;
    assert_eq!(protobuf.code, 406);
}

#[tokio::test]
async fn a_thousand_kinds_come_in_seconds_and_are_found_again() {
    let store = Arc::new(MemoryStore::new());
    let server = start_on(store.clone(), Settings::default()).await;
    for number in 0..1000 {
        let mut kind = definition(&format!("things{number}s"), &format!("Thing{number}"));
        kind["spec"]["group"] = json!(format!("group{}.ex.com", number % 50));
        let group = kind["spec"]["group"].as_str().unwrap();
        kind["metadata"]["name"] = json!(format!("things{number}s.{group}"));
        server.post(DEFINITIONS, &kind).await.created();
    }
    let last = "/apis/group49.ex.com/v1/things999s";
    assert_eq!(server.get(last).await.ok()["items"], json!([]));
    let again = start_on(store, Settings::default()).await;
    assert_eq!(again.get(last).await.ok()["items"], json!([]));
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let told = again.get_as("/apis", accept).await.ok();
    let groups = told["items"].as_array().unwrap().iter();
    let custom = groups.filter(|group| {
        group["metadata"]["name"]
            .as_str()
            .unwrap()
            .ends_with("ex.com")
    });
    assert_eq!(custom.count(), 50);
}

#[tokio::test]
async fn a_change_of_a_definition_warns_only_of_what_is_new() {
    let server = start_server().await;
    let mut made = definition("foos", "Foo");
    let formatted = |names: &[&str]| {
        let field = |name: &&str| {
            (
                (*name).to_owned(),
                json!({"type": "string", "format": name}),
            )
        };
        let fields: serde_json::Map<_, _> = names.iter().map(field).collect();
        json!({"openAPIV3Schema": {"type": "object", "properties": fields}})
    };
    made["spec"]["versions"][0]["schema"] = formatted(&["odd"]);
    let created = server.post(DEFINITIONS, &made).await;
    assert_eq!(
        warnings(&created),
        ["299 - \"unrecognized format \\\"odd\\\"\""]
    );
    let mut versions = made["spec"]["versions"].clone();
    versions[0]["schema"] = formatted(&["odd", "strange"]);
    let path = format!("{DEFINITIONS}/foos.ex.com");
    let patch = json!({"spec": {"versions": versions}});
    let changed = server.merge(&path, &patch).await;
    assert_eq!(
        warnings(&changed),
        ["299 - \"unrecognized format \\\"strange\\\"\""]
    );
}

fn warnings(answer: &Answer) -> Vec<String> {
    let told = answer.headers.get_all("warning").iter();
    told.map(|one| one.to_str().unwrap().to_owned()).collect()
}
