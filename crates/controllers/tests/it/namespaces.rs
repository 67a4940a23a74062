//! Namespaces beyond what was recorded.

use serde_json::{Value, json};

use crate::stage::{Stage, config_map};

fn namespace(name: &str) -> Value {
    json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
}

#[tokio::test]
async fn a_finalizer_of_somebody_else_holds_a_namespace() {
    let stage = Stage::with("namespace").await;
    let mut watch = stage.watch("/api/v1/namespaces").await;
    let mut held = namespace("held");
    held["spec"] = json!({"finalizers": ["x.io/own"]});
    stage.create("/api/v1/namespaces", held).await;
    stage
        .create("/api/v1/namespaces/held/configmaps", config_map("c1"))
        .await;
    stage.ask("DELETE", "/api/v1/namespaces/held", None).await;
    let mut left = Value::Null;
    while left != json!(["x.io/own"]) {
        left = watch.until("MODIFIED", "held").await["spec"]["finalizers"].clone();
    }
    let (_, mut object) = stage.ask("GET", "/api/v1/namespaces/held", None).await;
    object["spec"]["finalizers"] = json!([]);
    let path = "/api/v1/namespaces/held/finalize";
    assert_eq!(stage.ask("PUT", path, Some(object)).await.0, 200);
    watch.until("DELETED", "held").await;
    stage.end().await;
}

#[tokio::test]
async fn a_namespace_waits_for_pods_that_run() {
    let stage = Stage::with("namespace").await;
    let mut watch = stage.watch("/api/v1/namespaces").await;
    stage.create("/api/v1/namespaces", namespace("busy")).await;
    let pod = json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "web"},
        "spec": {
            "nodeName": "n1",
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "web", "image": "web"}],
        },
    });
    stage.create("/api/v1/namespaces/busy/pods", pod).await;
    stage
        .create(
            "/api/v1/namespaces/busy/configmaps",
            config_map("for-the-pod"),
        )
        .await;
    stage.ask("DELETE", "/api/v1/namespaces/busy", None).await;
    let mut remaining = Value::Null;
    while remaining["status"] != "True" {
        let told = watch.until("MODIFIED", "busy").await;
        remaining = told["status"]["conditions"][3].clone();
    }
    let text = "Some resources are remaining: pods. has 1 resource instances";
    assert_eq!(remaining["message"], text);
    let config_maps = "/api/v1/namespaces/busy/configmaps/for-the-pod";
    assert_eq!(stage.ask("GET", config_maps, None).await.0, 200);
    let now = json!({"gracePeriodSeconds": 0});
    stage
        .ask("DELETE", "/api/v1/namespaces/busy/pods/web", Some(now))
        .await;
    watch.until("DELETED", "busy").await;
    stage.end().await;
}

#[tokio::test]
async fn many_namespaces_go_at_once() {
    let stage = Stage::with("*").await;
    let mut watch = stage.watch("/api/v1/namespaces").await;
    for number in 0..20 {
        let name = format!("many-{number}");
        stage.create("/api/v1/namespaces", namespace(&name)).await;
        stage
            .ask("DELETE", &format!("/api/v1/namespaces/{name}"), None)
            .await;
    }
    let mut gone = 0;
    while gone < 20 {
        let (kind, _) = watch.next().await;
        gone += usize::from(kind == "DELETED");
    }
    stage.end().await;
}
