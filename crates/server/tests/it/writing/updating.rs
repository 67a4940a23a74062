//! PUT: replacing an object, if it is still the one that the client saw.

use serde_json::json;

use super::{CONFIG_MAPS, config_map};
use crate::{client::version, running::start_server};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

#[tokio::test]
async fn an_update_keeps_what_the_server_decides() {
    let server = start_server().await;
    let stored = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let replacement = json!({
        "metadata": {
            "name": "a",
            "creationTimestamp": "2001-01-01T00:00:00Z",
            "deletionTimestamp": "2001-01-01T00:00:00Z",
            "labels": {"new": "yes"},
        },
    });
    let put = server
        .put(&format!("{CONFIG_MAPS}/a"), &replacement)
        .await
        .ok();
    for member in ["uid", "creationTimestamp", "namespace"] {
        assert_eq!(put["metadata"][member], stored["metadata"][member]);
    }
    assert!(put["metadata"].get("deletionTimestamp").is_none());
    assert!(put.get("data").is_none(), "what is left out is gone");
    assert!(version(&put) > version(&stored));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_racing_updates_of_one_version_exactly_one_wins() {
    const RIVALS: usize = 16;
    let server = start_server().await;
    let mut stored = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    for round in 0..5 {
        let rivals = (0..RIVALS).map(|rival| {
            let client = (*server).clone();
            let mut mine = stored.clone();
            mine["data"]["k"] = json!(format!("{round}-{rival}"));
            tokio::spawn(async move { client.put(&format!("{CONFIG_MAPS}/a"), &mine).await })
        });
        let mut winners = Vec::new();
        for rival in rivals.collect::<Vec<_>>() {
            let answer = rival.await.unwrap();
            match answer.code {
                200 => winners.push(answer.ok()),
                _ => assert_eq!(answer.refused(409)["reason"], "Conflict"),
            }
        }
        assert_eq!(winners.len(), 1);
        stored = server.get(&format!("{CONFIG_MAPS}/a")).await.ok();
        assert_eq!(stored, winners[0]);
    }
}

#[tokio::test]
async fn an_update_without_a_version_overwrites() {
    let server = start_server().await;
    let stored = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let item = format!("{CONFIG_MAPS}/a");
    server.merge(&item, &json!({"data": {"k": "1"}})).await.ok();
    let put = server.put(&item, &config_map("a")).await.ok();
    assert_eq!(put["data"]["k"], "v");
    let stale = server.put(&item, &stored).await;
    let message = "Operation cannot be fulfilled on configmaps \"a\": the object has been \
                   modified; please apply your changes to the latest version and try again";
    stale.says(409, message);
}

#[tokio::test]
async fn an_update_of_another_object_of_that_name_is_a_conflict() {
    let server = start_server().await;
    let item = format!("{CONFIG_MAPS}/a");
    let mut first = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    server.delete(&item).await.ok();
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    first["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    let status = server.put(&item, &first).await.refused(409);
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("Precondition failed: UID in precondition"),
        "{message}"
    );
}

#[tokio::test]
async fn some_kinds_are_created_by_an_update() {
    let server = start_server().await;
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
    let path = format!("{LEASES}/l");
    let dry = server
        .put(&format!("{path}?dryRun=All"), &lease)
        .await
        .created();
    assert!(dry["metadata"].get("resourceVersion").is_none());
    server.get(&path).await.refused(404);
    let created = server.put(&path, &lease).await.created();
    assert!(created["metadata"]["uid"].is_string());
    server.put(&path, &created).await.ok();
    let message = "configmaps \"absent\" not found";
    let answer = server
        .put(&format!("{CONFIG_MAPS}/absent"), &config_map("absent"))
        .await;
    answer.says(404, message);
}

#[tokio::test]
async fn an_update_creates_nothing_in_a_namespace_that_is_missing() {
    let server = start_server().await;
    let lease = json!({"metadata": {"name": "l"}});
    let path = "/apis/coordination.k8s.io/v1/namespaces/nowhere/leases/l";
    let message = "namespaces \"nowhere\" not found";
    server.put(path, &lease).await.says(404, message);
}

#[tokio::test]
async fn an_update_must_name_its_object() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let message = "the name of the object (a based on URL) was undeterminable: name must be \
                   provided";
    let item = format!("{CONFIG_MAPS}/a");
    server
        .put(&item, &json!({"data": {}}))
        .await
        .says(400, message);
    let elsewhere = json!({"metadata": {"name": "a", "namespace": "other"}});
    let message = "the namespace of the provided object does not match the namespace sent on \
                   the request";
    server.put(&item, &elsewhere).await.says(400, message);
}

#[tokio::test]
async fn a_version_of_zero_is_none() {
    let server = start_server().await;
    let zero = json!({"metadata": {"name": "a", "resourceVersion": "0"}, "data": {"k": "1"}});
    server.post(CONFIG_MAPS, &zero).await.created();
    let item = format!("{CONFIG_MAPS}/a");
    let other = json!({"metadata": {"name": "a", "resourceVersion": "0"}, "data": {"k": "2"}});
    let put = server.put(&item, &other).await.ok();
    assert_eq!(put["data"]["k"], "2");
    let patch = json!({"metadata": {"resourceVersion": "0"}, "data": {"k": "3"}});
    let patched = server.merge(&item, &patch).await.ok();
    assert_eq!(patched["data"]["k"], "3");
    let lease = json!({"metadata": {"name": "l"}});
    let path = format!("{LEASES}/l");
    server.put(&path, &lease).await.created();
    let zero = json!({"metadata": {"name": "l", "resourceVersion": "0"}});
    server.put(&path, &zero).await.refused(422);
}
