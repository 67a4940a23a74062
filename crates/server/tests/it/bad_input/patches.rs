//! Patches that want too much, or nothing sensible.

use http::Method;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, soon};
use crate::{
    client::{Answer, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH},
    running::{TestServer, start_server},
};

const ITEM: &str = "/api/v1/namespaces/default/configmaps/a";

async fn with_object() -> TestServer {
    let server = start_server().await;
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    server.post(CONFIG_MAPS, &object).await.created();
    server
}

async fn patch(server: &TestServer, content_type: &str, body: impl Into<bytes::Bytes>) -> Answer {
    let call = server.call(Method::PATCH, ITEM);
    soon(call.body(content_type, body).answer()).await
}

#[tokio::test]
async fn too_many_operations_are_too_large() {
    let server = with_object().await;
    let operation = json!({"op": "test", "path": "/data/k", "value": "v"});
    let fine = Value::Array(vec![operation.clone(); 10_000]);
    soon(server.patch(ITEM, JSON_PATCH, &fine)).await.ok();
    let many = Value::Array(vec![operation; 10_001]);
    let status = soon(server.patch(ITEM, JSON_PATCH, &many))
        .await
        .refused(413);
    let message = "The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert!(
        status["message"].as_str().unwrap().contains(message),
        "{status}"
    );
    server.assert_well().await;
}

#[tokio::test]
async fn copies_that_double_are_stopped() {
    let server = with_object().await;
    let mut operations = vec![json!({
        "op": "add",
        "path": "/metadata/annotations",
        "value": {"a": "x".repeat(1_000)},
    })];
    for index in 0..40 {
        operations.push(json!({
            "op": "copy",
            "from": "/metadata/annotations",
            "path": format!("/metadata/annotations/copy{index}"),
        }));
    }
    let bomb = Value::Array(operations);
    let answer = soon(server.patch(ITEM, JSON_PATCH, &bomb)).await;
    assert!([413, 422].contains(&answer.code), "{}", answer.text());
    assert!(answer.body.len() < 10_000, "a short answer");
    server.assert_well().await;
}

#[tokio::test]
async fn operations_that_make_no_sense_are_refused() {
    let server = with_object().await;
    for body in [
        json!({"op": "add", "path": "/data/x", "value": "1"}),
        json!("x"),
        json!([1]),
        json!([{}]),
        json!([{"op": "explode", "path": "/data/k"}]),
        json!([{"op": "add", "value": "1"}]),
        json!([{"op": "add", "path": "data/x", "value": "1"}]),
        json!([{"op": "add", "path": "/absent/x/y", "value": "1"}]),
        json!([{"op": "add", "path": "/metadata/finalizers/99999999999999999999", "value": "1"}]),
        json!([{"op": "add", "path": "/data/k/deeper", "value": "1"}]),
        json!([{"op": "copy", "path": "/data/x"}]),
        json!([{"op": "copy", "from": "/absent", "path": "/data/x"}]),
        json!([{"op": "move", "from": "/data", "path": "/data/inside"}]),
        json!([{"op": "remove", "path": "/metadata"}]),
        json!([{"op": "replace", "path": "", "value": []}]),
        json!([{"op": "replace", "path": "/metadata", "value": "x"}]),
        json!([{"op": "replace", "path": "/kind", "value": "Secret"}]),
        json!([{"op": "replace", "path": "/data/k", "value": 5}]),
        json!([{"op": "add", "path": "/".repeat(50_000), "value": 5}]),
    ] {
        let answer = soon(server.patch(ITEM, JSON_PATCH, &body)).await;
        let shown: String = body.to_string().chars().take(100).collect();
        assert!(
            [400, 422].contains(&answer.code),
            "{shown}: {}",
            answer.text()
        );
    }
    assert_eq!(server.get(ITEM).await.ok()["data"], json!({"k": "v"}));
    server.assert_well().await;
}

