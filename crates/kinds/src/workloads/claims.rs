//! Claims that are made for pods.

use super::template::check_annotations;
use crate::field::{Field, LabelValues, check_labels};
use crate::volumes::check_claim;

/// Members of metadata that a template of claims cannot have, in Go's order.
const NOT_IN_TEMPLATES: [&str; 12] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Checks a volume whose claim is made with the pod.
pub(super) fn check_ephemeral(volume: &Field<'_, '_>) {
    let template = volume.child("volumeClaimTemplate");
    if !template.is_set() {
        return template.required("");
    }
    let metadata = template.child("metadata");
    check_annotations(&metadata.child("annotations"));
    check_labels(&metadata.child("labels"));
    for member in NOT_IN_TEMPLATES {
        if !metadata.child(member).is_empty() {
            metadata.child(member).forbidden("cannot be set");
        }
    }
    check_claim_spec(&template.child("spec"));
}

/// Checks the spec of a claim.
pub(super) fn check_claim_spec(spec: &Field<'_, '_>) {
    check_claim(spec, LabelValues::Checked);
}
