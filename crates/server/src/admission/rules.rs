//! What the rules of an object's kind make of it: what they fill in, and what they refuse.
//!
//! The rules themselves are in `listwatch_kinds`; here is where the write path meets them.

use listwatch_api::{FieldError, FieldPath};
use listwatch_kinds::{Change, Rules};
use serde_json::{Value, json};

use super::{check_expressions, configures};
use crate::{
    commit::{metadata_mut, metadata_text},
    custom,
    registry::Definition,
};

/// What the kind demands of its objects; `None` when it takes whatever fits its shape.
pub(crate) fn rules_of(definition: &Definition) -> Option<&'static Rules> {
    let (group, resource) = (&*definition.group, &*definition.resource);
    listwatch_kinds::rules(group, resource).or(match (group, resource) {
        ("", "namespaces") => Some(&NAMESPACES),
        ("apiextensions.k8s.io", "customresourcedefinitions") => Some(&custom::DEFINITION_RULES),
        ("", "persistentvolumes" | "persistentvolumeclaims") => Some(&VOLUMES),
        ("apiregistration.k8s.io", "apiservices") => Some(&API_SERVICES),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => Some(&PRIORITY_LEVELS),
        _ => None,
    })
}

/// Fills in what leaving it out means.
pub(crate) fn apply_defaults(definition: &Definition, object: &mut Value) {
    if let Some(rules) = rules_of(definition) {
        (rules.default)(object);
    }
}

/// Fills in what the server gives every new object of the kind.
pub(crate) fn begin_life(definition: &Definition, object: &mut Value) {
    if let Some(rules) = rules_of(definition) {
        (rules.begin)(object);
    }
}

/// What is wrong with a new object beyond its metadata.
pub(crate) fn judge_new(definition: &Definition, object: &Value) -> Vec<FieldError> {
    let mut errors = rules_of(definition).map_or_else(Vec::new, |rules| (rules.check_new)(object));
    errors.extend(check_expressions(definition, object));
    errors
}

/// Which rules a change has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOf {
    /// Those of the object itself.
    Object,
    /// Those of its status.
    Status,
    /// None: the path can change so little that nothing can be wrong with it.
    Little,
}

/// What is wrong with a change beyond the metadata.
pub(crate) fn judge_change(
    definition: &Definition,
    what: ChangeOf,
    change: Change<'_>,
) -> Vec<FieldError> {
    match (rules_of(definition), what) {
        (rules, ChangeOf::Object) if configures(definition) => {
            let mut errors = rules.map_or_else(Vec::new, |rules| (rules.check_change)(change));
            errors.extend(check_expressions(definition, change.next));
            errors
        }
        (Some(rules), ChangeOf::Object) => (rules.check_change)(change),
        (Some(rules), ChangeOf::Status) => (rules.check_status)(change),
        _ => Vec::new(),
    }
}

/// What the writer of an object should hear though it is taken.
pub(crate) fn warnings(definition: &Definition, object: &Value) -> Vec<String> {
    rules_of(definition).map_or_else(Vec::new, |rules| (rules.warn)(object))
}

const NAMESPACES: Rules = Rules {
    default: label_namespace,
    begin: begin_namespace,
    ..Rules::NONE
};

const VOLUMES: Rules = Rules {
    begin: |volume| volume["status"] = json!({"phase": "Pending"}),
    ..Rules::NONE
};

const API_SERVICES: Rules = Rules {
    check_new: judge_api_service,
    check_change: |change| judge_api_service(change.next),
    ..Rules::NONE
};

const PRIORITY_LEVELS: Rules = Rules {
    check_new: judge_priority_level,
    check_change: |change| judge_priority_level(change.next),
    ..Rules::NONE
};

/// A namespace is active, and is held by its content.
fn begin_namespace(namespace: &mut Value) {
    namespace["status"] = json!({"phase": "Active"});
    let finalizers = namespace["spec"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        let held = finalizers
            .into_iter()
            .chain([json!("kubernetes")])
            .collect::<Vec<_>>();
        namespace["spec"]["finalizers"] = Value::Array(held);
    }
}

/// A namespace carries its name as a label.
fn label_namespace(namespace: &mut Value) {
    let Some(name) = metadata_text(namespace, "name").map(str::to_owned) else {
        return;
    };
    let labels = metadata_mut(namespace)
        .entry("labels")
        .or_insert_with(|| json!({}));
    labels["kubernetes.io/metadata.name"] = json!(name);
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
