//! Pods, which need time to stop.

use listwatch_server::{Settings, clock::Clock};
use serde_json::{Value, json};

use crate::running::{TestServer, start_server, start_with};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(spec: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"},
    });
    for (name, value) in spec.as_object().unwrap() {
        pod["spec"][name] = value.clone();
    }
    pod
}

/// Deletes a pod with options and tells its grace period, or `None` when it is gone.
async fn grace(server: &TestServer, options: &str) -> Option<u64> {
    let path = format!("{PODS}/p");
    server.delete(&format!("{path}?{options}")).await.ok();
    let answer = server.get(&path).await;
    match answer.code {
        404 => None,
        _ => answer.ok()["metadata"]["deletionGracePeriodSeconds"].as_u64(),
    }
}

#[tokio::test]
async fn a_pod_gets_the_time_that_it_or_its_deleter_asks_for() {
    for (spec, options, expected) in [
        (json!({}), "", Some(30)),
        (json!({"terminationGracePeriodSeconds": 7}), "", Some(7)),
        (
            json!({"terminationGracePeriodSeconds": 7}),
            "gracePeriodSeconds=3",
            Some(3),
        ),
        (
            json!({"terminationGracePeriodSeconds": 7}),
            "gracePeriodSeconds=90",
            Some(90),
        ),
        (json!({}), "gracePeriodSeconds=0", None),
        (json!({}), "gracePeriodSeconds=-5", Some(1)),
        (json!({"terminationGracePeriodSeconds": -5}), "", Some(1)),
        (json!({"terminationGracePeriodSeconds": 0}), "", None),
        (json!({"nodeName": null}), "", None),
        (json!({"nodeName": null}), "gracePeriodSeconds=5", None),
    ] {
        let server = start_server().await;
        let pod = pod(spec);
        server.post(PODS, &pod).await.created();
        assert_eq!(grace(&server, options).await, expected, "{options} {pod}");
    }
}

#[tokio::test]
async fn the_time_is_only_ever_shortened() {
    let server = start_server().await;
    server.post(PODS, &pod(json!({}))).await.created();
    for (options, expected) in [
        ("", Some(30)),
        ("", Some(30)),
        ("gracePeriodSeconds=60", Some(30)),
        ("gracePeriodSeconds=10", Some(10)),
        ("gracePeriodSeconds=20", Some(10)),
        ("gracePeriodSeconds=0", None),
    ] {
        assert_eq!(grace(&server, options).await, expected, "{options}");
    }
}

#[tokio::test]
async fn the_deadline_counts_from_the_first_deletion() {
    let settings = Settings {
        clock: Clock::simulated(|| "2026-01-01T00:00:00Z".parse().unwrap()),
        ..Settings::default()
    };
    let server = start_with(settings).await;
    server.post(PODS, &pod(json!({}))).await.created();
    let path = format!("{PODS}/p");
    let marked = server.delete(&path).await.ok();
    let deadline = &marked["metadata"]["deletionTimestamp"];
    assert_eq!(deadline, "2026-01-01T00:00:30Z");
    let sooner = server
        .delete(&format!("{path}?gracePeriodSeconds=10"))
        .await
        .ok();
    let deadline = &sooner["metadata"]["deletionTimestamp"];
    assert_eq!(deadline, "2026-01-01T00:00:10Z");
}

#[tokio::test]
async fn a_pod_that_has_ended_goes_at_once() {
    let server = start_server().await;
    server.post(PODS, &pod(json!({}))).await.created();
    let ended = json!({"status": {"phase": "Succeeded"}});
    server.merge(&format!("{PODS}/p/status"), &ended).await.ok();
    assert_eq!(grace(&server, "").await, None);
}

#[tokio::test]
async fn a_pod_is_answered_with_itself() {
    let server = start_server().await;
    server
        .post(PODS, &pod(json!({"nodeName": null})))
        .await
        .created();
    let answer = server.delete(&format!("{PODS}/p")).await.ok();
    assert_eq!(answer["kind"], "Pod");
}

#[tokio::test]
async fn a_stopped_pod_still_waits_for_its_finalizers() {
    let server = start_server().await;
    let mut pod = pod(json!({}));
    pod["metadata"]["finalizers"] = json!(["x.io/f"]);
    server.post(PODS, &pod).await.created();
    assert_eq!(grace(&server, "").await, Some(30));
    assert_eq!(grace(&server, "gracePeriodSeconds=0").await, Some(0));
    let free = json!({"metadata": {"finalizers": null}});
    server.merge(&format!("{PODS}/p"), &free).await.ok();
    server.get(&format!("{PODS}/p")).await.refused(404);
}
