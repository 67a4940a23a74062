use serde_json::json;

use super::*;

fn stored(conversion: Conversion, mut object: Value) -> Value {
    Registry::builtin().to_stored(conversion, &mut object);
    object
}

fn served(conversion: Conversion, mut object: Value) -> Value {
    Registry::builtin().to_served(conversion, &mut object);
    object
}

#[test]
fn an_event_is_stored_under_its_core_names() {
    let event = json!({
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/controller",
        "regarding": {"kind": "Pod", "name": "p"},
        "note": "started",
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": null,
        "deprecatedLastTimestamp": null,
        "deprecatedCount": 3,
    });
    let core = json!({
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingComponent": "example.com/controller",
        "reportingInstance": "",
        "involvedObject": {"kind": "Pod", "name": "p"},
        "message": "started",
        "source": {},
        "firstTimestamp": null,
        "lastTimestamp": null,
        "count": 3,
    });
    assert_eq!(stored(Conversion::EventsV1, event.clone()), core);
    assert_eq!(served(Conversion::EventsV1, core), event);
}

fn second() -> Value {
    json!({
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v2",
        "metadata": {"name": "h", "annotations": {"mine": "kept"}},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
            "minReplicas": 1,
            "maxReplicas": 5,
            "metrics": [
                {"type": "Pods", "pods": {
                    "metric": {"name": "queue", "selector": {"matchLabels": {"a": "b"}}},
                    "target": {"type": "AverageValue", "averageValue": "30"},
                }},
                {"type": "Object", "object": {
                    "describedObject": {"kind": "Service", "name": "s"},
                    "metric": {"name": "hits"},
                    "target": {"type": "AverageValue", "averageValue": "2"},
                }},
                {"type": "ContainerResource", "containerResource": {
                    "name": "memory",
                    "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 60},
                }},
                {"type": "External", "external": {
                    "metric": {"name": "lag"},
                    "target": {"type": "Value", "value": "7"},
                }},
                {"type": "Resource", "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 70},
                }},
            ],
            "behavior": {
                "scaleDown": {
                    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}],
                    "selectPolicy": "Max",
                },
            },
        },
        "status": {
            "desiredReplicas": 2,
            "currentMetrics": [{"type": "Resource", "resource": {
                "name": "cpu",
                "current": {"averageValue": "100m", "averageUtilization": 50},
            }}],
            "conditions": [{
                "type": "AbleToScale",
                "status": "True",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    })
}

#[test]
fn an_autoscaler_comes_back_whole_from_its_first_version() {
    let first = served(Conversion::AutoscalingV1, second());
    assert_eq!(stored(Conversion::AutoscalingV1, first), second());
}

#[test]
fn the_first_version_knows_the_cpu_and_keeps_the_rest_in_annotations() {
    let first = served(Conversion::AutoscalingV1, second());
    assert_eq!(first["apiVersion"], "autoscaling/v1");
    assert_eq!(first["spec"]["targetCPUUtilizationPercentage"], 70);
    assert_eq!(first["status"]["currentCPUUtilizationPercentage"], 50);
    assert_eq!(first["spec"].get("metrics"), None);
    let annotations = first["metadata"]["annotations"].as_object().unwrap();
    let names: Vec<&str> = annotations.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "autoscaling.alpha.kubernetes.io/behavior",
            "autoscaling.alpha.kubernetes.io/conditions",
            "autoscaling.alpha.kubernetes.io/current-metrics",
            "autoscaling.alpha.kubernetes.io/metrics",
            "mine",
        ]
    );
    let behavior = annotations["autoscaling.alpha.kubernetes.io/behavior"].as_str();
    let behavior: Value = serde_json::from_str(behavior.unwrap()).unwrap();
    assert_eq!(behavior["ScaleUp"], Value::Null);
    assert_eq!(behavior["ScaleDown"]["Policies"][0]["PeriodSeconds"], 60);
}

#[test]
fn an_autoscaler_without_metrics_aims_at_eighty_percent() {
    let first = json!({
        "kind": "HorizontalPodAutoscaler",
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3},
    });
    let second = stored(Conversion::AutoscalingV1, first);
    let target = &second["spec"]["metrics"][0]["resource"]["target"];
    assert_eq!(
        *target,
        json!({"type": "Utilization", "averageUtilization": 80})
    );
    assert_eq!(
        second["status"],
        json!({"desiredReplicas": 0, "currentMetrics": null})
    );
}
