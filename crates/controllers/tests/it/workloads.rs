//! Pods that come, live and go on nodes that are simulated.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::{Stage, condition, template, workload};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const STATEFUL_SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn job(name: &str) -> Value {
    let mut job = workload("batch/v1", "Job", name, 1);
    let spec = job["spec"].as_object_mut().unwrap();
    spec["template"]["spec"]["restartPolicy"] = json!("Never");
    spec.remove("replicas");
    spec.remove("selector");
    job
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_placed_starts_becomes_ready_and_ends() {
    let stage = Stage::with_nodes(2).await;
    let mut pods = stage.watch(PODS).await;
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
    });
    let created = stage.create(PODS, pod).await;
    assert_eq!(created["status"]["phase"], "Pending");
    let scheduled = pods
        .until_passes("web", |pod| condition(pod, "PodScheduled") == "True")
        .await;
    assert!(
        scheduled["spec"]["nodeName"]
            .as_str()
            .unwrap()
            .starts_with("node-")
    );
    let waiting = pods
        .until_passes("web", |pod| condition(pod, "ContainersReady") == "False")
        .await;
    let state = &waiting["status"]["containerStatuses"][0]["state"];
    assert_eq!(state["waiting"]["reason"], "ContainerCreating");
    let ready = pods
        .until_passes("web", |pod| condition(pod, "Ready") == "True")
        .await;
    assert_eq!(ready["status"]["phase"], "Running");
    assert_eq!(condition(&ready, "ContainersReady"), "True");
    let (code, _) = stage.ask("DELETE", &format!("{PODS}/web"), None).await;
    assert_eq!(code, 200);
    let marked = pods.until("MODIFIED", "web").await;
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    pods.until("DELETED", "web").await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_rolled_over_and_never_short_of_pods() {
    let stage = Stage::with_nodes(2).await;
    let mut deployments = stage.watch(DEPLOYMENTS).await;
    stage
        .create(DEPLOYMENTS, workload("apps/v1", "Deployment", "web", 3))
        .await;
    let is_complete = |revision: &'static str| {
        move |deployment: &Value| {
            let status = &deployment["status"];
            let annotations = &deployment["metadata"]["annotations"];
            annotations["deployment.kubernetes.io/revision"] == revision
                && status["updatedReplicas"] == 3
                && status["availableReplicas"] == 3
                && status["replicas"] == 3
                && status["observedGeneration"] == deployment["metadata"]["generation"]
        }
    };
    let first = deployments.until_passes("web", is_complete("1")).await;
    assert_eq!(condition(&first, "Available"), "True");
    let patch = json!({"spec": {"template": template("web", "example.com/two:2")}});
    stage
        .ask("PATCH", &format!("{DEPLOYMENTS}/web"), Some(patch))
        .await;
    deployments.until_passes("web", is_complete("2")).await;
    let begun = deployments
        .seen
        .iter()
        .position(|it| it["object"] == first)
        .unwrap();
    for event in &deployments.seen[begun..] {
        let available = event["object"]["status"]["availableReplicas"].as_i64();
        assert!(available.unwrap_or_default() >= 3, "{event:#}");
    }
    let (_, sets) = stage.ask("GET", REPLICA_SETS, None).await;
    let mut sizes: Vec<_> = sets["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| set["spec"]["replicas"].as_i64().unwrap())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 3]);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_is_deleted_takes_its_pods_along() {
    let stage = Stage::with_nodes(1).await;
    let mut deployments = stage.watch(DEPLOYMENTS).await;
    let mut pods = stage.watch(PODS).await;
    stage
        .create(DEPLOYMENTS, workload("apps/v1", "Deployment", "web", 2))
        .await;
    let is_ready = |it: &Value| it["status"]["readyReplicas"] == 2;
    deployments.until_passes("web", is_ready).await;
    stage
        .delete(&format!("{DEPLOYMENTS}/web"), "Foreground")
        .await;
    deployments.until("DELETED", "web").await;
    let mut gone = 0;
    while gone < 2 {
        gone += usize::from(pods.next().await.0 == "DELETED");
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_recreates_has_no_two_templates_at_once() {
    let stage = Stage::with_nodes(1).await;
    let mut deployments = stage.watch(DEPLOYMENTS).await;
    let mut web = workload("apps/v1", "Deployment", "web", 2);
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    stage.create(DEPLOYMENTS, web).await;
    let is_ready = |it: &Value| it["status"]["readyReplicas"] == 2;
    deployments.until_passes("web", is_ready).await;
    let mut pods = stage.watch(PODS).await;
    let patch = json!({"spec": {"template": template("web", "example.com/two:2")}});
    stage
        .ask("PATCH", &format!("{DEPLOYMENTS}/web"), Some(patch))
        .await;
    let mut kinds = Vec::new();
    while kinds.len() < 4 {
        match pods.next().await.0 {
            "MODIFIED" => {}
            kind => kinds.push(kind),
        }
    }
    assert_eq!(kinds, ["DELETED", "DELETED", "ADDED", "ADDED"]);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_stateful_set_come_in_order_and_go_in_the_opposite_order() {
    let stage = Stage::with_nodes(2).await;
    let mut sets = stage.watch(STATEFUL_SETS).await;
    let mut pods = stage.watch(PODS).await;
    stage
        .create(STATEFUL_SETS, workload("apps/v1", "StatefulSet", "db", 3))
        .await;
    sets.until_passes("db", |it| it["status"]["readyReplicas"] == 3)
        .await;
    let patch = json!({"spec": {"replicas": 1}});
    stage
        .ask("PATCH", &format!("{STATEFUL_SETS}/db"), Some(patch))
        .await;
    pods.until("DELETED", "db-1").await;
    let mut ready = Vec::new();
    for event in &pods.seen {
        let name = event["object"]["metadata"]["name"].as_str().unwrap();
        match event["type"].as_str().unwrap() {
            "ADDED" => {
                let before: usize = name.trim_start_matches("db-").parse().unwrap();
                assert_eq!(ready.len(), before, "{name} came too soon");
            }
            "MODIFIED" if condition(&event["object"], "Ready") == "True" => {
                ready.push(name);
                ready.dedup();
            }
            _ => {}
        }
    }
    let told = pods.summary();
    let place = |text: &str| told.iter().position(|it| it == text).unwrap();
    assert!(place("DELETED db-2") < place("DELETED db-1"));
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_runs_each_index_once() {
    let stage = Stage::with_nodes(1).await;
    let mut jobs = stage.watch(JOBS).await;
    let mut job = job("sums");
    let spec = &mut job["spec"];
    spec["completions"] = json!(5);
    spec["parallelism"] = json!(2);
    spec["completionMode"] = json!("Indexed");
    stage.create(JOBS, job).await;
    let done = jobs
        .until_passes("sums", |it| condition(it, "Complete") == "True")
        .await;
    assert_eq!(done["status"]["succeeded"], 5);
    assert_eq!(done["status"]["completedIndexes"], "0-4");
    for event in &jobs.seen {
        assert!(
            event["object"]["status"]["active"]
                .as_i64()
                .unwrap_or_default()
                <= 2
        );
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_pods_fail_gives_up() {
    let stage = Stage::with_nodes(1).await;
    let mut jobs = stage.watch(JOBS).await;
    let mut job = job("hopeless");
    let spec = &mut job["spec"];
    spec["template"]["metadata"]["annotations"] = json!({"listwatch.simulation/exit-code": "1"});
    spec["backoffLimit"] = json!(2);
    stage.create(JOBS, job).await;
    let failed = jobs
        .until_passes("hopeless", |it| condition(it, "Failed") == "True")
        .await;
    assert_eq!(failed["status"]["failed"], 3);
    let reason = &failed["status"]["conditions"][1]["reason"];
    assert_eq!(reason, "BackoffLimitExceeded");
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_suspended_has_no_pods_until_it_goes_on() {
    let stage = Stage::with_nodes(1).await;
    let mut jobs = stage.watch(JOBS).await;
    let mut job = job("later");
    job["spec"]["suspend"] = json!(true);
    stage.create(JOBS, job).await;
    let is_suspended = |it: &Value| condition(it, "Suspended") == "True";
    let suspended = jobs.until_passes("later", is_suspended).await;
    assert!(suspended["status"].get("startTime").is_none());
    let (_, pods) = stage.ask("GET", PODS, None).await;
    assert_eq!(pods["items"], json!([]));
    let resume = json!({"spec": {"suspend": false}});
    stage
        .ask("PATCH", &format!("{JOBS}/later"), Some(resume))
        .await;
    let done = jobs
        .until_passes("later", |it| condition(it, "Complete") == "True")
        .await;
    assert_eq!(condition(&done, "Suspended"), "False");
    assert_eq!(done["status"]["succeeded"], 1);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_takes_too_long_is_ended() {
    let stage = Stage::with_nodes_in_step(1).await;
    let mut jobs = stage.watch(JOBS).await;
    let mut job = job("slow");
    job["spec"]["activeDeadlineSeconds"] = json!(10);
    job["spec"]["ttlSecondsAfterFinished"] = json!(10);
    job["spec"]["template"]["spec"]["nodeSelector"] = json!({"no": "such"});
    stage.create(JOBS, job).await;
    let failed = jobs
        .until_passes("slow", |it| condition(it, "Failed") == "True")
        .await;
    let reason = &failed["status"]["conditions"][0]["reason"];
    assert_eq!(reason, "DeadlineExceeded");
    jobs.until("DELETED", "slow").await;
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_makes_a_job_for_each_time_that_it_names() {
    let stage = Stage::with_nodes_in_step(1).await;
    let mut jobs = stage.watch(JOBS).await;
    let cron_jobs = "/apis/batch/v1/namespaces/default/cronjobs";
    let mut crons = stage.watch(cron_jobs).await;
    let cron = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "often"},
        "spec": {
            "schedule": "* * * * *",
            "successfulJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"template": job("often")["spec"]["template"]}},
        },
    });
    stage.create(cron_jobs, cron).await;
    let mut made = Vec::new();
    while made.len() < 2 {
        // Half a minute of silence is nothing for one that works once in a minute.
        let (kind, job) = jobs.next_in(Duration::from_secs(90)).await;
        if kind == "ADDED" {
            assert_eq!(job["metadata"]["ownerReferences"][0]["kind"], "CronJob");
            made.push(job["metadata"]["name"].as_str().unwrap().to_owned());
        }
    }
    let number = |name: &String| name.rsplit_once('-').unwrap().1.parse::<i64>().unwrap();
    assert_eq!(number(&made[1]), number(&made[0]) + 1);
    jobs.until("DELETED", &made[0]).await;
    let told = crons
        .until_passes("often", |it| it["status"]["lastSuccessfulTime"].is_string())
        .await;
    assert!(told["status"]["lastScheduleTime"].is_string());
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_a_pod_on_every_node() {
    let stage = Stage::with_nodes(3).await;
    let mut sets = stage.watch(DAEMON_SETS).await;
    let mut agent = workload("apps/v1", "DaemonSet", "agent", 0);
    agent["spec"].as_object_mut().unwrap().remove("replicas");
    stage.create(DAEMON_SETS, agent).await;
    sets.until_passes("agent", |it| it["status"]["numberReady"] == 3)
        .await;
    let (_, pods) = stage.ask("GET", PODS, None).await;
    let mut nodes: Vec<_> = pods["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| pod["spec"]["nodeName"].as_str().unwrap())
        .collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["node-1", "node-2", "node-3"]);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_simulated_node_holds_no_pods_off() {
    let stage = Stage::with_nodes(1).await;
    let mut nodes = stage.watch("/api/v1/nodes").await;
    nodes
        .until_passes("node-1", |it| it["spec"].get("taints").is_none())
        .await;
    stage.end().await;
}
