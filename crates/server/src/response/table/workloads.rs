//! Controllers of pods: how many replicas they want and have.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, age, each, labels, selector, selector_query},
};

pub(super) const PRINTERS: Printers = &[
    ("replicationcontrollers", replication_controller),
    ("replicasets.apps", replica_set),
    ("deployments.apps", deployment),
    ("statefulsets.apps", stateful_set),
    ("daemonsets.apps", daemon_set),
    ("controllerrevisions.apps", controller_revision),
    ("scales.autoscaling", scale),
];

/// The names and the images of the containers of a pod template.
pub(super) fn containers(template: Field<'_>) -> (String, String) {
    let containers = template.get("spec.containers");
    (each(containers, "name"), each(containers, "image"))
}

fn replicas(object: Field<'_>, status: &str) -> i64 {
    object.member("status").member(status).integer()
}

fn ready_of_wanted(object: Field<'_>) -> String {
    let ready = replicas(object, "readyReplicas");
    format!("{ready}/{}", object.get("spec.replicas").integer())
}

fn replication_controller(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    replica_row(object, labels(object.get("spec.selector")), now)
}

fn replica_set(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    replica_row(object, selector(object.get("spec.selector")), now)
}

fn replica_row(object: Field<'_>, selector: String, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object.get("spec.template"));
    cells![
        object.name(),
        object.get("spec.replicas").integer(),
        replicas(object, "replicas"),
        replicas(object, "readyReplicas"),
        age(object, now),
        names,
        images,
        selector,
    ]
}

fn deployment(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object.get("spec.template"));
    cells![
        object.name(),
        ready_of_wanted(object),
        replicas(object, "updatedReplicas"),
        replicas(object, "availableReplicas"),
        age(object, now),
        names,
        images,
        selector_query(object.get("spec.selector")),
    ]
}

fn stateful_set(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object.get("spec.template"));
    cells![
        object.name(),
        ready_of_wanted(object),
        age(object, now),
        names,
        images,
    ]
}

fn daemon_set(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object.get("spec.template"));
    cells![
        object.name(),
        replicas(object, "desiredNumberScheduled"),
        replicas(object, "currentNumberScheduled"),
        replicas(object, "numberReady"),
        replicas(object, "updatedNumberScheduled"),
        replicas(object, "numberAvailable"),
        labels(object.get("spec.template.spec.nodeSelector")),
        age(object, now),
        names,
        images,
        selector(object.get("spec.selector")),
    ]
}

fn controller_revision(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let revision = object.member("revision").integer();
    cells![object.name(), owner(object), revision, age(object, now)]
}

/// The owner in charge, as `kind.group/name` in lower case.
fn owner(object: Field<'_>) -> String {
    let mut owners = object.get("metadata.ownerReferences").items();
    let Some(owner) = owners.find(|owner| owner.member("controller").is_true()) else {
        return NONE.to_owned();
    };
    let kind = owner.member("kind").text().to_lowercase();
    let name = owner.member("name").text();
    match owner.member("apiVersion").text().split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

fn scale(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let wanted = object.get("spec.replicas").integer();
    cells![
        object.name(),
        wanted,
        replicas(object, "replicas"),
        age(object, now)
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    fn workload(status: Value) -> Value {
        json!({
            "metadata": {"name": "w", "creationTimestamp": "2026-11-15T11:00:00Z"},
            "spec": {
                "replicas": 3,
                "selector": {
                    "matchLabels": {"app": "web"},
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}],
                },
                "template": {
                    "spec": {
                        "nodeSelector": {"disk": "ssd"},
                        "containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}],
                    },
                },
            },
            "status": status,
        })
    }

    #[test]
    fn a_deployment_shows_ready_updated_and_available_replicas() {
        let object =
            workload(json!({"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}));
        let expected = "w | 1/3 | `2` | `1` | 60m | a,b | i:1,j | a in (x,y),app=web";
        assert_eq!(row("deployments.apps", &object), expected);
    }

    #[test]
    fn a_replica_set_shows_wanted_existing_and_ready_replicas() {
        let object = workload(json!({"replicas": 2, "readyReplicas": 1}));
        let expected = "w | `3` | `2` | `1` | 60m | a,b | i:1,j | a in (x,y),app=web";
        assert_eq!(row("replicasets.apps", &object), expected);
    }

    #[test]
    fn a_replication_controller_selects_by_a_label_set() {
        let mut object = workload(json!({"replicas": 2}));
        object["spec"]["selector"] = json!({"app": "web", "a": "1"});
        let expected = "w | `3` | `2` | `0` | 60m | a,b | i:1,j | a=1,app=web";
        assert_eq!(row("replicationcontrollers", &object), expected);
    }

    #[test]
    fn a_stateful_set_shows_ready_replicas() {
        let object = workload(json!({"readyReplicas": 2}));
        assert_eq!(
            row("statefulsets.apps", &object),
            "w | 2/3 | 60m | a,b | i:1,j"
        );
    }

    #[test]
    fn a_daemon_set_counts_nodes() {
        let object = workload(json!({
            "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
            "updatedNumberScheduled": 2, "numberAvailable": 1,
        }));
        let expected = "w | `5` | `4` | `3` | `2` | `1` | disk=ssd | 60m | a,b | i:1,j | \
                        a in (x,y),app=web";
        assert_eq!(row("daemonsets.apps", &object), expected);
    }

    #[test]
    fn a_revision_names_the_owner_in_charge() {
        let mut object = json!({
            "metadata": {"name": "r", "ownerReferences": [
                {"kind": "Other", "name": "o", "apiVersion": "v1"},
                {"kind": "StatefulSet", "name": "web", "apiVersion": "apps/v1", "controller": true},
            ]},
            "revision": 4,
        });
        let resource = "controllerrevisions.apps";
        assert_eq!(
            row(resource, &object),
            "r | statefulset.apps/web | `4` | <unknown>"
        );
        object["metadata"]["ownerReferences"][1]["controller"] = json!(false);
        assert_eq!(row(resource, &object), "r | <none> | `4` | <unknown>");
    }

    #[test]
    fn a_scale_shows_wanted_and_existing_replicas() {
        let object = json!({
            "metadata": {"name": "w"}, "spec": {"replicas": 3}, "status": {"replicas": 2},
        });
        assert_eq!(
            row("scales.autoscaling", &object),
            "w | `3` | `2` | <unknown>"
        );
    }
}
