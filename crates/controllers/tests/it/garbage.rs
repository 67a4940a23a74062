//! The garbage collector beyond what was recorded.

use serde_json::{Value, json};

use crate::stage::{CONFIG_MAPS, Stage, config_map, owned, owner, waiting_owner};

const COLLECTOR: &str = "garbage-collector";

fn path(name: &str) -> String {
    format!("{CONFIG_MAPS}/{name}")
}

#[tokio::test]
async fn an_object_stays_while_one_of_its_owners_does() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let one = stage.create(CONFIG_MAPS, config_map("one")).await;
    let two = stage.create(CONFIG_MAPS, config_map("two")).await;
    let both = owned(config_map("both"), &[owner(&one), owner(&two)]);
    stage.create(CONFIG_MAPS, both).await;
    stage.delete(&path("one"), "Background").await;
    let left = watch.until("MODIFIED", "both").await;
    assert_eq!(left["metadata"]["ownerReferences"], json!([owner(&two)]));
    stage.delete(&path("two"), "Background").await;
    watch.until("DELETED", "both").await;
    stage.end().await;
}

#[tokio::test]
async fn an_owner_in_the_foreground_does_not_wait_for_what_another_keeps() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let one = stage.create(CONFIG_MAPS, config_map("one")).await;
    let two = stage.create(CONFIG_MAPS, config_map("two")).await;
    let both = owned(
        config_map("both"),
        &[waiting_owner(&one), waiting_owner(&two)],
    );
    stage.create(CONFIG_MAPS, both).await;
    stage.delete(&path("one"), "Foreground").await;
    watch.until("DELETED", "one").await;
    let (code, both) = stage.ask("GET", &path("both"), None).await;
    assert_eq!(code, 200);
    assert_eq!(
        both["metadata"]["ownerReferences"],
        json!([waiting_owner(&two)])
    );
    stage.end().await;
}

#[tokio::test]
async fn owners_that_wait_for_each_other_go_all_the_same() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let one = stage.create(CONFIG_MAPS, config_map("one")).await;
    let two = owned(config_map("two"), &[waiting_owner(&one)]);
    let two = stage.create(CONFIG_MAPS, two).await;
    let circle = json!({"metadata": {"ownerReferences": [waiting_owner(&two)]}});
    stage.ask("PATCH", &path("one"), Some(circle)).await;
    stage.delete(&path("one"), "Foreground").await;
    watch.until("DELETED", "one").await;
    let told = watch.summary();
    if !told.contains(&"DELETED two".to_owned()) {
        watch.until("DELETED", "two").await;
    }
    stage.end().await;
}

#[tokio::test]
async fn an_owner_of_another_uid_is_no_owner() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let one = stage.create(CONFIG_MAPS, config_map("one")).await;
    let mut reference = owner(&one);
    reference["uid"] = json!("00000000-0000-0000-0000-000000000002");
    stage
        .create(CONFIG_MAPS, owned(config_map("two"), &[reference]))
        .await;
    watch.until("DELETED", "two").await;
    assert_eq!(stage.ask("GET", &path("one"), None).await.0, 200);
    stage.end().await;
}

#[tokio::test]
async fn an_owner_in_another_namespace_is_no_owner_and_that_is_told() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let mut events = stage.watch("/api/v1/namespaces/default/events").await;
    let elsewhere = "/api/v1/namespaces/kube-public/configmaps";
    let other = stage.create(elsewhere, config_map("other")).await;
    stage
        .create(CONFIG_MAPS, owned(config_map("lost"), &[owner(&other)]))
        .await;
    watch.until("DELETED", "lost").await;
    let (_, event) = events.next().await;
    assert_eq!(event["reason"], "OwnerRefInvalidNamespace");
    assert_eq!(event["type"], "Warning");
    let uid = other["metadata"]["uid"].as_str().unwrap();
    let text = format!(
        "ownerRef [v1/ConfigMap, namespace: default, name: other, uid: {uid}] does not exist in \
         namespace \"default\""
    );
    assert_eq!(event["message"], text);
    stage.end().await;
}

#[tokio::test]
async fn owners_outside_of_namespaces_own_objects_inside() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let node = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}});
    let node = stage.create("/api/v1/nodes", node).await;
    stage
        .create(CONFIG_MAPS, owned(config_map("on-node"), &[owner(&node)]))
        .await;
    stage.delete("/api/v1/nodes/n1", "Background").await;
    watch.until("DELETED", "on-node").await;
    stage.end().await;
}

#[tokio::test]
async fn an_owner_inside_of_a_namespace_cannot_own_an_object_outside() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch("/api/v1/nodes").await;
    let one = stage.create(CONFIG_MAPS, config_map("one")).await;
    let node = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}});
    stage
        .create("/api/v1/nodes", owned(node, &[owner(&one)]))
        .await;
    watch.until("DELETED", "n1").await;
    stage.end().await;
}

#[tokio::test]
async fn what_lost_its_owner_while_nobody_looked_goes_at_the_start() {
    let mut stage = Stage::bare().await;
    let one = stage.create(CONFIG_MAPS, config_map("one")).await;
    let kept = stage.create(CONFIG_MAPS, config_map("kept")).await;
    for (name, owners) in [("two", &one), ("three", &kept)] {
        stage
            .create(CONFIG_MAPS, owned(config_map(name), &[owner(owners)]))
            .await;
    }
    stage.delete(&path("one"), "Background").await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    stage.control(COLLECTOR);
    watch.until("DELETED", "two").await;
    stage.end().await;
    assert_eq!(watch.summary(), ["DELETED two"]);
}

#[tokio::test]
async fn finalizers_of_others_hold_a_dependent() {
    let stage = Stage::with(COLLECTOR).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let one = stage.create(CONFIG_MAPS, config_map("one")).await;
    let mut two = owned(config_map("two"), &[waiting_owner(&one)]);
    two["metadata"]["finalizers"] = json!(["x.io/hold"]);
    stage.create(CONFIG_MAPS, two).await;
    stage.delete(&path("one"), "Foreground").await;
    let held: Value = watch.until("MODIFIED", "two").await;
    assert_eq!(held["metadata"]["finalizers"], json!(["x.io/hold"]));
    let (_, one) = stage.ask("GET", &path("one"), None).await;
    assert_eq!(one["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let patch = json!({"metadata": {"finalizers": null}});
    stage.ask("PATCH", &path("two"), Some(patch)).await;
    watch.until("DELETED", "one").await;
    stage.end().await;
}
