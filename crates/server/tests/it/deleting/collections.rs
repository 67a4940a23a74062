//! Many at a time.

use serde_json::json;

use super::{CONFIG_MAPS, held};
use crate::{client::names, running::start_server};

#[tokio::test]
async fn everything_that_is_selected_goes_and_is_listed_as_it_was() {
    let server = start_server().await;
    let mut last = json!(null);
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        let object = json!({"metadata": {"name": name, "labels": {"app": app}}});
        last = server.post(CONFIG_MAPS, &object).await.created();
    }
    let mut events = super::watch_after(&server, &last).await;
    let selected = format!("{CONFIG_MAPS}?labelSelector=app%3Dweb");
    let deleted = server.delete(&selected).await.ok();
    assert_eq!(deleted["kind"], "ConfigMapList");
    assert_eq!(names(&deleted), ["a", "c"]);
    let told = events.shows(&["DELETED a", "DELETED c"]).await;
    assert!(told[0].version() < told[1].version());
    assert_eq!(server.get(CONFIG_MAPS).await.item_names(), ["b"]);
    server.delete(CONFIG_MAPS).await.ok();
    assert!(server.get(CONFIG_MAPS).await.item_names().is_empty());
    assert!(names(&server.delete(CONFIG_MAPS).await.ok()).is_empty());
}

#[tokio::test]
async fn finalizers_and_policies_count_for_each() {
    let server = start_server().await;
    held(&server, "a", json!(["x.io/f"])).await;
    held(&server, "b", json!([])).await;
    server.delete(CONFIG_MAPS).await.ok();
    assert_eq!(server.get(CONFIG_MAPS).await.item_names(), ["a"]);
    held(&server, "c", json!([])).await;
    let options = json!({"propagationPolicy": "Orphan"});
    server.delete_with(CONFIG_MAPS, &options).await.ok();
    let left = server.get(CONFIG_MAPS).await.ok();
    assert_eq!(names(&left), ["a", "c"]);
    assert_eq!(
        left["items"][1]["metadata"]["finalizers"],
        json!(["orphan"])
    );
}

#[tokio::test]
async fn other_namespaces_are_left_alone() {
    let server = start_server().await;
    held(&server, "a", json!([])).await;
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    let object = json!({"metadata": {"name": "a"}});
    server.post(elsewhere, &object).await.created();
    server.delete(CONFIG_MAPS).await.ok();
    assert_eq!(server.get(elsewhere).await.item_names(), ["a"]);
}

#[tokio::test]
async fn objects_of_the_whole_cluster_are_deleted_together_too() {
    let server = start_server().await;
    for name in ["one", "two"] {
        let node = json!({"metadata": {"name": name}});
        server.post("/api/v1/nodes", &node).await.created();
    }
    let deleted = server.delete("/api/v1/nodes").await.ok();
    assert_eq!(names(&deleted), ["one", "two"]);
}

#[tokio::test]
async fn a_deletion_of_many_is_refused_with_a_bad_selector() {
    let server = start_server().await;
    held(&server, "a", json!([])).await;
    let bad = format!("{CONFIG_MAPS}?labelSelector=a%20b%20c");
    server.delete(&bad).await.refused(400);
    assert_eq!(server.get(CONFIG_MAPS).await.item_names(), ["a"]);
}
