//! Status and scale: parts of an object with paths of their own; and the generation.

use serde_json::{Value, json};

use super::{DEPLOYMENTS, deployment};
use crate::{
    client::{MERGE_PATCH, version},
    running::{TestServer, start_server},
};

async fn with_deployment() -> (TestServer, Value) {
    let server = start_server().await;
    let created = server.post(DEPLOYMENTS, &deployment("d")).await.created();
    (server, created)
}

fn generation(object: &Value) -> &Value {
    &object["metadata"]["generation"]
}

#[tokio::test]
async fn the_main_path_leaves_the_status_alone() {
    let (server, created) = with_deployment().await;
    let mut with_status = deployment("other");
    with_status["status"] = json!({"replicas": 9});
    let other = server.post(DEPLOYMENTS, &with_status).await.created();
    assert_ne!(other["status"]["replicas"], 9, "not even when it is new");

    let mut changed = created.clone();
    changed["status"] = json!({"replicas": 9});
    changed["metadata"]["labels"] = json!({"a": "b"});
    let item = format!("{DEPLOYMENTS}/d");
    let put = server.put(&item, &changed).await.ok();
    assert_eq!(put["status"], created["status"]);
    assert_eq!(put["metadata"]["labels"]["a"], "b");
    let patch = json!({"status": {"replicas": 9}});
    let patched = server.merge(&item, &patch).await.ok();
    assert_eq!(patched, put, "nothing changed, nothing was written");
}

#[tokio::test]
async fn the_status_path_changes_nothing_else() {
    let (server, created) = with_deployment().await;
    let path = format!("{DEPLOYMENTS}/d/status");
    assert_eq!(server.get(&path).await.ok(), created);
    let mut changed = created.clone();
    changed["spec"]["replicas"] = json!(7);
    changed["status"] = json!({"replicas": 2, "observedGeneration": 1});
    let put = server.put(&path, &changed).await.ok();
    assert_eq!(put["spec"], created["spec"]);
    assert_eq!(put["status"]["replicas"], 2);
    assert_eq!(generation(&put), generation(&created));
    let patch = json!({"spec": {"replicas": 8}, "status": {"readyReplicas": 1}});
    let patched = server.merge(&path, &patch).await.ok();
    assert_eq!(patched["spec"], created["spec"]);
    assert_eq!(patched["status"]["replicas"], 2);
    assert_eq!(patched["status"]["readyReplicas"], 1);
    let stale = server.put(&path, &created).await;
    assert_eq!(stale.refused(409)["reason"], "Conflict");
}

#[tokio::test]
async fn the_generation_counts_changes_of_what_is_wanted() {
    let (server, created) = with_deployment().await;
    assert_eq!(generation(&created), 1);
    let item = format!("{DEPLOYMENTS}/d");
    let mut expected = 1;
    for (patch, grows) in [
        (json!({"metadata": {"labels": {"a": "b"}}}), 0),
        (json!({"spec": {"replicas": 5}}), 1),
        (json!({"spec": {"replicas": 5}}), 0),
        (json!({"metadata": {"annotations": {"a": "b"}}}), 0),
        (json!({"metadata": {"generation": 70}}), 0),
        (json!({"spec": {"paused": true}}), 1),
        (json!({"metadata": {"finalizers": ["x.io/f"]}}), 0),
    ] {
        expected += grows;
        let patched = server.merge(&item, &patch).await.ok();
        assert_eq!(*generation(&patched), expected, "{patch}");
    }
    let marked = server.delete(&item).await.ok();
    assert_eq!(
        *generation(&marked),
        expected + 1,
        "a deletion is wanted too"
    );
}

#[tokio::test]
async fn a_scale_shows_and_sets_the_number_of_replicas() {
    let (server, created) = with_deployment().await;
    let path = format!("{DEPLOYMENTS}/d/scale");
    let mut scale = server.get(&path).await.ok();
    let expected = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": "d",
            "namespace": "default",
            "uid": created["metadata"]["uid"],
            "resourceVersion": created["metadata"]["resourceVersion"],
            "creationTimestamp": created["metadata"]["creationTimestamp"],
        },
        "spec": {"replicas": 3},
        "status": {"replicas": 0, "selector": "app=web"},
    });
    assert_eq!(scale, expected);

    let watch = format!(
        "{DEPLOYMENTS}?watch=1&resourceVersion={}",
        version(&created)
    );
    let mut events = server.watch(&watch).await;
    scale["spec"]["replicas"] = json!(5);
    let set = server.put(&path, &scale).await.ok();
    assert_eq!(set["kind"], "Scale");
    assert_eq!(set["spec"]["replicas"], 5);
    let told = events.shows(&["MODIFIED d"]).await.remove(0).object;
    assert_eq!(told["spec"]["replicas"], 5);
    assert_eq!(told["spec"]["template"], created["spec"]["template"]);
    assert_eq!(*generation(&told), 2);

    server.put(&path, &scale).await.refused(409);
    let patch = json!({"spec": {"replicas": 0}});
    let patched = server.patch(&path, MERGE_PATCH, &patch).await.ok();
    assert_eq!(patched["spec"], json!({}), "zero is not written");
    server
        .get(&format!("{DEPLOYMENTS}/absent/scale"))
        .await
        .refused(404);
}

#[tokio::test]
async fn a_scale_below_zero_is_invalid() {
    let (server, _) = with_deployment().await;
    let path = format!("{DEPLOYMENTS}/d/scale");
    let patch = json!({"spec": {"replicas": -1}});
    let status = server.merge(&path, &patch).await.refused(422);
    let message = "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be \
                   greater than or equal to 0";
    assert_eq!(status["message"], message);
    assert_eq!(status["reason"], "Invalid");
    for wrong in [json!("three"), json!(1.5), json!(3_000_000_000_u64)] {
        let patch = json!({"spec": {"replicas": wrong}});
        server.merge(&path, &patch).await.refused(422);
    }
    let scale = server.get(&path).await.ok();
    assert_eq!(scale["spec"]["replicas"], 3, "still");
}

#[tokio::test]
async fn every_kind_with_replicas_has_a_scale() {
    let server = start_server().await;
    let spec = &deployment("x")["spec"];
    for (path, extra) in [
        ("/apis/apps/v1/namespaces/default/replicasets", json!({})),
        (
            "/apis/apps/v1/namespaces/default/statefulsets",
            json!({"serviceName": "s"}),
        ),
        (
            "/api/v1/namespaces/default/replicationcontrollers",
            json!({"selector": {"app": "web"}}),
        ),
    ] {
        let mut spec = spec.clone();
        for (name, value) in extra.as_object().unwrap() {
            spec[name] = value.clone();
        }
        let object = json!({"metadata": {"name": "x"}, "spec": spec});
        server.post(path, &object).await.created();
        let scale = server.get(&format!("{path}/x/scale")).await.ok();
        assert_eq!(scale["spec"]["replicas"], 3, "{path}");
        assert_eq!(scale["status"]["selector"], "app=web", "{path}");
    }
}
