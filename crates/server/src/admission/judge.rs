//! Objects that are refused for what they say.
//!
//! So far only those that bring down a kube-apiserver which reads them from the same store, by its
//! own rules: it trusts that nobody stores them.

use listwatch_api::{FieldError, FieldPath};
use serde_json::Value;

use crate::{commit::metadata_text, registry::Definition};

/// What may be wrong with an object of one kind beyond its metadata.
type Rule = fn(&Value) -> Vec<FieldError>;

/// Whether the rules of this kind look at more than the metadata.
pub(crate) fn looks_beyond_metadata(definition: &Definition) -> bool {
    rule_of(definition).is_some()
}

/// What is wrong with an object beyond its metadata.
pub(crate) fn judge(definition: &Definition, object: &Value) -> Vec<FieldError> {
    rule_of(definition).map_or_else(Vec::new, |rule| rule(object))
}

fn rule_of(definition: &Definition) -> Option<Rule> {
    match (&*definition.group, &*definition.resource) {
        ("apiregistration.k8s.io", "apiservices") => Some(judge_api_service),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => {
            Some(judge_priority_level)
        }
        _ => None,
    }
}

/// An APIService is named after what it serves.
fn judge_api_service(object: &Value) -> Vec<FieldError> {
    let name = metadata_text(object, "name").unwrap_or_default();
    let part = |field: &str| object["spec"][field].as_str().unwrap_or_default();
    let right = format!("{}.{}", part("version"), part("group"));
    if name == right {
        return Vec::new();
    }
    let detail = format!("must be `spec.version+\".\"+spec.group`: \"{right}\"");
    let field = FieldPath::new("metadata").child("name");
    vec![FieldError::invalid(&field, name, &detail)]
}

/// A limited priority level has limits, and no other has.
fn judge_priority_level(object: &Value) -> Vec<FieldError> {
    let (field, spec) = (FieldPath::new("spec"), &object["spec"]);
    let limits = &spec["limited"];
    match spec["type"].as_str().unwrap_or_default() {
        "" => vec![FieldError::required(&field.child("type"), "")],
        "Limited" if limits.is_null() => vec![FieldError::required(&field.child("limited"), "")],
        "Exempt" if !limits.is_null() => vec![FieldError::forbidden(&field.child("limited"), "")],
        "Limited" | "Exempt" => Vec::new(),
        other => {
            let supported = ["Exempt", "Limited"];
            vec![FieldError::not_supported(
                &field.child("type"),
                other,
                &supported,
            )]
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(errors: &[FieldError]) -> String {
        listwatch_api::field_error::aggregate(errors)
    }

    #[test]
    fn an_api_service_is_named_after_its_version_and_group() {
        let named = |name: &str| {
            let object = json!({
                "metadata": {"name": name},
                "spec": {"version": "v1", "group": "g.com"},
            });
            verdict(&judge_api_service(&object))
        };
        assert_eq!(named("v1.g.com"), "[]");
        assert_eq!(
            named("x"),
            "metadata.name: Invalid value: \"x\": must be `spec.version+\".\"+spec.group`: \
             \"v1.g.com\""
        );
    }

    #[test]
    fn the_api_service_of_the_old_core_has_no_group() {
        let object = json!({"metadata": {"name": "v1."}, "spec": {"version": "v1"}});
        assert_eq!(judge_api_service(&object), []);
    }

    #[test]
    fn a_priority_level_is_limited_or_exempt() {
        let judged = |spec: Value| verdict(&judge_priority_level(&json!({"spec": spec})));
        assert_eq!(judged(json!({"type": "Exempt"})), "[]");
        assert_eq!(judged(json!({"type": "Limited", "limited": {}})), "[]");
        assert_eq!(judged(json!(null)), "spec.type: Required value");
        assert_eq!(judged(json!({"type": ""})), "spec.type: Required value");
        assert_eq!(
            judged(json!({"type": "Limited"})),
            "spec.limited: Required value"
        );
        assert_eq!(
            judged(json!({"type": "Exempt", "limited": {}})),
            "spec.limited: Forbidden"
        );
        assert_eq!(
            judged(json!({"type": "x"})),
            "spec.type: Unsupported value: \"x\": supported values: \"Exempt\", \"Limited\""
        );
    }
}
