//! Pods are bound to nodes, and evicted as far as their budgets allow.

use serde_json::{Value, json};

use crate::running::{TestServer, start_server};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn create_pod(server: &TestServer, name: &str) -> Value {
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    server.post(PODS, &pod).await.created()
}

fn binding(name: &str) -> Value {
    json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-1"}})
}

async fn run(server: &TestServer, name: &str) {
    let path = format!("{PODS}/{name}/status");
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let running = json!({"status": {"phase": "Running", "conditions": ready}});
    server.merge(&path, &running).await.ok();
}

async fn evict(server: &TestServer, name: &str) -> crate::client::Answer {
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
    });
    server
        .post(&format!("{PODS}/{name}/eviction"), &eviction)
        .await
}

#[tokio::test]
async fn a_binding_gives_a_pod_its_node_once() {
    let server = start_server().await;
    create_pod(&server, "p").await;
    let path = format!("{PODS}/p/binding");
    let done = server.post(&path, &binding("p")).await.created();
    assert_eq!(done["status"], "Success");
    let pod = server.get(&format!("{PODS}/p")).await.ok();
    assert_eq!(pod["spec"]["nodeName"], "node-1");
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .any(|one| one["type"] == "PodScheduled" && one["status"] == "True")
    );
    server.post(&path, &binding("p")).await.says(
        409,
        "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \
         \"node-1\"",
    );
}

#[tokio::test]
async fn a_binding_may_be_posted_beside_the_pods() {
    let server = start_server().await;
    create_pod(&server, "p").await;
    let bindings = "/api/v1/namespaces/default/bindings";
    server.post(bindings, &binding("p")).await.created();
    let missing = server.post(bindings, &binding("q")).await;
    missing.says(404, "pods \"q\" not found");
    let nowhere = json!({"metadata": {"name": "p"}, "target": {}});
    let refused = server.post(bindings, &nowhere).await;
    refused.says(500, "target.name: Required value");
}

#[tokio::test]
async fn an_eviction_deletes_a_pod_that_no_budget_protects() {
    let server = start_server().await;
    create_pod(&server, "p").await;
    evict(&server, "p").await.created();
    assert_eq!(server.get(&format!("{PODS}/p")).await.code, 404);
    evict(&server, "p").await.says(404, "pods \"p\" not found");
}

#[tokio::test]
async fn an_eviction_is_refused_when_the_budget_is_spent() {
    let server = start_server().await;
    for name in ["p", "q"] {
        create_pod(&server, name).await;
        run(&server, name).await;
    }
    let budget = json!({
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    });
    server.post(BUDGETS, &budget).await.created();
    let unknown = evict(&server, "p").await;
    unknown.says(
        429,
        "Cannot evict pod as it would violate the pod's disruption budget.",
    );
    let observed = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2,
        "desiredHealthy": 1, "expectedPods": 2,
    }});
    server
        .merge(&format!("{BUDGETS}/b/status"), &observed)
        .await
        .ok();
    evict(&server, "p").await.created();
    let refused = evict(&server, "q").await.refused(429);
    assert_eq!(
        refused["details"]["causes"][0]["message"],
        "The disruption budget b does not allow evicting pods currently"
    );
    let spent = server.get(&format!("{BUDGETS}/b")).await.ok();
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
    assert!(spent["status"]["disruptedPods"]["p"].is_string());
}

#[tokio::test]
async fn a_resize_changes_what_containers_get_and_nothing_else() {
    let server = start_server().await;
    let container = |image: &str, cpu: &str| {
        let resources = json!({"requests": {"cpu": cpu}});
        json!({"spec": {"containers": [{"name": "c", "image": image, "resources": resources}]}})
    };
    let mut pod = container("i", "100m");
    pod["metadata"] = json!({"name": "p"});
    server.post(PODS, &pod).await.created();
    let path = format!("{PODS}/p/resize");
    let resized = server.merge(&path, &container("other", "200m")).await.ok();
    let resized = &resized["spec"]["containers"][0];
    assert_eq!(resized["resources"]["requests"]["cpu"], "200m");
    assert_eq!(resized["image"], "i");
    let none = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
    let refused = server.merge(&path, &none).await.refused(422);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("resource requests cannot be removed"),
        "{message}"
    );
}

#[tokio::test]
async fn whoever_looks_into_a_pod_stays_as_he_came() {
    let server = start_server().await;
    create_pod(&server, "p").await;
    let path = format!("{PODS}/p/ephemeralcontainers");
    let with =
        |image: &str| json!({"spec": {"ephemeralContainers": [{"name": "look", "image": image}]}});
    let pod = server.merge(&path, &with("busybox")).await.ok();
    let added = &pod["spec"]["ephemeralContainers"][0];
    assert_eq!(added["terminationMessagePolicy"], "File");
    let refused = server.merge(&path, &with("other")).await.refused(422);
    let message = refused["message"].as_str().unwrap();
    let expected = "existing ephemeral containers \"look\" may not be changed\n@@ -1,6 +1,6 @@\n";
    assert!(message.contains(expected), "{message}");
}
