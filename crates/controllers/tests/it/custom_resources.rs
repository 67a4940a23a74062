//! Kinds that come while the controllers run.

use serde_json::{Value, json};

use crate::stage::{CONFIG_MAPS, Stage, config_map, owned, owner};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}})
}

/// Waits until objects of the kind are taken.
async fn define(stage: &Stage) {
    let mut watch = stage.watch(DEFINITIONS).await;
    stage.create(DEFINITIONS, definition()).await;
    let is_established = |definition: &Value| {
        let conditions = definition["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|it| it["type"] == "Established" && it["status"] == "True")
    };
    watch
        .until_passes("widgets.example.com", is_established)
        .await;
}

#[tokio::test]
async fn custom_resources_own_and_are_owned() {
    let stage = Stage::with("garbage-collector").await;
    define(&stage).await;
    let mut widgets = stage.watch(WIDGETS).await;
    let mut maps = stage.watch(CONFIG_MAPS).await;
    let top = stage.create(CONFIG_MAPS, config_map("top")).await;
    let middle = owned(widget("middle"), &[owner(&top)]);
    let middle = stage.create(WIDGETS, middle).await;
    let bottom = owned(config_map("bottom"), &[owner(&middle)]);
    stage.create(CONFIG_MAPS, bottom).await;
    stage
        .delete(&format!("{CONFIG_MAPS}/top"), "Background")
        .await;
    widgets.until("DELETED", "middle").await;
    maps.until("DELETED", "bottom").await;
    stage.end().await;
}

#[tokio::test]
async fn custom_resources_go_with_their_namespace() {
    let stage = Stage::with("namespace").await;
    define(&stage).await;
    let mut namespaces = stage.watch("/api/v1/namespaces").await;
    let mut widgets = stage.watch("/apis/example.com/v1/widgets").await;
    let namespace = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "team"}});
    stage.create("/api/v1/namespaces", namespace).await;
    stage
        .create(
            "/apis/example.com/v1/namespaces/team/widgets",
            widget("one"),
        )
        .await;
    stage.ask("DELETE", "/api/v1/namespaces/team", None).await;
    widgets.until("DELETED", "one").await;
    namespaces.until("DELETED", "team").await;
    stage.end().await;
}
