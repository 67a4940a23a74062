//! Pods as a cluster has them: about 4 KB each, much of it the same in all.

use serde_json::{Value, json};

/// Nodes that the pods are spread over.
pub(crate) const NODES: usize = 5_000;

/// Applications that the pods belong to.
const APPLICATIONS: usize = 500;

/// The name of a pod, which also sorts it.
pub(crate) fn name(number: usize) -> String {
    format!("web-{number:06}")
}

/// A pod as a client sends it.
pub(crate) fn submitted(number: usize) -> Value {
    let application = format!("app-{}", number % APPLICATIONS);
    let environment: Vec<Value> = (0..12)
        .map(|variable| {
            let value = format!("value-{variable}-of-{application}");
            json!({"name": format!("SETTING_{variable}"), "value": value})
        })
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name(number),
            "namespace": "default",
            "labels": {
                "app": application,
                "app.kubernetes.io/managed-by": "bench",
                "pod-template-hash": format!("{:08x}", (number % APPLICATIONS) * 7919),
                "tier": (if number.is_multiple_of(2) { "front" } else { "back" }),
            },
            "annotations": {"checksum/config": format!("{:064x}", number * 31)},
        },
        "spec": {
            "nodeName": format!("node-{}", number % NODES),
            "serviceAccountName": "default",
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30,
            "containers": [{
                "name": "web",
                "image": format!("registry.example/{application}:1.{}", number % 40),
                "imagePullPolicy": "IfNotPresent",
                "env": environment,
                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                "resources": {
                    "limits": {"cpu": "500m", "memory": "256Mi"},
                    "requests": {"cpu": "100m", "memory": "128Mi"},
                },
                "readinessProbe": {
                    "httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"},
                    "periodSeconds": 10, "failureThreshold": 3,
                },
                "volumeMounts": [
                    {"name": "token", "mountPath": "/var/run/secrets", "readOnly": true},
                ],
            }],
            "volumes": [
                {"name": "token", "secret": {"secretName": "default-token", "defaultMode": 420}},
            ],
        },
    })
}

/// The same pod as a server returns it, running; `@@` stands for its version.
pub(crate) fn running(number: usize) -> String {
    let mut pod = submitted(number);
    pod["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{number:012x}"));
    pod["metadata"]["resourceVersion"] = json!("@@");
    pod["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod["metadata"]["managedFields"] = json!([{
        "manager": "bench", "operation": "Update", "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
        "fieldsV1": fields(&pod["spec"]["containers"][0]),
    }]);
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "lastProbeTime": null,
               "lastTransitionTime": "2026-01-01T00:00:01Z"})
    };
    pod["status"] = json!({
        "phase": "Running", "qosClass": "Burstable",
        "hostIP": format!("10.0.{}.{}", number / 250 % 250, number % 250),
        "podIP": format!("10.1.{}.{}", number / 250 % 250, number % 250),
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [condition("Initialized"), condition("Ready"),
                       condition("ContainersReady"), condition("PodScheduled")],
        "containerStatuses": [{
            "name": "web", "ready": true, "started": true, "restartCount": 0,
            "image": "registry.example/web:1.0",
            "imageID": "registry.example/web@sha256:0123456789abcdef",
            "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}},
        }],
    });
    pod.to_string()
}

/// Who owns which field, in the form of managedFields.
fn fields(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (format!("f:{name}"), fields(member)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            json!({})
        }
    }
}
