//! Templates of pods.

use listwatch_api::{FieldError, name};
use serde_json::Value;

use super::annotations::{check_pod_annotations, check_profiles_agree};
use super::pod_spec::{Place, check_pod_spec};
use crate::field::{Field, Members, check_labels};

/// Bytes that all annotations may have together.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1_024;

/// Checks a template. What is wrong with its labels is told of it, not of its metadata.
pub(super) fn check_template(template: &Field<'_, '_>) {
    check_template_metadata(template);
    let spec = template.child("spec");
    let members = Members::of(spec.value());
    let spec = spec.spread(&members);
    check_pod_spec(&spec, &Value::Null, Place::Template);
    check_profiles_agree(template);
    if !spec.child("ephemeralContainers").is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        spec.child("ephemeralContainers").forbidden(why);
    }
}

/// Checks the labels and annotations of a template.
pub(super) fn check_template_metadata(template: &Field<'_, '_>) {
    let metadata = template.child("metadata");
    let labels = template.child("labels");
    check_labels(&labels.with_value(metadata.child("labels").value()));
    let annotations = template.child("annotations");
    let annotations = annotations.with_value(metadata.child("annotations").value());
    check_annotations(&annotations);
    check_pod_annotations(&annotations, template.child("spec").value());
}

/// Checks that a template's pods run on for ever, as `owner` demands.
pub(super) fn check_runs_forever(template: &Field<'_, '_>, owner: &str) {
    let spec = template.child("spec");
    if spec.child("restartPolicy").text() != "Always" {
        spec.child("restartPolicy").one_of(&["Always"]);
    }
    if spec.child("activeDeadlineSeconds").is_set() {
        let why = format!("activeDeadlineSeconds in {owner} is not Supported");
        spec.child("activeDeadlineSeconds").forbidden(&why);
    }
}

/// Reports that a template's labels are not those that are selected.
pub(super) fn refuse_labels(template: &Field<'_, '_>) {
    let metadata = template.child("metadata");
    let labels = metadata.child("labels");
    labels.invalid("`selector` does not match template `labels`");
}

/// Checks the keys and the size of annotations.
pub(super) fn check_annotations(annotations: &Field<'_, '_>) {
    let mut bytes = 0;
    for (key, value) in annotations.entries() {
        bytes += key.len() + value.text().len();
        for problem in name::check_qualified_name(&key.to_lowercase()) {
            annotations.invalid_value(key, &problem);
        }
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        annotations.report(|path| FieldError::too_long(path, ANNOTATIONS_BYTES_MAX));
    }
}
