//! Who may do what, and who is who: bindings and certificates.

use jiff::{SignedDuration, Timestamp};
use listwatch_api::timestamp::human_duration;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, age, join, labels},
};

pub(super) const PRINTERS: Printers = &[
    ("rolebindings.rbac.authorization.k8s.io", binding),
    ("clusterrolebindings.rbac.authorization.k8s.io", binding),
    (
        "certificatesigningrequests.certificates.k8s.io",
        signing_request,
    ),
    ("clustertrustbundles.certificates.k8s.io", trust_bundle),
    (
        "podcertificaterequests.certificates.k8s.io",
        pod_certificate_request,
    ),
];

fn binding(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let role = object.member("roleRef");
    let (kind, name) = (role.member("kind").text(), role.member("name").text());
    cells![
        object.name(),
        format!("{kind}/{name}"),
        age(object, now),
        subjects(object, "User"),
        subjects(object, "Group"),
        subjects(object, "ServiceAccount"),
    ]
}

fn subjects(object: Field<'_>, kind: &str) -> String {
    let subjects = object.member("subjects").items();
    let of_kind = subjects.filter(|subject| subject.member("kind").is(kind));
    join(of_kind.map(subject), ", ")
}

fn subject(subject: Field<'_>) -> String {
    let name = subject.member("name").text();
    match subject.member("namespace").text() {
        namespace if subject.member("kind").is("ServiceAccount") && !namespace.is_empty() => {
            format!("{namespace}/{name}")
        }
        _ => name.to_owned(),
    }
}

fn signing_request(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let lifetime = object.get("spec.expirationSeconds");
    cells![
        object.name(),
        age(object, now),
        object.get("spec.signerName").text_or(NONE),
        object.get("spec.username").text(),
        if lifetime.is_set() {
            human_duration(SignedDuration::from_secs(lifetime.integer()))
        } else {
            NONE.to_owned()
        },
        signing_state(object),
    ]
}

fn signing_state(object: Field<'_>) -> String {
    let conditions = object.get("status.conditions");
    let has = |kind: &str| conditions.condition(kind).is_set();
    let decision = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let is_issued = !object.get("status.certificate").text().is_empty();
    let issued = if is_issued { ",Issued" } else { "" };
    format!("{decision}{failed}{issued}")
}

fn trust_bundle(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    cells![object.name(), object.get("spec.signerName").text_or(NONE)]
}

fn pod_certificate_request(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    let spec = object.member("spec");
    let conditions = object.get("status.conditions").items().rev();
    let decided = conditions
        .map(|condition| condition.member("type").text())
        .find(|kind| ["Denied", "Failed", "Issued"].contains(kind));
    cells![
        object.name(),
        spec.member("podName").text(),
        spec.member("serviceAccountName").text(),
        spec.member("nodeName").text(),
        spec.member("signerName").text(),
        decided.unwrap_or("Pending"),
        labels(spec.member("unverifiedUserAnnotations")),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    #[test]
    fn a_binding_shows_the_role_and_who_has_it() {
        let object = json!({
            "metadata": {"name": "b", "creationTimestamp": "2026-11-05T12:00:00Z"},
            "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [
                {"kind": "User", "name": "ada"},
                {"kind": "User", "name": "bob"},
                {"kind": "Group", "name": "all"},
                {"kind": "ServiceAccount", "namespace": "default", "name": "robot"},
            ],
        });
        for resource in ["rolebindings", "clusterrolebindings"] {
            let resource = format!("{resource}.rbac.authorization.k8s.io");
            assert_eq!(
                row(&resource, &object),
                "b | ClusterRole/view | 10d | ada, bob | all | default/robot"
            );
        }
    }

    #[test]
    fn a_signing_request_shows_how_far_it_has_come() {
        let request = |status: Value| {
            let object = json!({
                "metadata": {"name": "r"},
                "spec": {"signerName": "ex.com/s", "username": "ada", "expirationSeconds": 3600},
                "status": status,
            });
            let row = row("certificatesigningrequests.certificates.k8s.io", &object);
            let state = row.strip_prefix("r | <unknown> | ex.com/s | ada | 60m | ");
            state.unwrap().to_owned()
        };
        let approved = || json!([{"type": "Approved"}]);
        assert_eq!(request(json!({})), "Pending");
        assert_eq!(request(json!({"conditions": approved()})), "Approved");
        let issued = json!({"conditions": approved(), "certificate": "YQ=="});
        assert_eq!(request(issued), "Approved,Issued");
        let failed = json!({"conditions": [{"type": "Failed"}, {"type": "Denied"}]});
        assert_eq!(request(failed), "Denied,Failed");
    }

    #[test]
    fn a_bundle_names_its_signer() {
        let bundles = "clustertrustbundles.certificates.k8s.io";
        let object = json!({"metadata": {"name": "b"}, "spec": {"signerName": "ex.com/s"}});
        assert_eq!(row(bundles, &object), "b | ex.com/s");
        assert_eq!(row(bundles, &json!({})), " | <none>");
    }

    #[test]
    fn a_request_of_a_pod_says_for_whom_it_is() {
        let object = json!({
            "metadata": {"name": "r"},
            "spec": {
                "podName": "p", "serviceAccountName": "s", "nodeName": "n", "signerName": "x/y",
                "unverifiedUserAnnotations": {"a": "1"},
            },
            "status": {"conditions": [{"type": "Issued", "status": "True"}]},
        });
        let requests = "podcertificaterequests.certificates.k8s.io";
        assert_eq!(row(requests, &object), "r | p | s | n | x/y | Issued | a=1");
        assert_eq!(row(requests, &json!({})), " |  |  |  |  | Pending | <none>");
    }
}
