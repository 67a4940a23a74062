//! Claims that are made for pods.

use listwatch_api::FieldError;

use super::template::check_annotations;
use crate::field::{Field, LabelValues, check_label_selector, check_labels, positive_quantity};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
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
    let modes = spec.child("accessModes");
    modes.need_because("at least 1 access mode is required");
    check_label_selector(&spec.child("selector"), LabelValues::Checked);
    for mode in modes
        .elements()
        .filter(|mode| !MODES.contains(&mode.text()))
    {
        modes.report(|path| FieldError::not_supported(path, mode.text(), &MODES));
    }
    let is_alone = |mode: &Field<'_, '_>| mode.text() == "ReadWriteOncePod";
    let is_known = |mode: &Field<'_, '_>| MODES.contains(&mode.text());
    if modes.elements().any(|mode| is_alone(&mode))
        && modes
            .elements()
            .any(|mode| is_known(&mode) && !is_alone(&mode))
    {
        modes.forbidden("may not use ReadWriteOncePod with other access modes");
    }
    let resources = spec.child("resources");
    let requests = resources.child("requests");
    let asked = requests.key("storage");
    let place = resources.key("storage");
    let place = place.with_value(asked.value());
    match asked.is_set() {
        true => positive_quantity(&place),
        false => place.required(""),
    }
    if !spec.child("storageClassName").is_empty() {
        spec.child("storageClassName").dns_subdomain();
    }
    if let Some(mode) = spec.given("volumeMode") {
        mode.one_of(&["Block", "Filesystem"]);
    }
    if !spec.child("volumeAttributesClassName").is_empty() {
        spec.child("volumeAttributesClassName").dns_subdomain();
    }
}
