//! What the rules of an object's kind make of it: what they fill in, and what they refuse.
//!
//! The rules themselves are in `listwatch_kinds`; here is where the write path meets them.

use listwatch_api::FieldError;
use listwatch_kinds::{Change, Rules, certificates, cluster, running};
use listwatch_structural::{Structural, definition::warn_change};
use serde_json::Value;

use super::{GROUPS, USER, check_expressions, configures};
use crate::{custom, registry::Definition};

/// What the kind demands of its objects; `None` when it takes whatever fits its shape.
pub(crate) fn rules_of(definition: &Definition) -> Option<&'static Rules> {
    let (group, resource) = (&*definition.group, &*definition.resource);
    match (group, resource) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => Some(&custom::DEFINITION_RULES),
        _ => listwatch_kinds::rules(group, resource),
    }
}

/// Fills in what leaving it out means.
pub(crate) fn apply_defaults(definition: &Definition, object: &mut Value) {
    if let Some(rules) = rules_of(definition) {
        (rules.default)(object);
    } else if let Some(schema) = structural_of(definition) {
        schema.default(object);
    }
}

/// Fills in what the server gives every new object of the kind.
pub(crate) fn begin_life(definition: &Definition, object: &mut Value) {
    if let Some(rules) = rules_of(definition) {
        (rules.begin)(object);
        if &*definition.kind == "CertificateSigningRequest" {
            object["spec"]["username"] = USER.into();
            object["spec"]["groups"] = GROUPS.as_slice().into();
        }
    }
}

/// Lets the kind decide what a change of the object itself keeps and clears.
pub(crate) fn adjust(definition: &Definition, before: &Value, next: &mut Value) {
    if let Some(rules) = rules_of(definition) {
        (rules.adjust)(before, next);
    }
}

/// What is wrong with a new object beyond its metadata.
pub(crate) fn judge_new(definition: &Definition, object: &Value) -> Vec<FieldError> {
    let mut errors = match (rules_of(definition), structural_of(definition)) {
        (Some(rules), _) => (rules.check_new)(object),
        (None, Some(schema)) => schema.validate(object),
        (None, None) => Vec::new(),
    };
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
    /// Those of what is decided of a request for a certificate.
    Approval,
    /// Those of containers that look into a running pod.
    EphemeralContainers,
    /// Those of what a running pod's containers get.
    Resources,
    /// Those of a namespace's own finalizers.
    Finalizers,
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
        (Some(_), ChangeOf::Approval) => certificates::check_approval(change),
        (Some(_), ChangeOf::EphemeralContainers) => running::check_ephemeral_containers(change),
        (Some(_), ChangeOf::Resources) => running::check_resize(change),
        (Some(_), ChangeOf::Finalizers) => cluster::check_finalizers(change.next),
        (None, what) => judge_custom_change(definition, what, change),
    }
}

fn judge_custom_change(
    definition: &Definition,
    what: ChangeOf,
    Change { before, next }: Change<'_>,
) -> Vec<FieldError> {
    match (structural_of(definition), what) {
        (None, _) => Vec::new(),
        (Some(schema), ChangeOf::Status) => schema.validate_status_change(next, before),
        (Some(schema), _) => schema.validate_change(next, before),
    }
}

/// The schema of a custom kind.
fn structural_of(definition: &Definition) -> Option<&Structural> {
    definition.custom.as_ref()?.structural.as_ref()
}

/// What the writer of a change should hear though it is taken.
pub(crate) fn change_warnings(
    definition: &Definition,
    Change { before, next }: Change<'_>,
) -> Vec<String> {
    match custom::is_definition(definition) {
        true => warn_change(next, before),
        false => warnings(definition, next),
    }
}

/// What the writer of an object should hear though it is taken.
pub(crate) fn warnings(definition: &Definition, object: &Value) -> Vec<String> {
    rules_of(definition).map_or_else(Vec::new, |rules| (rules.warn)(object))
}
