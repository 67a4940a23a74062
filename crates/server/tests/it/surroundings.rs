//! The cluster's other objects shape what is written: limits, classes, priorities, protection.

use serde_json::{Value, json};

use crate::running::{TestServer, start_server};

const PODS: &str = "/api/v1/namespaces/default/pods";
const LIMITS: &str = "/api/v1/namespaces/default/limitranges";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const PRIORITIES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

fn pod(name: &str, spec: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    for (member, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][member] = value.clone();
    }
    pod
}

async fn limit(server: &TestServer, limits: Value) {
    let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [limits]}});
    server.post(LIMITS, &range).await.created();
    server.has_settled().await;
}

#[tokio::test]
async fn containers_get_what_their_namespace_says_they_need() {
    let server = start_server().await;
    let defaults = json!({
        "type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"},
    });
    limit(&server, defaults).await;
    let made = server.post(PODS, &pod("p", json!({}))).await.created();
    let resources = &made["spec"]["containers"][0]["resources"];
    assert_eq!(
        *resources,
        json!({"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}})
    );
    assert_eq!(
        made["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    );
}

#[tokio::test]
async fn what_breaks_the_limits_of_a_namespace_is_refused() {
    let server = start_server().await;
    limit(
        &server,
        json!({"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "100m"}}),
    )
    .await;
    let resources = json!({"requests": {"cpu": "50m"}, "limits": {"cpu": "2"}});
    let spec = json!({"containers": [{"name": "c", "image": "i", "resources": resources}]});
    let refused = server.post(PODS, &pod("p", spec)).await;
    refused.says(
        403,
        "pods \"p\" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, \
         maximum cpu usage per Container is 1, but limit is 2]",
    );
}

#[tokio::test]
async fn a_class_gives_a_pod_its_priority() {
    let server = start_server().await;
    let made = server.post(PODS, &pod("none", json!({}))).await.created();
    assert_eq!(made["spec"]["priority"], 0);
    assert_eq!(made["spec"]["preemptionPolicy"], "PreemptLowerPriority");
    let named = |name: &str| json!({"priorityClassName": name});
    server.post(PODS, &pod("p", named("missing"))).await.says(
        403,
        "pods \"p\" is forbidden: no PriorityClass with name missing was found",
    );
    let critical = server
        .post(PODS, &pod("c", named("system-node-critical")))
        .await
        .created();
    assert_eq!(critical["spec"]["priority"], 2_000_001_000);
    let class = json!({"metadata": {"name": "high"}, "value": 7, "globalDefault": true});
    server.post(PRIORITIES, &class).await.created();
    server.has_settled().await;
    let made = server.post(PODS, &pod("p", json!({}))).await.created();
    assert_eq!(made["spec"]["priorityClassName"], "high");
    assert_eq!(made["spec"]["priority"], 7);
    let other = json!({"metadata": {"name": "other"}, "value": 8, "globalDefault": true});
    server.post(PRIORITIES, &other).await.says(
        403,
        "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass high is already \
         marked as default. Only one default can exist",
    );
}

#[tokio::test]
async fn a_claim_gets_the_default_class_and_is_protected() {
    let server = start_server().await;
    let class = json!({
        "metadata": {
            "name": "fast",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "example.com/fast",
    });
    server
        .post("/apis/storage.k8s.io/v1/storageclasses", &class)
        .await
        .created();
    server.has_settled().await;
    let claim = json!({
        "metadata": {"name": "c"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let made = server.post(CLAIMS, &claim).await.created();
    assert_eq!(made["spec"]["storageClassName"], "fast");
    assert_eq!(
        made["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
}

#[tokio::test]
async fn a_pod_that_names_no_account_runs_as_the_default_one() {
    let server = start_server().await;
    let made = server.post(PODS, &pod("p", json!({}))).await.created();
    assert_eq!(made["spec"]["serviceAccountName"], "default");
    assert_eq!(made["spec"]["serviceAccount"], "default");
}

#[tokio::test]
async fn a_pod_that_is_put_as_it_was_stated_stays_as_it_is() {
    let server = start_server().await;
    let stated = pod("p", json!({}));
    let made = server.post(PODS, &stated).await.created();
    let put = server.put(&format!("{PODS}/p"), &stated).await.ok();
    assert_eq!(put["spec"]["tolerations"], made["spec"]["tolerations"]);
    assert_eq!(put["spec"]["priority"], made["spec"]["priority"]);
}
