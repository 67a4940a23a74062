//! Server-side apply, where no recorded story tells it.

use http::Method;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, DEPLOYMENTS, config_map, deployment};
use crate::{
    client::{Answer, version},
    running::{TestServer, start_server},
};

const APPLY_PATCH: &str = "application/apply-patch+yaml";

async fn apply(server: &TestServer, target: &str, configuration: &Value) -> Answer {
    server.patch(target, APPLY_PATCH, configuration).await
}

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn target(manager: &str) -> String {
    format!("{CONFIG_MAPS}/a?fieldManager={manager}")
}

/// `manager operation fields`, one for each entry.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array();
    let told = entries.into_iter().flatten().map(|entry| {
        let word = |member: &str| entry[member].as_str().unwrap().to_owned();
        let (manager, operation) = (word("manager"), word("operation"));
        format!("{manager} {operation} {}", entry["fieldsV1"])
    });
    told.collect()
}

#[tokio::test]
async fn yaml_is_applied() {
    let server = start_server().await;
    let yaml = "# Wanted.\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n  x: '1'\n";
    let call = server.call(Method::PATCH, &target("me"));
    let created = call.body(APPLY_PATCH, yaml).answer().await.created();
    assert_eq!(created["data"], json!({"x": "1"}));
    let call = server.call(Method::PATCH, &target("me"));
    let answer = call.body(APPLY_PATCH, "a: [").answer().await;
    let message = answer.refused(400)["message"].to_string();
    assert!(
        message.contains("error encoding patch: yaml: "),
        "{message}"
    );
}

#[tokio::test]
async fn a_configuration_of_another_kind_is_refused() {
    let server = start_server().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    let answer = apply(&server, &target("me"), &secret).await;
    answer.says(400, "invalid object type: /v1, Kind=Secret");
    let answer = apply(&server, &target("me"), &json!({})).await;
    answer.says(400, "invalid object type: /, Kind=");
    let deployment = json!({"apiVersion": "apps/v2", "kind": "Deployment"});
    let target = format!("{DEPLOYMENTS}/d?fieldManager=m");
    let answer = apply(&server, &target, &deployment).await;
    answer.says(400, "invalid object type: apps/v2, Kind=Deployment");
}

#[tokio::test]
async fn a_configuration_for_another_object_is_refused() {
    let server = start_server().await;
    let mut other = map(json!({}));
    other["metadata"]["name"] = json!("b");
    let answer = apply(&server, &target("me"), &other).await;
    let message = "the name of the object (b) does not match the name on the URL (a)";
    answer.says(400, message);
    let mut foreign = map(json!({}));
    foreign["metadata"]["uid"] = json!("5b40d6d5-29d8-4b87-9117-337ae6688196");
    let answer = apply(&server, &target("me"), &foreign).await;
    assert_eq!(answer.refused(409)["reason"], "Conflict");
}

#[tokio::test]
async fn several_conflicts_are_told_by_owner() {
    let server = start_server().await;
    let first = map(json!({"x": "1", "y": "1"}));
    apply(&server, &target("alice"), &first).await.created();
    let update = json!({"data": {"z": "1"}});
    server.merge(&target("bob"), &update).await.ok();
    let wanted = map(json!({"x": "2", "y": "2", "z": "2"}));
    let status = apply(&server, &target("carol"), &wanted).await.refused(409);
    let message = "Apply failed with 3 conflicts: conflicts with \"alice\":\n- .data.x\n- .data.y\n\
        conflicts with \"bob\" using v1:\n- .data.z";
    assert_eq!(status["message"], message);
    let cause = json!({
        "reason": "FieldManagerConflict",
        "message": "conflict with \"bob\" using v1",
        "field": ".data.z",
    });
    assert_eq!(status["details"]["causes"][2], cause);
}

