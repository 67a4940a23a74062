//! Kinds that keep a number of like pods: replication controllers, replica sets, deployments.

use listwatch_api::FieldError;
use serde_json::Value;

use super::shown;
use super::template::{check_runs_forever, check_template, refuse_labels};
use crate::field::{Field, LabelValues, Selection, check, check_label_selector, percent, selects};
use crate::rules::Change;

/// Asks `rules` of an object with a new `member`: what was good enough to be stored stays good.
pub(super) fn changed(
    change: Change<'_>,
    member: &str,
    rules: impl FnOnce() -> Vec<FieldError>,
) -> Vec<FieldError> {
    match change.before[member] == change.next[member] {
        true => Vec::new(),
        false => rules(),
    }
}

/// What is wrong with a new template of pods.
pub(super) fn check_pod_template(template: &Value) -> Vec<FieldError> {
    check(template, |object| check_template(&object.child("template")))
}

/// What is wrong with a change of a template of pods.
pub(super) fn check_pod_template_change(change: Change<'_>) -> Vec<FieldError> {
    changed(change, "template", || check_pod_template(change.next))
}

/// What is wrong with a new replication controller.
pub(super) fn check_controller(controller: &Value) -> Vec<FieldError> {
    check(controller, |object| {
        let spec = object.child("spec");
        let (selector, template) = (spec.child("selector"), spec.child("template"));
        selector.need();
        match template.is_set() {
            true => check_controlled(&selector, &template),
            false => template.required(""),
        }
        // Numbers come last on a real server, which checks them in another way.
        match spec.child("replicas").is_set() {
            true => spec.child("replicas").non_negative(),
            false => spec.child("replicas").required(""),
        }
        spec.child("minReadySeconds").non_negative();
    })
}

fn check_controlled(selector: &Field<'_, '_>, template: &Field<'_, '_>) {
    let labels = &template.value()["metadata"]["labels"];
    let is_wanted = |(key, value): (&str, Field<'_, '_>)| labels.get(key) == Some(value.value());
    if !selector.entries().all(is_wanted) {
        refuse_labels(template);
    }
    check_template(template);
    check_runs_forever(template, "ReplicationController");
}

/// What is wrong with a change of a replication controller.
pub(super) fn check_controller_change(change: Change<'_>) -> Vec<FieldError> {
    changed(change, "spec", || check_controller(change.next))
}

/// What is wrong with a new replica set.
pub(super) fn check_replica_set(set: &Value) -> Vec<FieldError> {
    check(set, |object| check_replica_set_spec(&object.child("spec")))
}

/// What is wrong with a change of a replica set.
pub(super) fn check_replica_set_change(change: Change<'_>) -> Vec<FieldError> {
    changed(change, "spec", || {
        check(change.next, |object| {
            let spec = object.child("spec");
            check_replica_set_spec(&spec);
            check_same_selector(&spec, &change.before["spec"]);
        })
    })
}

fn check_replica_set_spec(spec: &Field<'_, '_>) {
    spec.child("replicas").non_negative();
    spec.child("minReadySeconds").non_negative();
    check_selected_template(spec);
}

/// What is wrong with a new deployment.
pub(super) fn check_deployment(deployment: &Value) -> Vec<FieldError> {
    check(deployment, |object| {
        check_deployment_spec(&object.child("spec"))
    })
}

/// What is wrong with a change of a deployment.
pub(super) fn check_deployment_change(change: Change<'_>) -> Vec<FieldError> {
    changed(change, "spec", || {
        check(change.next, |object| {
            let spec = object.child("spec");
            check_deployment_spec(&spec);
            check_same_selector(&spec, &change.before["spec"]);
        })
    })
}

fn check_deployment_spec(spec: &Field<'_, '_>) {
    spec.child("replicas").non_negative();
    check_selected_template(spec);
    check_strategy(&spec.child("strategy"));
    spec.child("minReadySeconds").non_negative();
    spec.child("revisionHistoryLimit").non_negative();
    let deadline = spec.child("progressDeadlineSeconds");
    deadline.non_negative();
    let ready = spec.child("minReadySeconds").integer().unwrap_or(0);
    if deadline.integer().is_some_and(|deadline| deadline <= ready) {
        deadline.invalid("must be greater than minReadySeconds");
    }
}

fn check_strategy(strategy: &Field<'_, '_>) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "Recreate" if rolling.is_set() => {
            rolling.forbidden("may not be specified when strategy `type` is 'Recreate'");
        }
        "Recreate" => {}
        "RollingUpdate" => check_rolling_update(&rolling),
        _ => strategy.report(|path| {
            let shown = shown::compact(strategy.value(), "DeploymentStrategy");
            FieldError::not_supported(path, shown, &["Recreate", "RollingUpdate"])
        }),
    }
}

fn check_rolling_update(rolling: &Field<'_, '_>) {
    let [unavailable, surge] = ["maxUnavailable", "maxSurge"].map(|member| rolling.child(member));
    unavailable.non_negative_number_or_percent();
    surge.non_negative_number_or_percent();
    if amount(&unavailable) == 0 && amount(&surge) == 0 {
        unavailable.invalid("may not be 0 when `maxSurge` is 0");
    }
    unavailable.at_most_all();
}

/// The number or percentage; a text that is neither counts as 0.
pub(super) fn amount(field: &Field<'_, '_>) -> i64 {
    let number = percent(field.value()).or(field.integer());
    number.or_else(|| field.text().parse().ok()).unwrap_or(0)
}

fn check_selected_template(spec: &Field<'_, '_>) {
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    check_strict_selector(&selector, "deployment");
    match selects(selector.value(), &template.value()["metadata"]["labels"]) {
        Selection::Malformed => {
            return selector.invalid_value(selector_shown(&selector), "invalid label selector");
        }
        Selection::Rejects => refuse_labels(&template),
        Selection::Selects => {}
    }
    check_template(&template);
    check_runs_forever(&template, "ReplicaSet");
}

/// Demands a selector that is there, makes sense and is not empty.
pub(super) fn check_strict_selector(selector: &Field<'_, '_>, owner: &str) {
    if !selector.is_set() {
        return selector.required("");
    }
    check_label_selector(selector, LabelValues::Checked);
    refuse_empty_selector(selector, owner);
}

/// Refuses a selector of everything.
pub(super) fn refuse_empty_selector(selector: &Field<'_, '_>, owner: &str) {
    let parts = ["matchLabels", "matchExpressions"];
    if selector.is_set() && parts.iter().all(|part| selector.child(part).is_empty()) {
        let why = format!("empty selector is invalid for {owner}");
        selector.invalid_value(selector_shown(selector), &why);
    }
}

/// Refuses another selector than there was.
pub(super) fn check_same_selector(spec: &Field<'_, '_>, before: &Value) {
    let selector = spec.child("selector");
    if selector.value() != &before["selector"] {
        selector.invalid_value(selector_shown(&selector), crate::field::FIELD_IS_IMMUTABLE);
    }
}

/// A selector as Go writes it, labels first.
pub(super) fn selector_shown(selector: &Field<'_, '_>) -> listwatch_api::field_error::BadValue {
    match selector.is_set() {
        true => shown::compact(selector.value(), "@"),
        false => shown::compact(selector.value(), "?@"),
    }
}
