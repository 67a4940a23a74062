//! Which fields a path cannot write, so that nobody comes to own them through it.

use listwatch_api::field_set::FieldSet;

use crate::registry::{Definition, StatusWriting};

/// Kinds whose `status` path leaves all of `metadata` alone.
const METADATA_KEPT: [(&str, &str); 12] = [
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
    ),
    ("apiregistration.k8s.io", "apiservices"),
    ("certificates.k8s.io", "podcertificaterequests"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    (
        "flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations",
    ),
    ("networking.k8s.io", "servicecidrs"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceclaims"),
    ("scheduling.k8s.io", "podgroups"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "volumeattachments"),
    ("storagemigration.k8s.io", "storageversionmigrations"),
];

/// The fields that are out of reach of the path to an object, or to a part of it.
pub(super) fn out_of_reach(definition: &Definition, subresource: Option<&str>) -> FieldSet {
    FieldSet::of_names(names(definition, subresource))
}

fn names(definition: &Definition, subresource: Option<&str>) -> &'static [&'static [&'static str]] {
    let kind = (&*definition.group, &*definition.resource);
    let signing = kind == ("certificates.k8s.io", "certificatesigningrequests");
    match subresource {
        None if signing => &[&["spec"], &["status"]],
        Some("approval") if signing => &[&["spec"], &["status", "certificate"]],
        Some("status") if signing => &[&["spec"], &["status", "conditions"]],
        Some("status") if kind == ("apps", "deployments") => &[&["metadata", "labels"], &["spec"]],
        Some("status") if kind == ("", "pods") => &[
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
            &["spec"],
        ],
        Some("status") if METADATA_KEPT.contains(&kind) => &[&["metadata"], &["spec"]],
        Some("status") => &[&["spec"]],
        None | Some("finalize") if definition.status != StatusWriting::Open => &[&["status"]],
        _ => &[],
    }
}
