//! Requests with random damage, always the same for the same seed: none may break the server.

use fastrand::Rng;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::soon;
use crate::{
    client::{JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH},
    running::{TestServer, start_server},
};

const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Objects of kinds that differ in what the server does with them.
const OBJECTS: &str = include_str!("../../data/damaged.json");

/// An object, and where it lives.
#[derive(Deserialize)]
struct Subject {
    path: String,
    object: Value,
}

/// The objects, each with all the metadata that a client may give it.
fn subjects() -> Vec<Subject> {
    let mut subjects: Vec<Subject> = serde_json::from_str(OBJECTS).unwrap();
    for Subject { object, .. } in &mut subjects {
        let name = object["metadata"]["name"].as_str().unwrap_or("x");
        object["metadata"] = json!({
            "name": name,
            "labels": {"a": "b"},
            "annotations": {"x.io/a": "b"},
            "finalizers": ["x.io/f"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
        });
    }
    subjects
}

/// Something that does not belong where it is put.
fn odd_value(random: &mut Rng) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!("\u{0}\n\"\u{10ffff}"),
        json!("x".repeat(300)),
        json!([]),
        json!([null]),
        json!([[], {}]),
        json!({}),
        json!({"": ""}),
        json!({"name": {"name": []}}),
        json!({"$patch": "delete"}),
        json!("2026-01-01T00:00:00Z"),
        json!("99999999999Gi"),
    ];
    random.choice(values).unwrap()
}

/// Replaces, removes or adds something somewhere in a tree.
fn damage(random: &mut Rng, value: &mut Value) {
    match value {
        Value::Object(members) if !members.is_empty() && random.u8(..) < 220 => {
            let name = random.choice(members.keys().cloned()).unwrap();
            match random.u8(..10) {
                0 => drop(members.remove(&name)),
                1 => drop(members.insert("odd".to_owned(), odd_value(random))),
                _ => damage(random, &mut members[&name]),
            }
        }
        Value::Array(elements) if !elements.is_empty() && random.u8(..) < 220 => {
            let index = random.usize(..elements.len());
            match random.u8(..10) {
                0 => drop(elements.remove(index)),
                1 => elements.push(elements[index].clone()),
                _ => damage(random, &mut elements[index]),
            }
        }
        other => *other = odd_value(random),
    }
}

/// Changes some bytes of a text.
fn scratch(random: &mut Rng, text: &mut Vec<u8>) {
    for _ in 0..random.usize(1..4) {
        if text.is_empty() {
            return;
        }
        let at = random.usize(..text.len());
        match random.u8(..4) {
            0 => drop(text.remove(at)),
            1 => text.insert(at, random.choice(*b"{}[]\",:\\0\n\xff -&*").unwrap()),
            2 => text.truncate(at),
            _ => text[at] ^= 1 << random.u8(..8),
        }
    }
}

fn damaged_body(random: &mut Rng, object: &Value) -> Vec<u8> {
    let mut object = object.clone();
    for _ in 0..random.usize(..3) {
        damage(random, &mut object);
    }
    let mut text = object.to_string().into_bytes();
    if random.u8(..) < 80 {
        scratch(random, &mut text);
    }
    text
}

/// Sends one request and asserts that its answer blames the client, if anybody.
async fn send(server: &TestServer, method: Method, path: &str, body: (&str, Vec<u8>)) {
    let shown = String::from_utf8_lossy(&body.1).into_owned();
    let content_type = body.0.to_owned();
    let call = server.call(method.clone(), path).body(body.0, body.1);
    let answer = soon(call.answer()).await;
    let place = format!("{method} {path} {content_type} {shown}");
    // Kubernetes itself blames itself for an applied configuration that does not fit its kind.
    let unfit = answer
        .text()
        .contains("failed to create typed patch object");
    assert!(answer.code < 500 || unfit, "{place}: {}", answer.text());
    if answer.code < 300 {
        assert!(answer.json().is_object(), "{place}: {}", answer.text());
    }
}

#[tokio::test]
async fn damaged_objects_are_created_or_refused() {
    let server = start_server().await;
    let mut random = Rng::with_seed(1);
    for Subject { path, object } in subjects() {
        let path = format!("{path}?dryRun=All");
        for _ in 0..120 {
            let content_type = ["application/json", "application/yaml"][random.usize(..2)];
            let body = damaged_body(&mut random, &object);
            send(&server, Method::POST, &path, (content_type, body)).await;
        }
    }
    server.assert_well().await;
}

