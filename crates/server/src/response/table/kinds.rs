//! Kinds about kinds: definitions, API services, migrations.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    basics::created_at,
    field::Field,
    printer::{Printers, cells},
    text::{age, each, texts},
};

pub(super) const PRINTERS: Printers = &[
    ("customresourcedefinitions.apiextensions.k8s.io", definition),
    ("apiservices.apiregistration.k8s.io", api_service),
    (
        "storageversionmigrations.storagemigration.k8s.io",
        migration,
    ),
];

fn definition(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    cells![
        object.name(),
        object.get("spec.scope").text(),
        each(object.get("spec.versions"), "name"),
        created_at(object),
        object.get("spec.group").text(),
        object.get("spec.names.kind").text(),
        texts(object.get("spec.names.shortNames"), ","),
        object.get("status.conditions").has_condition("Established"),
    ]
}

fn api_service(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let service = object.get("spec.service");
    let (namespace, name) = (
        service.member("namespace").text(),
        service.member("name").text(),
    );
    let served_by = match service.is_set() {
        true => format!("{namespace}/{name}"),
        false => "Local".to_owned(),
    };
    cells![
        object.name(),
        served_by,
        availability(object),
        age(object, now)
    ]
}

fn availability(object: Field<'_>) -> String {
    let condition = object.get("status.conditions").condition("Available");
    let status = condition.member("status").text();
    match condition.member("reason").text() {
        _ if !condition.is_set() => "Unknown".to_owned(),
        reason if status != "True" && !reason.is_empty() => format!("{status} ({reason})"),
        _ => status.to_owned(),
    }
}

fn migration(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    let resource = object.get("spec.resource");
    let name = resource.member("resource").text();
    let full_name = match resource.member("group").text() {
        "" => name.to_owned(),
        group => format!("{name}.{group}"),
    };
    let conditions = object.get("status.conditions");
    let mut states = ["Succeeded", "Failed", "Running"].into_iter();
    let state = states.find(|state| conditions.has_condition(state));
    cells![object.name(), full_name, state.unwrap_or("Pending")]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    #[test]
    fn a_definition_shows_what_it_defines() {
        let definitions = "customresourcedefinitions.apiextensions.k8s.io";
        let object = json!({
            "metadata": {"name": "foos.ex.com", "creationTimestamp": "2026-11-15T11:00:00Z"},
            "spec": {
                "group": "ex.com", "scope": "Namespaced",
                "names": {"kind": "Foo", "shortNames": ["fo", "f"]},
                "versions": [{"name": "v1"}, {"name": "v2"}],
            },
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        });
        assert_eq!(
            row(definitions, &object),
            "foos.ex.com | Namespaced | v1,v2 | 2026-11-15T11:00:00Z | ex.com | Foo | fo,f | `true`"
        );
    }

    #[test]
    fn an_api_service_is_local_or_elsewhere() {
        let service = |spec: Value, condition: Value| {
            let status = json!({"conditions": [condition]});
            let object = json!({"metadata": {"name": "v1."}, "spec": spec, "status": status});
            row("apiservices.apiregistration.k8s.io", &object)
        };
        let available = json!({"type": "Available", "status": "True", "reason": "Local"});
        assert_eq!(
            service(json!({}), available),
            "v1. | Local | True | <unknown>"
        );
        let remote = || json!({"service": {"namespace": "n", "name": "s"}});
        let missing = json!({"type": "Available", "status": "False", "reason": "Gone"});
        assert_eq!(
            service(remote(), missing),
            "v1. | n/s | False (Gone) | <unknown>"
        );
        assert_eq!(
            service(remote(), json!({})),
            "v1. | n/s | Unknown | <unknown>"
        );
    }

    #[test]
    fn a_migration_shows_its_resource_and_state() {
        let migration = |condition: &str| {
            let object = json!({
                "metadata": {"name": "m"},
                "spec": {"resource": {"group": "apps", "resource": "deployments"}},
                "status": {"conditions": [{"type": condition, "status": "True"}]},
            });
            row("storageversionmigrations.storagemigration.k8s.io", &object)
        };
        assert_eq!(migration("Running"), "m | deployments.apps | Running");
        assert_eq!(migration("Succeeded"), "m | deployments.apps | Succeeded");
        assert_eq!(migration("Other"), "m | deployments.apps | Pending");
    }
}
