//! The annotation in which kubectl, before the server knew owners, kept what it applied last.
//!
//! Its server-side apply may change what the annotation says without a conflict, and keeps the
//! annotation up to date for those who still apply by it.

use listwatch_api::{
    field_set::{Comparison, FieldSet, check_conformity},
    go_text,
};
use serde_json::Value;

use super::FieldTracker;
use crate::commit::metadata::{metadata, metadata_mut};

/// The manager that kubectl calls itself.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Bytes of all annotations together. An annotation that does not fit is left out.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// The fields that are as kubectl applied them, so that it may change them.
pub(super) fn excused(tracker: &FieldTracker<'_>, live: &Value) -> FieldSet {
    let applied = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let shape = tracker.registry.shape_of(tracker.definition);
    let (Some(applied), Some((schema, type_id))) = (applied, shape) else {
        return FieldSet::default();
    };
    let speaks = applied.get("apiVersion").and_then(Value::as_str);
    if speaks != Some(&tracker.definition.api_version())
        || !check_conformity(schema, type_id, &applied).is_empty()
    {
        return FieldSet::default();
    }
    let Comparison {
        added,
        modified,
        removed,
    } = Comparison::between(schema, type_id, &applied, live);
    let changed = added.union(modified).union(removed);
    FieldSet::of_value(schema, type_id, &applied).difference(&changed)
}

/// Writes what is applied into the annotation, if there is one.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    if annotation(object).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(Value::Object(annotations)) = metadata_mut(&mut applied).get_mut("annotations") {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{}\n", go_text::json(&applied));
    let Some(Value::Object(annotations)) = metadata_mut(object).get_mut("annotations") else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    let bytes: usize = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if bytes > ANNOTATIONS_BYTES_MAX {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    metadata(object)
        .get("annotations")?
        .get(ANNOTATION)?
        .as_str()
}
