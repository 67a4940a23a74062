//! The cluster's other objects shape what is written: limits, classes, priorities, protection.

use listwatch_server::{PodAccounts, Settings};
use serde_json::{Value, json};

use crate::running::{TestServer, start_server, start_with};

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
    assert_eq!(put["metadata"]["generation"], 1);
    assert_eq!(put["metadata"], made["metadata"]);
}

#[tokio::test]
async fn who_leaves_out_a_priority_owns_it_no_longer_though_it_stays() {
    let server = start_server().await;
    let owns_it = |pod: &Value| {
        pod["metadata"]["managedFields"]
            .to_string()
            .contains("f:priority")
    };
    let stated = pod("p", json!({"priority": 0}));
    let made = server.post(PODS, &stated).await.created();
    assert!(owns_it(&made), "{made}");
    let put = server
        .put(&format!("{PODS}/p"), &pod("p", json!({})))
        .await
        .ok();
    assert_eq!(put["spec"], made["spec"]);
    assert_eq!(put["metadata"]["generation"], 1);
    assert!(!owns_it(&put), "{put}");
}

#[tokio::test]
async fn a_pod_that_is_put_with_other_tolerations_is_looked_at() {
    let server = start_server().await;
    let taint = |key: &str| json!({"key": key, "operator": "Exists"});
    let stated = pod("p", json!({"tolerations": [taint("a")]}));
    server.post(PODS, &stated).await.created();
    let refused = server.put(&format!("{PODS}/p"), &pod("p", json!({}))).await;
    let refused = refused.refused(422)["message"].to_string();
    let why = "existing toleration can not be modified except its tolerationSeconds";
    assert!(refused.contains(why), "{refused}");
    let more = pod("p", json!({"tolerations": [taint("a"), taint("b")]}));
    let put = server.put(&format!("{PODS}/p"), &more).await.ok();
    assert_eq!(put["metadata"]["generation"], 2);
}

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

async fn with_accounts() -> TestServer {
    start_with(Settings {
        pod_accounts: PodAccounts::Mounted,
        ..Settings::default()
    })
    .await
}

#[tokio::test]
async fn a_pod_gets_the_token_and_the_secrets_of_its_account() {
    let server = with_accounts().await;
    let account = json!({
        "metadata": {"name": "robot"}, "imagePullSecrets": [{"name": "registry"}],
    });
    server.post(ACCOUNTS, &account).await.created();
    let named = json!({"serviceAccountName": "robot"});
    let made = server.post(PODS, &pod("p", named.clone())).await.created();
    let volume = &made["spec"]["volumes"][0];
    let name = volume["name"].as_str().unwrap();
    assert!(
        name.starts_with("kube-api-access-") && name.len() == 21,
        "{name}"
    );
    let sources = volume["projected"]["sources"].as_array().unwrap();
    let token = json!({"expirationSeconds": 3_607, "path": "token"});
    assert_eq!(sources[0]["serviceAccountToken"], token);
    assert_eq!(sources[1]["configMap"]["name"], "kube-root-ca.crt");
    let mount = &made["spec"]["containers"][0]["volumeMounts"][0];
    let path = "/var/run/secrets/kubernetes.io/serviceaccount";
    assert_eq!(
        *mount,
        json!({"mountPath": path, "name": name, "readOnly": true})
    );
    assert_eq!(
        made["spec"]["imagePullSecrets"],
        json!([{"name": "registry"}])
    );
    let mut without = named.clone();
    without["automountServiceAccountToken"] = json!(false);
    let made = server.post(PODS, &pod("q", without)).await.created();
    assert_eq!(made["spec"]["volumes"], Value::Null);
    let silent = json!({"automountServiceAccountToken": false});
    server
        .merge(&format!("{ACCOUNTS}/robot"), &silent)
        .await
        .ok();
    server.has_settled().await;
    let made = server.post(PODS, &pod("r", named)).await.created();
    assert_eq!(made["spec"]["volumes"], Value::Null);
}

#[tokio::test]
async fn an_account_that_does_not_exist_is_refused() {
    let server = with_accounts().await;
    let named = json!({"serviceAccountName": "nobody"});
    server.post(PODS, &pod("p", named)).await.says(
        403,
        "pods \"p\" is forbidden: error looking up service account default/nobody: serviceaccount \
         \"nobody\" not found",
    );
}

#[tokio::test]
async fn a_pod_waits_for_the_default_account_of_its_namespace() {
    let server = with_accounts().await;
    let default = json!({"metadata": {"name": "default"}});
    let (object, create) = (pod("p", json!({})), async {
        tokio::task::yield_now().await;
        server.post(ACCOUNTS, &default).await.created()
    });
    let (made, _) = tokio::join!(server.post(PODS, &object), create);
    assert_eq!(made.created()["spec"]["serviceAccountName"], "default");
}

#[tokio::test]
async fn a_claim_grows_only_if_its_class_says_so() {
    let server = start_server().await;
    let class = |name: &str, growing: bool| {
        json!({
            "metadata": {"name": name}, "provisioner": "p", "allowVolumeExpansion": growing,
        })
    };
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    server.post(classes, &class("fixed", false)).await.created();
    server
        .post(classes, &class("growing", true))
        .await
        .created();
    for name in ["fixed", "growing"] {
        let claim = json!({
            "metadata": {"name": name},
            "spec": {
                "storageClassName": name, "accessModes": ["ReadWriteOnce"],
                "volumeName": "v", "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        server.post(CLAIMS, &claim).await.created();
    }
    let bound = json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}});
    let larger = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    for name in ["fixed", "growing"] {
        let status = format!("{CLAIMS}/{name}/status");
        server.merge(&status, &bound).await.ok();
    }
    server.merge(&format!("{CLAIMS}/fixed"), &larger).await.says(
        403,
        "persistentvolumeclaims \"fixed\" is forbidden: only dynamically provisioned pvc can be \
         resized and the storageclass that provisions the pvc must support resize",
    );
    let grown = server
        .merge(&format!("{CLAIMS}/growing"), &larger)
        .await
        .ok();
    assert_eq!(grown["spec"]["resources"]["requests"]["storage"], "2Gi");
}

#[tokio::test]
async fn a_namespace_takes_only_finalizers_with_proper_names() {
    let server = start_server().await;
    let mut namespace = server.get("/api/v1/namespaces/default").await.ok();
    namespace["spec"]["finalizers"] = json!(["kubernetes", "mine"]);
    let path = "/api/v1/namespaces/default/finalize";
    server.put(path, &namespace).await.says(
        422,
        "Namespace \"default\" is invalid: spec.finalizers[1]: Invalid value: \"mine\": name is \
         neither a standard finalizer name nor is it fully qualified",
    );
    namespace["spec"]["finalizers"] = json!(["kubernetes", "ex.com/mine"]);
    let finalized = server.put(path, &namespace).await.ok();
    assert_eq!(finalized["spec"]["finalizers"][1], "ex.com/mine");
}
