//! Templates that change, and pods that change hands.

use serde_json::{Value, json};

use crate::stage::{Stage, condition, template, workload};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";
const STATEFUL_SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
const PODS: &str = "/api/v1/namespaces/default/pods";

const REVISION: &str = "deployment.kubernetes.io/revision";

async fn patch(stage: &Stage, path: &str, patch: Value) {
    let (code, answer) = stage.ask("PATCH", path, Some(patch)).await;
    assert_eq!(code, 200, "{answer}");
}

async fn use_image(stage: &Stage, path: &str, app: &str, image: &str) {
    let new = json!({"spec": {"template": template(app, image)}});
    patch(stage, path, new).await;
}

fn owner(object: &Value) -> &Value {
    &object["metadata"]["ownerReferences"][0]["name"]
}

fn reason<'a>(object: &'a Value, name: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|it| it["type"] == name);
    found.map_or(&Value::Null, |it| &it["reason"])
}

#[tokio::test(start_paused = true)]
async fn pods_are_taken_and_let_go_by_their_labels() {
    let stage = Stage::with_nodes(1).await;
    let mut pods = stage.watch(PODS).await;
    let orphan = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "orphan", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    stage.create(PODS, orphan).await;
    let is_ready = |pod: &Value| condition(pod, "Ready") == "True";
    pods.until_passes("orphan", is_ready).await;
    let set = workload("apps/v1", "ReplicaSet", "web", 1);
    stage.create(REPLICA_SETS, set).await;
    pods.until_passes("orphan", |pod| owner(pod) == "web").await;
    let other = json!({"metadata": {"labels": {"app": "other"}}});
    patch(&stage, &format!("{PODS}/orphan"), other).await;
    let is_free = |pod: &Value| pod["metadata"].get("ownerReferences").is_none();
    pods.until_passes("orphan", is_free).await;
    let replacement = loop {
        let (kind, pod) = pods.next().await;
        if kind == "ADDED" {
            break pod;
        }
    };
    assert_eq!(owner(&replacement), "web");
    let (code, _) = stage.ask("GET", &format!("{PODS}/orphan"), None).await;
    assert_eq!(code, 200);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_replication_controller_has_its_pods_or_says_why_not() {
    let stage = Stage::with_nodes(1).await;
    let mut controllers = stage.watch(CONTROLLERS).await;
    let quota = json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "two"},
        "spec": {"hard": {"pods": "2"}},
    });
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    stage.create(quotas, quota).await;
    let mut controller = workload("v1", "ReplicationController", "web", 3);
    controller["spec"]["selector"] = json!({"app": "web"});
    stage.create(CONTROLLERS, controller).await;
    let has_failed = |it: &Value| condition(it, "ReplicaFailure") == "True";
    let failed = controllers.until_passes("web", has_failed).await;
    assert_eq!(reason(&failed, "ReplicaFailure"), "FailedCreate");
    let fewer = json!({"spec": {"replicas": 2}});
    patch(&stage, &format!("{CONTROLLERS}/web"), fewer).await;
    let is_well = |it: &Value| {
        it["status"]["readyReplicas"] == 2 && condition(it, "ReplicaFailure").is_null()
    };
    controllers.until_passes("web", is_well).await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_goes_back_to_a_former_template_and_its_set() {
    let stage = Stage::with_nodes(1).await;
    let mut deployments = stage.watch(DEPLOYMENTS).await;
    let mut web = workload("apps/v1", "Deployment", "web", 2);
    web["metadata"]["annotations"] = json!({"kubernetes.io/change-cause": "first"});
    stage.create(DEPLOYMENTS, web).await;
    let path = format!("{DEPLOYMENTS}/web");
    let is_complete = |revision: &'static str| {
        move |it: &Value| {
            it["metadata"]["annotations"][REVISION] == revision
                && it["status"]["observedGeneration"] == it["metadata"]["generation"]
                && it["status"]["updatedReplicas"] == 2
                && reason(it, "Progressing") == "NewReplicaSetAvailable"
                && it["status"]["replicas"] == 2
        }
    };
    deployments.until_passes("web", is_complete("1")).await;
    let (_, first) = stage.ask("GET", REPLICA_SETS, None).await;
    let annotations = &first["items"][0]["metadata"]["annotations"];
    assert_eq!(annotations["kubernetes.io/change-cause"], "first");
    use_image(&stage, &path, "web", "example.com/two:2").await;
    deployments.until_passes("web", is_complete("2")).await;
    use_image(&stage, &path, "web", "example.com/one:1").await;
    deployments.until_passes("web", is_complete("3")).await;
    let (_, sets) = stage.ask("GET", REPLICA_SETS, None).await;
    let sets = sets["items"].as_array().unwrap();
    assert_eq!(sets.len(), 2);
    let old = sets
        .iter()
        .find(|it| it["metadata"]["uid"] == first["items"][0]["metadata"]["uid"]);
    let old = old.unwrap();
    assert_eq!(old["spec"]["replicas"], 2);
    let annotations = &old["metadata"]["annotations"];
    assert_eq!(annotations[REVISION], "3");
    assert_eq!(
        annotations["deployment.kubernetes.io/revision-history"],
        "1"
    );
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_hangs_says_so() {
    let stage = Stage::with_nodes_in_step(1).await;
    let mut deployments = stage.watch(DEPLOYMENTS).await;
    let mut web = workload("apps/v1", "Deployment", "web", 1);
    web["spec"]["progressDeadlineSeconds"] = json!(20);
    web["spec"]["template"]["spec"]["nodeSelector"] = json!({"no": "such"});
    stage.create(DEPLOYMENTS, web).await;
    let hangs = |it: &Value| condition(it, "Progressing") == "False";
    let late = deployments.until_passes("web", hangs).await;
    assert_eq!(reason(&late, "Progressing"), "ProgressDeadlineExceeded");
    assert_eq!(condition(&late, "Available"), "False");
    let path = format!("{DEPLOYMENTS}/web");
    use_image(&stage, &path, "web", "example.com/two:2").await;
    let free = json!({"spec": {"template": {"spec": {"nodeSelector": null}}}});
    patch(&stage, &path, free).await;
    let is_done = |it: &Value| reason(it, "Progressing") == "NewReplicaSetAvailable";
    deployments.until_passes("web", is_done).await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_keeps_its_template_until_it_goes_on() {
    let stage = Stage::with_nodes(1).await;
    let mut deployments = stage.watch(DEPLOYMENTS).await;
    let web = workload("apps/v1", "Deployment", "web", 1);
    stage.create(DEPLOYMENTS, web).await;
    let is_done = |it: &Value| reason(it, "Progressing") == "NewReplicaSetAvailable";
    deployments.until_passes("web", is_done).await;
    let path = format!("{DEPLOYMENTS}/web");
    patch(&stage, &path, json!({"spec": {"paused": true}})).await;
    let is_paused = |it: &Value| reason(it, "Progressing") == "DeploymentPaused";
    deployments.until_passes("web", is_paused).await;
    use_image(&stage, &path, "web", "example.com/two:2").await;
    let is_seen = |it: &Value| it["status"]["observedGeneration"] == 3;
    deployments.until_passes("web", is_seen).await;
    let (_, sets) = stage.ask("GET", REPLICA_SETS, None).await;
    assert_eq!(sets["items"].as_array().unwrap().len(), 1);
    patch(&stage, &path, json!({"spec": {"paused": false}})).await;
    let is_second = |it: &Value| it["metadata"]["annotations"][REVISION] == "2" && is_done(it);
    deployments.until_passes("web", is_second).await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_is_updated_from_its_partition_on_and_remembers_its_templates() {
    let stage = Stage::with_nodes(2).await;
    let mut sets = stage.watch(STATEFUL_SETS).await;
    let mut db = workload("apps/v1", "StatefulSet", "db", 2);
    db["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": 1}});
    stage.create(STATEFUL_SETS, db).await;
    let is_ready = |it: &Value| it["status"]["readyReplicas"] == 2;
    let first = sets.until_passes("db", is_ready).await;
    let revision = |set: &Value, which: &str| set["status"][which].as_str().unwrap().to_owned();
    let old = revision(&first, "currentRevision");
    assert_eq!(old, revision(&first, "updateRevision"));
    let path = format!("{STATEFUL_SETS}/db");
    use_image(&stage, &path, "db", "example.com/two:2").await;
    let is_partly_new = |it: &Value| {
        it["status"]["updatedReplicas"] == 1 && it["status"]["currentReplicas"] == 1 && is_ready(it)
    };
    let second = sets.until_passes("db", is_partly_new).await;
    let new = revision(&second, "updateRevision");
    assert_eq!(revision(&second, "currentRevision"), old);
    let label = async |name: &str| {
        let (_, pod) = stage.ask("GET", &format!("{PODS}/{name}"), None).await;
        pod["metadata"]["labels"]["controller-revision-hash"].clone()
    };
    assert_eq!(
        (label("db-0").await, label("db-1").await),
        (json!(old), json!(new))
    );
    let whole = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}});
    patch(&stage, &path, whole).await;
    let is_new = |it: &Value| it["status"]["currentRevision"] == new.as_str() && is_ready(it);
    sets.until_passes("db", is_new).await;
    use_image(&stage, &path, "db", "example.com/one:1").await;
    let is_back = |it: &Value| it["status"]["currentRevision"] == old.as_str() && is_ready(it);
    sets.until_passes("db", is_back).await;
    let (_, revisions) = stage.ask("GET", REVISIONS, None).await;
    let mut numbers: Vec<_> = revisions["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["revision"].as_i64(), it["metadata"]["name"].clone()))
        .collect();
    numbers.sort_by_key(|(number, _)| *number);
    assert_eq!(numbers, [(Some(2), json!(new)), (Some(3), json!(old))]);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_replaces_its_pods_or_waits_until_they_are_deleted() {
    let stage = Stage::with_nodes(2).await;
    let mut sets = stage.watch(DAEMON_SETS).await;
    let mut pods = stage.watch(PODS).await;
    let mut agent = workload("apps/v1", "DaemonSet", "agent", 0);
    agent["spec"].as_object_mut().unwrap().remove("replicas");
    stage.create(DAEMON_SETS, agent).await;
    let is_updated = |count: u32| {
        move |it: &Value| {
            it["status"]["observedGeneration"] == it["metadata"]["generation"]
                && it["status"]["updatedNumberScheduled"]
                    .as_u64()
                    .unwrap_or_default()
                    == u64::from(count)
                && it["status"]["numberReady"] == 2
        }
    };
    sets.until_passes("agent", is_updated(2)).await;
    let path = format!("{DAEMON_SETS}/agent");
    use_image(&stage, &path, "agent", "example.com/two:2").await;
    sets.until_passes("agent", is_updated(2)).await;
    let by_hand = json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}});
    patch(&stage, &path, by_hand).await;
    use_image(&stage, &path, "agent", "example.com/three:3").await;
    sets.until_passes("agent", is_updated(0)).await;
    let (_, list) = stage.ask("GET", PODS, None).await;
    let name = list["items"][0]["metadata"]["name"].as_str().unwrap();
    stage.delete(&format!("{PODS}/{name}"), "Background").await;
    pods.until("DELETED", name).await;
    sets.until_passes("agent", is_updated(1)).await;
    let (_, revisions) = stage.ask("GET", REVISIONS, None).await;
    assert_eq!(revisions["items"].as_array().unwrap().len(), 3);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_to_an_image_that_is_not_there_costs_one_pod_until_it_is_taken_back() {
    let stage = Stage::with_nodes(2).await;
    let mut sets = stage.watch(DAEMON_SETS).await;
    let mut pods = stage.watch(PODS).await;
    let mut set = workload("apps/v1", "DaemonSet", "agent", 0);
    set["spec"] = json!({
        "selector": {"matchLabels": {"app": "agent"}},
        "template": template("agent", "agent:1"),
    });
    stage.create(DAEMON_SETS, set).await;
    let is_available = |it: &Value| {
        it["status"]["numberAvailable"] == 2
            && it["status"]["observedGeneration"] == it["metadata"]["generation"]
    };
    sets.until_passes("agent", is_available).await;
    let path = format!("{DAEMON_SETS}/agent");
    use_image(&stage, &path, "agent", "agent:non-existent").await;
    let waiting = loop {
        let (_, pod) = pods.next().await;
        let state = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
        if state["reason"] == "ImagePullBackOff" {
            break pod;
        }
    };
    let hung = |it: &Value| it["status"]["numberUnavailable"] == 1;
    let hung = sets.until_passes("agent", hung).await;
    assert_eq!(hung["status"]["numberAvailable"], 1, "{hung}");
    let (_, there) = stage.ask("GET", PODS, None).await;
    let images = there["items"].as_array().expect("a list").iter();
    let old = images.filter(|pod| pod["spec"]["containers"][0]["image"] == "agent:1");
    assert_eq!(old.count(), 1, "{there}");
    use_image(&stage, &path, "agent", "agent:1").await;
    let name = waiting["metadata"]["name"].as_str().expect("a name");
    pods.until("DELETED", name).await;
    sets.until_passes("agent", is_available).await;
    stage.end().await;
}
