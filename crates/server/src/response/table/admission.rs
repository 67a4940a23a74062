//! Admission policies and webhooks.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{UNSET, age, selector},
};

pub(super) const PRINTERS: Printers = &[
    (
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        mutating_policy,
    ),
    (
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        policy_binding,
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        webhooks,
    ),
    (
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        validating_policy,
    ),
    (
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        policy_binding,
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        webhooks,
    ),
];

fn mutating_policy(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    policy(object, "mutations", now)
}

fn validating_policy(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    policy(object, "validations", now)
}

fn policy(object: Field<'_>, rules: &str, now: Timestamp) -> Vec<Value> {
    let rules = object.member("spec").member(rules).count();
    cells![
        object.name(),
        rules,
        parameter_kind(object),
        age(object, now)
    ]
}

fn parameter_kind(object: Field<'_>) -> String {
    let parameters = object.get("spec.paramKind");
    if !parameters.is_set() {
        return UNSET.to_owned();
    }
    let version = parameters.member("apiVersion").text();
    format!("{version}/{}", parameters.member("kind").text())
}

fn policy_binding(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let policy = object.get("spec.policyName").text();
    let parameters = parameters(object.get("spec.paramRef"));
    cells![object.name(), policy, parameters, age(object, now)]
}

fn parameters(reference: Field<'_>) -> String {
    let name = reference.member("name").text();
    match reference.member("namespace").text() {
        _ if !reference.is_set() => UNSET.to_owned(),
        _ if name.is_empty() => selector(reference.member("selector")),
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn webhooks(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    cells![
        object.name(),
        object.member("webhooks").count(),
        age(object, now)
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    fn resource(name: &str) -> String {
        format!("{name}.admissionregistration.k8s.io")
    }

    #[test]
    fn a_policy_counts_its_rules() {
        let spec = json!({
            "validations": [{}, {}], "mutations": [{}],
            "paramKind": {"apiVersion": "ex.com/v1", "kind": "Limit"},
        });
        let object = json!({"metadata": {"name": "p"}, "spec": spec});
        let validating = row(&resource("validatingadmissionpolicies"), &object);
        assert_eq!(validating, "p | `2` | ex.com/v1/Limit | <unknown>");
        let mutating = row(&resource("mutatingadmissionpolicies"), &object);
        assert_eq!(mutating, "p | `1` | ex.com/v1/Limit | <unknown>");
        let empty = row(&resource("mutatingadmissionpolicies"), &json!({}));
        assert_eq!(empty, " | `0` | <unset> | <unknown>");
    }

    #[test]
    fn a_binding_names_policy_and_parameters() {
        let binding = |parameters: Value| {
            let spec = json!({"policyName": "p", "paramRef": parameters});
            let object = json!({"metadata": {"name": "b"}, "spec": spec});
            row(&resource("validatingadmissionpolicybindings"), &object)
        };
        assert_eq!(binding(Value::Null), "b | p | <unset> | <unknown>");
        assert_eq!(binding(json!({"name": "x"})), "b | p | x | <unknown>");
        let named = json!({"name": "x", "namespace": "n"});
        assert_eq!(binding(named), "b | p | n/x | <unknown>");
        let selected = json!({"selector": {"matchLabels": {"a": "b"}}});
        assert_eq!(binding(selected), "b | p | a=b | <unknown>");
    }

    #[test]
    fn a_configuration_counts_its_webhooks() {
        let object = json!({"metadata": {"name": "w"}, "webhooks": [{}, {}, {}]});
        for name in [
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
        ] {
            assert_eq!(row(&resource(name), &object), "w | `3` | <unknown>");
        }
    }
}
