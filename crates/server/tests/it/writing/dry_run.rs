//! dryRun=All: everything is done but the writing.

use http::Method;
use serde_json::json;

use super::{CONFIG_MAPS, config_map};
use crate::{
    client::version,
    running::{TestServer, start_server},
};

async fn newest(server: &TestServer) -> u64 {
    version(&server.get(CONFIG_MAPS).await.ok())
}

#[tokio::test]
async fn nothing_is_written_by_a_dry_run() {
    let server = start_server().await;
    let stored = server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let before = newest(&server).await;
    let item = format!("{CONFIG_MAPS}/a?dryRun=All");
    let collection = format!("{CONFIG_MAPS}?dryRun=All");
    let changed = json!({"metadata": {"name": "a"}, "data": {"k": "other"}});

    let created = server.post(&collection, &config_map("new")).await.created();
    assert!(created["metadata"]["uid"].is_string());
    assert!(created["metadata"].get("resourceVersion").is_none());
    let generated = json!({"metadata": {"generateName": "b-"}});
    let generated = server.post(&collection, &generated).await.created();
    assert!(generated["metadata"]["name"].as_str().unwrap().len() > 2);
    let put = server.put(&item, &changed).await.ok();
    assert_eq!(put["data"]["k"], "other");
    assert_eq!(version(&put), version(&stored));
    let merged = server.merge(&item, &json!({"data": {"l": "w"}})).await.ok();
    assert_eq!(merged["data"], json!({"k": "v", "l": "w"}));
    assert_eq!(server.delete(&item).await.ok()["status"], "Success");
    let deleted = server.delete(&collection).await.ok();
    assert_eq!(deleted["items"].as_array().unwrap().len(), 1);

    assert_eq!(newest(&server).await, before, "no revision was used");
    assert_eq!(server.get(&format!("{CONFIG_MAPS}/a")).await.ok(), stored);
    server.get(&format!("{CONFIG_MAPS}/new")).await.refused(404);
}

#[tokio::test]
async fn a_dry_run_is_refused_as_the_write_would_be() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let collection = format!("{CONFIG_MAPS}?dryRun=All");
    server
        .post(&collection, &config_map("a"))
        .await
        .refused(409);
    let bad = json!({"metadata": {"name": "Not A Name"}});
    server.post(&collection, &bad).await.refused(422);
    let stale = json!({"metadata": {"name": "a", "resourceVersion": "1"}});
    let item = format!("{CONFIG_MAPS}/a?dryRun=All");
    server.put(&item, &stale).await.refused(409);
    let absent = format!("{CONFIG_MAPS}/absent?dryRun=All");
    server.delete(&absent).await.refused(404);
    server.merge(&absent, &json!({})).await.refused(404);
}

#[tokio::test]
async fn another_kind_of_dry_run_is_refused() {
    let server = start_server().await;
    for (method, path, kind) in [
        (Method::POST, CONFIG_MAPS.to_owned(), "CreateOptions"),
        (Method::PUT, format!("{CONFIG_MAPS}/a"), "UpdateOptions"),
        (Method::DELETE, format!("{CONFIG_MAPS}/a"), "DeleteOptions"),
    ] {
        let path = format!("{path}?dryRun=Some");
        let call = server.call(method.clone(), &path);
        let call = match method {
            Method::DELETE => call,
            _ => call.json(&config_map("a")),
        };
        let status = call.answer().await.refused(422);
        assert_eq!(status["details"]["kind"], kind);
        assert_eq!(status["details"]["causes"][0]["field"], "dryRun");
    }
}

#[tokio::test]
async fn options_of_a_delete_may_ask_for_a_dry_run_in_the_body() {
    let server = start_server().await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    let item = format!("{CONFIG_MAPS}/a");
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]});
    server.delete_with(&item, &options).await.ok();
    server.get(&item).await.ok();
}
