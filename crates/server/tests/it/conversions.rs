//! One stored object seen in more than one version or group.

use std::time::Duration;

use listwatch_server::Settings;
use serde_json::{Value, json};

use crate::running::{start_server, start_with};

const CORE_EVENTS: &str = "/api/v1/namespaces/default/events";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
const SCALERS_V1: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const SCALERS_V2: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";

#[tokio::test]
async fn an_event_is_one_object_in_two_groups() {
    let server = start_server().await;
    let mut core = server.watch(&format!("{CORE_EVENTS}?watch=1")).await;
    let mut new = server.watch(&format!("{EVENTS}?watch=1")).await;
    let event = json!({
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started",
        "message": "it runs",
        "type": "Normal",
        "count": 3,
    });
    server.post(CORE_EVENTS, &event).await.created();

    let told = core.shows(&["ADDED e"]).await.remove(0).object;
    assert_eq!(told["apiVersion"], "v1");
    assert_eq!(told["involvedObject"]["name"], "p");
    let told = new.shows(&["ADDED e"]).await.remove(0).object;
    assert_eq!(told["apiVersion"], "events.k8s.io/v1");
    assert_eq!(told["regarding"]["name"], "p");
    assert_eq!(told["note"], "it runs");
    assert_eq!(told["deprecatedCount"], 3);
    assert!(told.get("involvedObject").is_none());

    let listed = server.get(EVENTS).await.ok();
    assert_eq!(listed["apiVersion"], "events.k8s.io/v1");
    assert_eq!(listed["items"][0]["note"], "it runs");
    let note = json!({"note": "still runs"});
    server
        .merge(&format!("{EVENTS}/e"), &note)
        .await
        .refused(422);
    let message = json!({"message": "still runs"});
    server
        .merge(&format!("{CORE_EVENTS}/e"), &message)
        .await
        .ok();
    let told = new.shows(&["MODIFIED e"]).await.remove(0).object;
    assert_eq!(told["note"], "still runs");
}

#[tokio::test]
async fn events_are_selected_by_what_they_are_about() {
    let server = start_server().await;
    for (name, pod) in [("a", "web"), ("b", "db")] {
        let event = json!({
            "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", "name": pod, "namespace": "default"},
            "type": "Warning",
        });
        server.post(CORE_EVENTS, &event).await.created();
    }
    let path = format!("{CORE_EVENTS}?fieldSelector=involvedObject.name%3Dweb%2Ctype%3DWarning");
    assert_eq!(server.get(&path).await.item_names(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn events_end_by_themselves() {
    let settings = Settings {
        event_lifetime: Duration::from_secs(10),
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let event = json!({
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "default"},
    });
    let stored = server.post(CORE_EVENTS, &event).await.created();
    let begun = tokio::time::Instant::now();
    let mut core = server.watch(&format!("{CORE_EVENTS}?watch=1")).await;
    let mut new = server.watch(&format!("{EVENTS}?watch=1")).await;
    core.shows(&["ADDED e"]).await;
    new.shows(&["ADDED e"]).await;
    let gone = core.shows(&["DELETED e"]).await.remove(0);
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert!(gone.version() > crate::client::version(&stored));
    new.shows(&["DELETED e"]).await;
    server.get(&format!("{CORE_EVENTS}/e")).await.refused(404);
}

#[tokio::test]
async fn an_autoscaler_is_one_object_in_two_versions() {
    let server = start_server().await;
    let scaler = json!({
        "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
            "maxReplicas": 5,
            "targetCPUUtilizationPercentage": 80,
        },
    });
    let mut v1 = server.watch(&format!("{SCALERS_V1}?watch=1")).await;
    let mut v2 = server.watch(&format!("{SCALERS_V2}?watch=1")).await;
    server.post(SCALERS_V1, &scaler).await.created();
    let told = v1.shows(&["ADDED h"]).await.remove(0).object;
    assert_eq!(told["apiVersion"], "autoscaling/v1");
    assert_eq!(told["spec"]["targetCPUUtilizationPercentage"], 80);
    let told = v2.shows(&["ADDED h"]).await.remove(0).object;
    assert_eq!(told["apiVersion"], "autoscaling/v2");
    let target = &told["spec"]["metrics"][0]["resource"]["target"];
    assert_eq!(target["averageUtilization"], 80);

    let listed = server.get(SCALERS_V1).await.ok();
    assert_eq!(
        listed["items"][0]["spec"]["targetCPUUtilizationPercentage"],
        80
    );
    let path = format!("{SCALERS_V2}/h");
    let patch = json!([{
        "op": "replace",
        "path": "/spec/metrics/0/resource/target/averageUtilization",
        "value": 60,
    }]);
    server
        .patch(&path, crate::client::JSON_PATCH, &patch)
        .await
        .ok();
    let told = v1.shows(&["MODIFIED h"]).await.remove(0).object;
    assert_eq!(told["spec"]["targetCPUUtilizationPercentage"], 60);
}

/// The smallest object of each kind that is stored in another version, and its path.
fn converted_kinds() -> [(&'static str, &'static str, Value); 2] {
    let reference = json!({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"});
    [
        (
            EVENTS,
            "events.k8s.io/v1",
            json!({
                "metadata": {"name": "x"},
                "eventTime": "2026-01-01T00:00:00.000000Z",
                "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
                "reportingController": "x.io/c",
                "reportingInstance": "i",
                "action": "a",
                "reason": "r",
                "type": "Normal",
                "note": "n",
            }),
        ),
        (
            SCALERS_V1,
            "autoscaling/v1",
            json!({
                "metadata": {"name": "x"},
                "spec": {"scaleTargetRef": reference, "maxReplicas": 5},
            }),
        ),
    ]
}

#[tokio::test]
async fn every_answer_speaks_the_version_of_its_path() {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for (path, api_version, object) in converted_kinds() {
        let server = start_server().await;
        let dry = server.post(&format!("{path}?dryRun=All"), &object).await;
        assert_eq!(dry.created()["apiVersion"], api_version);
        let created = server.post(path, &object).await.created();
        assert_eq!(created["apiVersion"], api_version);
        let item = format!("{path}/x");
        let patch = json!({"metadata": {"labels": {"a": "b"}}});
        let patched = server.merge(&item, &patch).await.ok();
        assert_eq!(patched["apiVersion"], api_version);
        assert_eq!(server.get(&item).await.ok(), patched);
        assert_eq!(server.put(&item, &patched).await.ok(), patched);

        let one = server
            .get_as(&format!("{item}?includeObject=Object"), table)
            .await
            .ok();
        let all = server
            .get_as(&format!("{path}?includeObject=Object"), table)
            .await
            .ok();
        assert_eq!(one["rows"], all["rows"], "{path}");
        assert_eq!(all["rows"][0]["object"], patched);
        let list = server.get(path).await.ok();
        assert_eq!(list["apiVersion"], api_version);
        let deleted = server.delete(path).await.ok();
        assert_eq!(deleted["items"], list["items"]);
    }
}
