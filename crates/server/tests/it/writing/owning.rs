//! `metadata.managedFields` as writes leave it.

use http::Method;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, DEPLOYMENTS, config_map, deployment};
use crate::{client::version, running::start_server};

fn entries(object: &Value) -> &Value {
    &object["metadata"]["managedFields"]
}

#[tokio::test]
async fn writers_are_known_by_parameter_or_user_agent() {
    let server = start_server().await;
    let call = server.call(Method::POST, CONFIG_MAPS);
    let call = call.header("user-agent", "tool/1.0 (linux)");
    let object = call.json(&config_map("a")).answer().await.created();
    assert_eq!(entries(&object)[0]["manager"], "tool");
    let target = format!("{CONFIG_MAPS}?fieldManager=named");
    let object = server.post(&target, &config_map("b")).await.created();
    assert_eq!(entries(&object)[0]["manager"], "named");
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_no_event_whoever_sends_it() {
    let server = start_server().await;
    let created = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let target = format!("{CONFIG_MAPS}/a?fieldManager=other");
    let put = server.put(&target, &created).await.ok();
    assert_eq!(put, created);
    let patched = server
        .merge(&target, &json!({"data": {"k": "v"}}))
        .await
        .ok();
    assert_eq!(version(&patched), version(&created));
    assert_eq!(patched, created);
}

#[tokio::test]
async fn forgotten_owners_stay_forgotten() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let target = format!("{CONFIG_MAPS}/a");
    for reset in [json!([]), json!([{}])] {
        let mut object = server.get(&target).await.ok();
        object["metadata"]["managedFields"] = reset;
        let object = server.put(&target, &object).await.ok();
        assert_eq!(entries(&object), &Value::Null);
    }
    let object = server
        .merge(&target, &json!({"data": {"k": "w"}}))
        .await
        .ok();
    assert_eq!(entries(&object), &Value::Null);
}

#[tokio::test]
async fn scaling_takes_the_replicas() {
    let server = start_server().await;
    let target = format!("{DEPLOYMENTS}?fieldManager=maker");
    server.post(&target, &deployment("d")).await.created();
    let scale = format!("{DEPLOYMENTS}/d/scale?fieldManager=hpa");
    server
        .merge(&scale, &json!({"spec": {"replicas": 9}}))
        .await
        .ok();
    let object = server.get(&format!("{DEPLOYMENTS}/d")).await.ok();
    let first = &entries(&object)[0];
    assert_eq!(first["manager"], "hpa");
    assert_eq!(first["subresource"], "scale");
    assert_eq!(first["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    let second = &entries(&object)[1]["fieldsV1"]["f:spec"];
    assert_eq!(second.get("f:replicas"), None);
}

#[tokio::test]
async fn deleting_changes_no_owner() {
    let server = start_server().await;
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let created = server.post(CONFIG_MAPS, &object).await.created();
    let target = format!("{CONFIG_MAPS}/a");
    let marked = server.delete(&target).await.ok();
    assert_eq!(entries(&marked), entries(&created));
}