#[tokio::test]
async fn what_nobody_owns_belongs_to_before_the_first_apply() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let forgotten = json!({"metadata": {"managedFields": []}});
    let object = server.merge(&target("me"), &forgotten).await.ok();
    assert_eq!(owners(&object), Vec::<String>::new());
    let answer = apply(&server, &target("me"), &map(json!({"k": "other"}))).await;
    let message = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: \
        .data.k";
    answer.says(409, message);
    let object = apply(&server, &target("me"), &map(json!({"n": "1"}))).await;
    let expected = [
        "me Apply {\"f:data\":{\"f:n\":{}}}",
        "before-first-apply Update {\"f:data\":{\".\":{},\"f:k\":{}}}",
    ];
    assert_eq!(owners(&object.ok()), expected);
}

#[tokio::test]
async fn parts_of_what_is_missing_are_not_created() {
    let server = start_server().await;
    let status = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "status": {"replicas": 1},
    });
    let target = format!("{DEPLOYMENTS}/d/status?fieldManager=m");
    apply(&server, &target, &status).await.refused(404);
    let missing = "/api/v1/namespaces/nowhere/configmaps/a?fieldManager=m";
    let answer = apply(&server, missing, &map(json!({}))).await;
    answer.says(404, "namespaces \"nowhere\" not found");
}

#[tokio::test]
async fn a_scale_is_applied_to_the_object_that_it_is_part_of() {
    let server = start_server().await;
    server.post(DEPLOYMENTS, &deployment("d")).await.created();
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"},
        "spec": {"replicas": 7},
    });
    let target = format!("{DEPLOYMENTS}/d/scale?fieldManager=hpa");
    apply(&server, &target, &scale).await.refused(409);
    let forced = apply(&server, &format!("{target}&force=true"), &scale).await;
    assert_eq!(forced.ok()["spec"]["replicas"], 7);
    let object = server.get(&format!("{DEPLOYMENTS}/d")).await.ok();
    assert_eq!(object["spec"]["replicas"], 7);
    assert_eq!(
        owners(&object)[0],
        "hpa Apply {\"f:spec\":{\"f:replicas\":{}}}"
    );
}

#[tokio::test]
async fn a_configuration_may_name_the_version_it_is_for() {
    let server = start_server().await;
    let created = apply(&server, &target("me"), &map(json!({"x": "1"}))).await;
    let created = created.created();
    let mut next = map(json!({"x": "2"}));
    next["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"].clone();
    next["metadata"]["uid"] = created["metadata"]["uid"].clone();
    let updated = apply(&server, &target("me"), &next).await.ok();
    assert!(version(&updated) > version(&created));
    apply(&server, &target("me"), &next).await.refused(409);
}

#[tokio::test]
async fn an_autoscaler_moves_between_versions_with_its_owner() {
    let server = start_server().await;
    let path = |version: &str| {
        let kind = "namespaces/default/horizontalpodautoscalers";
        format!("/apis/autoscaling/{version}/{kind}/h?fieldManager=m")
    };
    let configuration = |version: &str, spec: Value| {
        let api_version = format!("autoscaling/{version}");
        let kind = "HorizontalPodAutoscaler";
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "h"}, "spec": spec})
    };
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let first = json!({
        "scaleTargetRef": reference, "maxReplicas": 3, "minReplicas": 2,
        "targetCPUUtilizationPercentage": 50,
    });
    let created = apply(&server, &path("v1"), &configuration("v1", first)).await;
    assert_eq!(owners(&created.created()).len(), 1);
    let second = json!({"scaleTargetRef": reference, "maxReplicas": 4});
    let moved = apply(&server, &path("v2"), &configuration("v2", second)).await;
    let moved = moved.ok();
    assert_eq!(moved["spec"]["maxReplicas"], 4);
    // It is no longer stated, and one is meant then.
    assert_eq!(moved["spec"]["minReplicas"], 1);
    let entries = moved["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["apiVersion"], "autoscaling/v2");
}