#[tokio::test]
async fn patches_that_are_no_objects_are_refused() {
    let server = with_object().await;
    let deep = format!("{}1{}", r#"{"data":"#.repeat(50_000), "}".repeat(50_000));
    for content_type in [MERGE_PATCH, STRATEGIC_MERGE_PATCH] {
        for body in ["", "[]", "1", "\"x\"", "{", "{bad", "[1,2]", &deep] {
            let answer = patch(&server, content_type, body.to_owned()).await;
            let shown: String = body.chars().take(20).collect();
            assert!(
                (400..500).contains(&answer.code),
                "{content_type} {shown}: {} {}",
                answer.code,
                answer.text()
            );
            assert!(answer.body.len() < 10_000, "a short answer");
        }
    }
    assert_eq!(server.get(ITEM).await.ok()["data"], json!({"k": "v"}));
    server.assert_well().await;
}

#[tokio::test]
async fn patches_that_break_the_object_are_refused() {
    let server = with_object().await;
    for content_type in [MERGE_PATCH, STRATEGIC_MERGE_PATCH] {
        for body in [
            json!({"metadata": null}),
            json!({"metadata": []}),
            json!({"metadata": {"name": null}}),
            json!({"metadata": {"name": "other"}}),
            json!({"metadata": {"labels": {"k": 5}}}),
            json!({"metadata": {"labels": ["a"]}}),
            json!({"kind": "Secret"}),
            json!({"apiVersion": "v9"}),
            json!({"data": "text"}),
            json!({"data": {"k": {}}}),
            json!({"metadata": {"uid": "other"}}),
            json!({"metadata": {"resourceVersion": "1"}}),
            json!({"metadata": {"finalizers": [5]}}),
        ] {
            let answer = soon(server.patch(ITEM, content_type, &body)).await;
            assert!(
                (400..500).contains(&answer.code),
                "{content_type} {body}: {}",
                answer.text()
            );
        }
    }
    assert_eq!(server.get(ITEM).await.ok()["data"], json!({"k": "v"}));
    server.assert_well().await;
}

#[tokio::test]
async fn directives_that_make_no_sense_do_no_harm() {
    let server = start_server().await;
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": {"name": "p", "finalizers": ["x.io/f"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    server.post(pods, &pod).await.created();
    for body in [
        json!({"$patch": "explode"}),
        json!({"$patch": 5}),
        json!({"spec": {"$patch": "merge"}}),
        json!({"spec": {"containers": [{"$patch": "delete"}]}}),
        json!({"spec": {"containers": [{"image": "no name"}]}}),
        json!({"spec": {"containers": {"name": "c"}}}),
        json!({"spec": {"containers": ["c"]}}),
        json!({"spec": {"$setElementOrder/containers": "c"}}),
        json!({"spec": {"$setElementOrder/containers": [{"name": "absent"}]}}),
        json!({"spec": {"$setElementOrder/containers": [5]}}),
        json!({"spec": {"$retainKeys": "x"}}),
        json!({"spec": {"$retainKeys": [5], "hostname": "h"}}),
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}}),
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [{}]}}),
        json!({"spec": {"containers": [{"name": {}, "image": "i"}]}}),
        json!({"spec": {"containers": [null]}}),
    ] {
        let path = format!("{pods}/p?dryRun=All");
        let answer = soon(server.patch(&path, STRATEGIC_MERGE_PATCH, &body)).await;
        assert!(
            answer.code < 500,
            "{body}: {} {}",
            answer.code,
            answer.text()
        );
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_patch_that_is_large_and_wide_is_applied_soon() {
    let server = with_object().await;
    let wide: serde_json::Map<String, Value> = (0..30_000)
        .map(|index| (format!("key-{index}"), json!("v")))
        .collect();
    let body = json!({"data": wide});
    for content_type in [MERGE_PATCH, STRATEGIC_MERGE_PATCH] {
        soon(server.patch(ITEM, content_type, &body)).await.ok();
    }
    server.assert_well().await;
}
