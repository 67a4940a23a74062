//! What a cluster is made of: nodes, namespaces, components, and what they are limited to.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, UNKNOWN, age, join, or_none},
};

pub(super) const PRINTERS: Printers = &[
    ("nodes", node),
    ("namespaces", namespace),
    ("componentstatuses", component_status),
    ("resourcequotas", resource_quota),
    ("leases.coordination.k8s.io", lease),
    ("priorityclasses.scheduling.k8s.io", priority_class),
    ("runtimeclasses.node.k8s.io", runtime_class),
];

fn node(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let info = object.get("status.nodeInfo");
    cells![
        object.name(),
        node_status(object),
        or_none(roles(object)),
        age(object, now),
        info.member("kubeletVersion").text(),
        node_address(object, "InternalIP"),
        node_address(object, "ExternalIP"),
        info.member("osImage").text_or(UNKNOWN),
        info.member("kernelVersion").text_or(UNKNOWN),
        info.member("containerRuntimeVersion").text_or(UNKNOWN),
    ]
}

fn node_status(object: Field<'_>) -> String {
    let mut conditions = object.get("status.conditions").items().rev();
    let ready = conditions.find(|condition| condition.member("type").is("Ready"));
    let status = match ready {
        Some(condition) if condition.member("status").is("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    match object.get("spec.unschedulable").is_true() {
        true => format!("{status},SchedulingDisabled"),
        false => status.to_owned(),
    }
}

/// What the labels of a node say it is used for.
fn roles(object: Field<'_>) -> String {
    let labels = object.get("metadata.labels").members();
    let role = |(name, value): (&'_ str, Field<'_>)| match name {
        "kubernetes.io/role" => value.text().to_owned(),
        _ => name
            .strip_prefix("node-role.kubernetes.io/")
            .unwrap_or_default()
            .to_owned(),
    };
    let roles: BTreeSet<String> = labels.into_iter().map(role).collect();
    join(roles.into_iter().filter(|role| !role.is_empty()), ",")
}

fn node_address<'a>(object: Field<'a>, kind: &str) -> &'a str {
    let mut addresses = object.get("status.addresses").items();
    let address = addresses.find(|address| address.member("type").is(kind));
    address.map_or(NONE, |address| address.member("address").text())
}

fn namespace(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let phase = object.get("status.phase").text();
    cells![object.name(), phase, age(object, now)]
}

fn component_status(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    let condition = object.member("conditions").condition("Healthy");
    let status = match condition.member("status").text() {
        _ if !condition.is_set() => "Unknown",
        "True" => "Healthy",
        _ => "Unhealthy",
    };
    let message = condition.member("message").text();
    cells![
        object.name(),
        status,
        message,
        condition.member("error").text()
    ]
}

fn resource_quota(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let used = object.get("status.used");
    let hard = object.get("status.hard").members();
    let (limits, requests): (Vec<_>, Vec<_>) = hard
        .into_iter()
        .partition(|(name, _)| name.starts_with("limits."));
    let amounts = |resources: Vec<(&str, Field<'_>)>| {
        let amount = |(name, hard): (&str, Field<'_>)| {
            format!(
                "{name}: {}/{}",
                used.member(name).quantity(),
                hard.quantity()
            )
        };
        join(resources.into_iter().map(amount), ", ")
    };
    cells![
        object.name(),
        amounts(requests),
        amounts(limits),
        age(object, now)
    ]
}

fn lease(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let holder = object.get("spec.holderIdentity").text();
    cells![object.name(), holder, age(object, now)]
}

fn priority_class(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    cells![
        object.name(),
        object.member("value").integer(),
        object.member("globalDefault").is_true(),
        age(object, now),
        object
            .member("preemptionPolicy")
            .text_or("PreemptLowerPriority"),
    ]
}

fn runtime_class(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let handler = object.member("handler").text();
    cells![object.name(), handler, age(object, now)]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    #[test]
    fn a_node_shows_its_state_and_what_it_runs() {
        let object = json!({
            "metadata": {
                "name": "n", "creationTimestamp": "2026-11-12T10:00:00Z",
                "labels": {
                    "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu",
                    "node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/": "",
                },
            },
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "addresses": [
                    {"type": "Hostname", "address": "n"},
                    {"type": "InternalIP", "address": "10.0.0.2"},
                ],
                "nodeInfo": {
                    "kubeletVersion": "v1.37.0", "osImage": "Linux", "kernelVersion": "6.1",
                    "containerRuntimeVersion": "containerd://2.1",
                },
            },
        });
        let expected = "n | Ready,SchedulingDisabled | control-plane,gpu,worker | 3d2h | v1.37.0 | \
                        10.0.0.2 | <none> | Linux | 6.1 | containerd://2.1";
        assert_eq!(row("nodes", &object), expected);
    }

    #[test]
    fn a_node_that_reports_nothing_is_unknown() {
        let conditions = |conditions: Value| {
            let row = row("nodes", &json!({"status": {"conditions": conditions}}));
            row.split(" | ").nth(1).unwrap().to_owned()
        };
        assert_eq!(conditions(json!([])), "Unknown");
        assert_eq!(
            conditions(json!([{"type": "Ready", "status": "Unknown"}])),
            "NotReady"
        );
        let empty = " | Unknown | <none> | <unknown> |  | <none> | <none> | <unknown> | \
                     <unknown> | <unknown>";
        assert_eq!(row("nodes", &json!({})), empty);
    }

    #[test]
    fn a_namespace_shows_its_phase() {
        let object = json!({"metadata": {"name": "n"}, "status": {"phase": "Terminating"}});
        assert_eq!(row("namespaces", &object), "n | Terminating | <unknown>");
    }

    #[test]
    fn a_component_is_healthy_unhealthy_or_unknown() {
        let component = |status: &str| {
            json!({
                "metadata": {"name": "c"},
                "conditions": [
                    {"type": "Healthy", "status": status, "message": "ok", "error": "e"},
                ],
            })
        };
        assert_eq!(
            row("componentstatuses", &component("True")),
            "c | Healthy | ok | e"
        );
        assert_eq!(
            row("componentstatuses", &component("False")),
            "c | Unhealthy | ok | e"
        );
        assert_eq!(row("componentstatuses", &json!({})), " | Unknown |  | ");
    }

    #[test]
    fn a_quota_shows_requests_and_limits_apart() {
        let object = json!({
            "metadata": {"name": "q"},
            "status": {
                "hard": {"pods": "10", "limits.cpu": "2", "cpu": "1", "limits.memory": "2Gi"},
                "used": {"pods": "3", "limits.cpu": "500m"},
            },
        });
        assert_eq!(
            row("resourcequotas", &object),
            "q | cpu: 0/1, pods: 3/10 | limits.cpu: 500m/2, limits.memory: 0/2Gi | <unknown>"
        );
    }

    #[test]
    fn leases_and_classes_show_their_one_fact() {
        let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
        assert_eq!(
            row("leases.coordination.k8s.io", &lease),
            "l | me | <unknown>"
        );
        let runtime = json!({"metadata": {"name": "r"}, "handler": "kata"});
        assert_eq!(
            row("runtimeclasses.node.k8s.io", &runtime),
            "r | kata | <unknown>"
        );
        let priority = json!({
            "metadata": {"name": "p"}, "value": -5, "globalDefault": true,
            "preemptionPolicy": "Never",
        });
        assert_eq!(
            row("priorityclasses.scheduling.k8s.io", &priority),
            "p | `-5` | `true` | <unknown> | Never"
        );
    }
}