#[tokio::test]
async fn damaged_updates_and_patches_are_applied_or_refused() {
    let server = start_server().await;
    let mut random = Rng::with_seed(2);
    for Subject { path, object } in subjects() {
        let created = server.post(&path, &object).await.created();
        let name = created["metadata"]["name"].as_str().unwrap();
        let item = format!("{path}/{name}");
        for _ in 0..120 {
            let part = ["", "", "", "/status", "/scale"][random.usize(..5)];
            let options = ["", "?dryRun=All", "?fieldValidation=Strict"][random.usize(..3)];
            let path = format!("{item}{part}{options}");
            let (method, content_type) = [
                (Method::PUT, "application/json"),
                (Method::PUT, "application/yaml"),
                (Method::PATCH, MERGE_PATCH),
                (Method::PATCH, STRATEGIC_MERGE_PATCH),
            ][random.usize(..4)]
            .clone();
            let body = damaged_body(&mut random, &object);
            send(&server, method, &path, (content_type, body)).await;
        }
        for _ in 0..40 {
            let path = format!("{item}?fieldManager=m&force={}", random.bool());
            let body = damaged_body(&mut random, &created);
            send(&server, Method::PATCH, &path, (APPLY_PATCH, body)).await;
        }
        let read = server.get(&item).await;
        assert!([200, 404].contains(&read.code), "{}", read.text());
    }
    server.assert_well().await;
}

#[tokio::test]
async fn damaged_lists_of_operations_are_applied_or_refused() {
    let server = start_server().await;
    let mut random = Rng::with_seed(3);
    let Subject { path, object } = subjects().remove(2);
    server.post(&path, &object).await.created();
    let item = format!("{path}/x");
    let places = [
        "/metadata/labels/a",
        "/metadata/finalizers/0",
        "/metadata/finalizers/-",
        "/spec/template/spec/containers/0",
        "/spec/template/spec/containers/-",
        "/spec/replicas",
        "/spec",
        "/metadata",
        "/status/conditions/0",
        "",
        "/",
        "/~0~1~2",
        "/kind",
    ];
    for _ in 0..300 {
        let operations: Vec<Value> = (0..random.usize(..4))
            .map(|_| {
                let op = ["add", "remove", "replace", "move", "copy", "test"];
                json!({
                    "op": random.choice(op),
                    "path": random.choice(places),
                    "from": random.choice(places),
                    "value": odd_value(&mut random),
                })
            })
            .collect();
        let body = damaged_body(&mut random, &Value::Array(operations));
        send(&server, Method::PATCH, &item, (JSON_PATCH, body)).await;
    }
    server.assert_well().await;
}

#[tokio::test]
async fn any_mixture_of_parameters_is_answered() {
    let server = start_server().await;
    let names = [
        "watch",
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "pretty",
        "includeObject",
        "timeout",
        "dryRun",
        "fieldValidation",
        "gracePeriodSeconds",
        "propagationPolicy",
        "orphanDependents",
        "export",
        "shardSelector",
        "%zz",
        "",
    ];
    let values = [
        "",
        "0",
        "1",
        "-1",
        "true",
        "false",
        "abc",
        "Exact",
        "NotOlderThan",
        "a%3Db",
        "!a",
        "metadata.name%3Dx",
        "9223372036854775807",
        "18446744073709551615",
        "%00",
        "%ff",
        "All",
        "Strict",
        "Orphan",
        "None",
        "1s",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
    ];
    let paths = [
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/configmaps/x",
        "/api/v1/pods",
        "/api/v1/watch/pods",
        "/apis/events.k8s.io/v1/events",
        "/apis/autoscaling/v1/horizontalpodautoscalers",
        "/api/v1/namespaces",
        "/readyz",
        "/openapi/v3",
        "/apis",
    ];
    let accepts = [
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf,application/json",
        "*/*;q=0",
        ";;;,,,",
    ];
    let mut random = Rng::with_seed(4);
    tokio::time::pause();
    for _ in 0..1_000 {
        let pairs: Vec<String> = (0..random.usize(..5))
            .map(|_| {
                let name = random.choice(names).unwrap();
                format!("{name}={}", random.choice(values).unwrap())
            })
            .collect();
        let path = random.choice(paths).unwrap();
        // No watch may stay open, nor may anything be deleted that others count on.
        let path = format!("{path}?timeoutSeconds=1&{}", pairs.join("&"));
        let method = [Method::GET, Method::GET, Method::DELETE][random.usize(..3)].clone();
        let call = server.call(method.clone(), &path);
        let answer = call.header("accept", random.choice(accepts).unwrap());
        let answer = answer.answer().await;
        assert!(
            answer.code < 500 || answer.code == 504,
            "{path}: {}",
            answer.text()
        );
    }
    tokio::time::resume();
    server.assert_well().await;
}
