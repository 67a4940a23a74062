//! Disruption budgets, and how many of their pods may go.

use serde_json::{Value, json};

use crate::stage::Stage;

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const PODS: &str = "/api/v1/namespaces/default/pods";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

fn budget(spec: Value) -> Value {
    let mut spec = spec;
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": spec,
    })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

fn replica_set(replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    })
}

async fn make_ready(stage: &Stage, name: &str) {
    let ready = json!({"status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
    }});
    let path = format!("{PODS}/{name}/status");
    assert_eq!(stage.ask("PATCH", &path, Some(ready)).await.0, 200);
}

fn reason(budget: &Value) -> &Value {
    &budget["status"]["conditions"][0]["reason"]
}

#[tokio::test]
async fn a_budget_says_how_many_of_its_pods_may_go() {
    let stage = Stage::with("disruption").await;
    let mut budgets = stage.watch(BUDGETS).await;
    stage
        .create(BUDGETS, budget(json!({"minAvailable": 1})))
        .await;
    let observed = |it: &Value| it["status"]["observedGeneration"] == 1;
    let first = budgets.until_passes("web", observed).await;
    assert_eq!(reason(&first), "InsufficientPods");
    for name in ["a", "b", "c"] {
        stage.create(PODS, pod(name)).await;
        make_ready(&stage, name).await;
    }
    let allowed = |it: &Value| it["status"]["disruptionsAllowed"] == 2;
    let enough = budgets.until_passes("web", allowed).await;
    let status = &enough["status"];
    assert_eq!(status["currentHealthy"], 3);
    assert_eq!(status["desiredHealthy"], 1);
    assert_eq!(status["expectedPods"], 3);
    assert_eq!(reason(&enough), "SufficientPods");
    stage.end().await;
}

#[tokio::test]
async fn an_eviction_is_allowed_by_what_a_budget_says() {
    let stage = Stage::with("disruption").await;
    let mut budgets = stage.watch(BUDGETS).await;
    for name in ["a", "b"] {
        stage.create(PODS, pod(name)).await;
        make_ready(&stage, name).await;
    }
    stage
        .create(BUDGETS, budget(json!({"minAvailable": 1})))
        .await;
    let allowed = |it: &Value| it["status"]["disruptionsAllowed"] == 1;
    budgets.until_passes("web", allowed).await;
    let evict = async |name: &str| {
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name},
        });
        let path = format!("{PODS}/{name}/eviction");
        stage.ask("POST", &path, Some(eviction)).await
    };
    assert_eq!(evict("a").await.0, 201);
    let settled = |it: &Value| {
        it["status"]["currentHealthy"] == 1 && it["status"].get("disruptedPods").is_none()
    };
    budgets.until_passes("web", settled).await;
    let (code, refused) = evict("b").await;
    assert_eq!(code, 429, "{refused}");
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn parts_of_a_hundred_are_of_what_the_controllers_of_the_pods_want() {
    let stage = Stage::with_nodes(1).await;
    let mut budgets = stage.watch(BUDGETS).await;
    let spec = json!({"maxUnavailable": "30%"});
    stage.create(BUDGETS, budget(spec)).await;
    stage.create(REPLICA_SETS, replica_set(4)).await;
    let allowed = |it: &Value| it["status"]["disruptionsAllowed"] == 2;
    let told = budgets.until_passes("web", allowed).await;
    assert_eq!(told["status"]["expectedPods"], 4);
    assert_eq!(told["status"]["desiredHealthy"], 2);
    stage.end().await;
}

#[tokio::test]
async fn a_budget_whose_pods_are_of_an_unknown_size_allows_nothing_and_says_why() {
    let stage = Stage::with("disruption").await;
    let mut budgets = stage.watch(BUDGETS).await;
    let mut owned = pod("a");
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": "7",
        "controller": true,
    }]);
    stage.create(PODS, owned).await;
    let spec = json!({"maxUnavailable": 1});
    stage.create(BUDGETS, budget(spec)).await;
    let has_failed = |it: &Value| reason(it) == "SyncFailed";
    let failed = budgets.until_passes("web", has_failed).await;
    assert_eq!(failed["status"]["disruptionsAllowed"], 0);
    assert_eq!(
        failed["status"]["conditions"][0]["message"],
        "configmaps does not implement the scale subresource"
    );
    stage.end().await;
}
