//! PATCH: each way to say what should change, and what happens when others write too.

use serde_json::{Value, json};

use super::{CONFIG_MAPS, DEPLOYMENTS, config_map, deployment};
use crate::{
    client::{JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, version},
    running::start_server,
};

#[tokio::test]
async fn a_json_patch_does_its_operations_in_order() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let patch = json!([
        {"op": "test", "path": "/data/k", "value": "v"},
        {"op": "add", "path": "/data/new", "value": "1"},
        {"op": "copy", "from": "/data/new", "path": "/data/copied"},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "move", "from": "/data/k", "path": "/metadata/annotations/a~1b"},
        {"op": "replace", "path": "/data/new", "value": "2"},
        {"op": "remove", "path": "/data/copied"},
    ]);
    let item = format!("{CONFIG_MAPS}/a");
    let patched = server.patch(&item, JSON_PATCH, &patch).await.ok();
    assert_eq!(patched["data"], json!({"new": "2"}));
    assert_eq!(patched["metadata"]["annotations"], json!({"a/b": "v"}));
}

#[tokio::test]
async fn a_json_patch_that_fails_changes_nothing() {
    let server = start_server().await;
    let stored = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let item = format!("{CONFIG_MAPS}/a");
    for last in [
        json!({"op": "test", "path": "/data/k", "value": "other"}),
        json!({"op": "remove", "path": "/data/absent"}),
        json!({"op": "move", "from": "/data/absent", "path": "/data/other"}),
    ] {
        let patch = json!([{"op": "add", "path": "/data/new", "value": "1"}, last]);
        let status = server.patch(&item, JSON_PATCH, &patch).await.refused(422);
        assert_eq!(status["reason"], "Invalid");
        assert_eq!(server.get(&item).await.ok(), stored);
    }
}

#[tokio::test]
async fn a_merge_patch_removes_with_null_and_replaces_lists() {
    let server = start_server().await;
    server.post(DEPLOYMENTS, &deployment("d")).await.created();
    let item = format!("{DEPLOYMENTS}/d");
    let patch = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"template": {"spec": {"containers": [{"name": "other", "image": "i"}]}}},
    });
    let patched = server.patch(&item, MERGE_PATCH, &patch).await.ok();
    let containers = &patched["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers.as_array().unwrap().len(), 1);
    assert_eq!(containers[0]["name"], "other");
    let removal = json!({"metadata": {"labels": null}});
    let patched = server.patch(&item, MERGE_PATCH, &removal).await.ok();
    assert!(patched["metadata"].get("labels").is_none());
}

#[tokio::test]
async fn a_strategic_merge_patch_merges_lists_by_their_keys() {
    let server = start_server().await;
    server.post(DEPLOYMENTS, &deployment("d")).await.created();
    let item = format!("{DEPLOYMENTS}/d");
    let containers = |value: Value| json!({"spec": {"template": {"spec": {"containers": value}}}});
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array();
        let shown = |it: &Value| {
            let image = it["image"].as_str().unwrap();
            format!("{}={image}", it["name"].as_str().unwrap())
        };
        let mut shown: Vec<String> = containers.unwrap().iter().map(shown).collect();
        shown.sort();
        shown
    };
    let add = containers(json!([{"name": "side", "image": "side:1"}]));
    let patched = server.patch(&item, STRATEGIC_MERGE_PATCH, &add).await.ok();
    assert_eq!(names(&patched), ["main=nginx", "side=side:1"]);
    let change = containers(json!([{"name": "main", "image": "nginx:2"}]));
    let patched = server
        .patch(&item, STRATEGIC_MERGE_PATCH, &change)
        .await
        .ok();
    assert_eq!(names(&patched), ["main=nginx:2", "side=side:1"]);
    let delete = containers(json!([{"name": "side", "$patch": "delete"}]));
    let patched = server
        .patch(&item, STRATEGIC_MERGE_PATCH, &delete)
        .await
        .ok();
    assert_eq!(names(&patched), ["main=nginx:2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_patches_are_all_applied() {
    const PATCHES: usize = 24;
    let server = start_server().await;
    let stored = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let patches = (0..PATCHES).map(|index| {
        let client = (*server).clone();
        tokio::spawn(async move {
            let patch = json!({"data": {format!("key-{index}"): "set"}});
            client.merge(&format!("{CONFIG_MAPS}/a"), &patch).await.ok()
        })
    });
    let mut versions = Vec::new();
    for patch in patches.collect::<Vec<_>>() {
        versions.push(version(&patch.await.unwrap()));
    }
    let result = server.get(&format!("{CONFIG_MAPS}/a")).await.ok();
    assert_eq!(result["data"].as_object().unwrap().len(), PATCHES + 1);
    versions.sort_unstable();
    let first = version(&stored) + 1;
    let expected: Vec<u64> = (first..first + PATCHES as u64).collect();
    assert_eq!(versions, expected, "each was a write of its own");
}

#[tokio::test]
async fn a_patch_with_a_version_wins_only_against_that_version() {
    let server = start_server().await;
    let stored = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let item = format!("{CONFIG_MAPS}/a");
    let at = stored["metadata"]["resourceVersion"].clone();
    let patch = json!({"metadata": {"resourceVersion": at}, "data": {"k": "1"}});
    server.merge(&item, &patch).await.ok();
    let status = server.merge(&item, &patch).await.refused(409);
    assert_eq!(status["reason"], "Conflict");
}

#[tokio::test]
async fn a_patch_may_not_rename_or_move_its_object() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let item = format!("{CONFIG_MAPS}/a");
    let rename = json!({"metadata": {"name": "b"}});
    let message = "the name of the object (b) does not match the name on the URL (a)";
    server.merge(&item, &rename).await.says(400, message);
    let away = json!({"metadata": {"namespace": "other"}});
    let message = "the namespace of the provided object does not match the namespace sent on \
                   the request";
    server.merge(&item, &away).await.says(400, message);
}

#[tokio::test]
async fn a_patch_of_nothing_is_not_found() {
    let server = start_server().await;
    let absent = format!("{CONFIG_MAPS}/absent");
    let message = "configmaps \"absent\" not found";
    server.merge(&absent, &json!({})).await.says(404, message);
}

#[tokio::test]
async fn parameters_of_a_content_type_do_not_matter() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let item = format!("{CONFIG_MAPS}/a");
    let patch = json!({"data": {"k": "w"}});
    let content_type = "application/merge-patch+json; charset=utf-8";
    let patched = server.patch(&item, content_type, &patch).await.ok();
    assert_eq!(patched["data"]["k"], "w");
}
