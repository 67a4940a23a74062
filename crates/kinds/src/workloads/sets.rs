//! Sets of pods with names or places of their own, and the revisions of them.

use listwatch_api::FieldError;
use serde_json::{Value, json};

use super::claims::check_claim_spec;
use super::replicas::{
    amount, changed, check_same_selector, check_strict_selector, refuse_empty_selector,
    selector_shown,
};
use super::shown;
use super::template::{check_runs_forever, check_template, check_template_metadata, refuse_labels};
use crate::field::{
    FIELD_IS_IMMUTABLE, Field, LabelValues, Selection, check, check_label_selector, selects,
};
use crate::rules::Change;
use crate::tree::list;

const GENERATION: &str = "deprecated.daemonset.template.generation";

/// What is wrong with a new stateful set.
pub(super) fn check_stateful_set(set: &Value) -> Vec<FieldError> {
    check(set, |object| {
        check_stateful_spec(&object.child("spec"), Templates::Checked)
    })
}

/// What is wrong with a change of a stateful set.
pub(super) fn check_stateful_set_change(change: Change<'_>) -> Vec<FieldError> {
    if change.before["spec"] == change.next["spec"] {
        return Vec::new();
    }
    let was_good = check_stateful_set(change.before).is_empty();
    check(change.next, |object| {
        let spec = object.child("spec");
        check_stateful_spec(
            &spec,
            if was_good {
                Templates::Checked
            } else {
                Templates::Kept
            },
        );
        let before = &change.before["spec"];
        check_same_selector(&spec, before);
        let claims = spec.child("volumeClaimTemplates");
        if claims.value() != &before["volumeClaimTemplates"] {
            let shown = shown::compact(claims.value(), "[]PersistentVolumeClaim");
            claims.invalid_value(shown, FIELD_IS_IMMUTABLE);
        }
        for member in ["serviceName", "podManagementPolicy"] {
            let member_field = spec.child(member);
            let old = before[member].as_str().unwrap_or_default();
            if member_field.text() != old {
                member_field.invalid_value(member_field.text(), FIELD_IS_IMMUTABLE);
            }
        }
    })
}

/// Whether templates must be good: one that was bad before may stay so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Templates {
    Checked,
    Kept,
}

fn check_stateful_spec(spec: &Field<'_, '_>, templates: Templates) {
    let policy = spec.child("podManagementPolicy");
    if policy.need() && !matches!(policy.text(), "OrderedReady" | "Parallel") {
        policy.invalid("must be 'OrderedReady' or 'Parallel'");
    }
    check_stateful_strategy(&spec.child("updateStrategy"));
    let retention = spec.child("persistentVolumeClaimRetentionPolicy");
    for member in ["whenDeleted", "whenScaled"] {
        if retention.is_set() {
            retention.child(member).one_of(&["Retain", "Delete"]);
        }
    }
    if templates == Templates::Checked {
        for claim in spec.child("volumeClaimTemplates").elements() {
            check_claim_spec(&claim.child("spec"));
        }
    }
    spec.child("replicas").non_negative();
    spec.child("minReadySeconds").non_negative();
    let ordinals = spec.child("ordinals");
    let start = spec.child("ordinals.start");
    start
        .with_value(ordinals.child("start").value())
        .non_negative();
    if !spec.child("serviceName").is_empty() {
        spec.child("serviceName").dns_label();
    }
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    check_strict_selector(&selector, "statefulset");
    match selects(selector.value(), &template.value()["metadata"]["labels"]) {
        Selection::Malformed => selector.invalid_value(selector_shown(&selector), ""),
        selection => check_stateful_template(spec, selection, templates),
    }
    check_runs_forever(&template, "StatefulSet");
}

fn check_stateful_strategy(strategy: &Field<'_, '_>) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "" => strategy.required(""),
        "OnDelete" if rolling.is_set() => {
            let shown = shown::compact(rolling.value(), "RollingUpdateStatefulSetStrategy");
            rolling.invalid_value(shown, "only allowed for updateStrategy 'RollingUpdate'");
        }
        "OnDelete" => {}
        "RollingUpdate" if rolling.is_set() => {
            rolling.child("partition").non_negative();
            let unavailable = rolling.child("maxUnavailable");
            if unavailable.is_set() {
                unavailable.non_negative_number_or_percent();
                if amount(&unavailable) == 0 {
                    unavailable.invalid("cannot be 0");
                }
                unavailable.at_most_all();
            }
        }
        "RollingUpdate" => {}
        _ => {
            let shown = shown::compact(strategy.value(), "StatefulSetUpdateStrategy");
            strategy.invalid_value(shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// The template with what the set gives each pod: a name, and volumes for its claims.
fn check_stateful_template(spec: &Field<'_, '_>, selection: Selection, templates: Templates) {
    let template = spec.child("template");
    if selection == Selection::Rejects {
        refuse_labels(&template);
    }
    if templates == Templates::Checked {
        let claims = list(spec.value(), "volumeClaimTemplates");
        let names: Vec<&Value> = claims
            .iter()
            .map(|claim| &claim["metadata"]["name"])
            .collect();
        let inner = &template.value()["spec"];
        let is_as_it_is = ["subdomain", "hostname"]
            .iter()
            .all(|member| inner[*member].is_null());
        if names.is_empty() && is_as_it_is {
            check_template(&template);
        } else {
            let completed = completed(template.value(), &names);
            check_template(&template.with_value(&completed));
        }
    }
    check_template_metadata(&template);
}

fn completed(template: &Value, claims: &[&Value]) -> Value {
    let mut template = template.clone();
    let own = list(&template["spec"], "volumes").iter();
    let own = own
        .filter(|volume| !claims.contains(&&volume["name"]))
        .cloned();
    let of_claim =
        |name: &&Value| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
    let volumes: Vec<Value> = claims.iter().map(of_claim).chain(own).collect();
    if let Some(spec) = template["spec"].as_object_mut() {
        spec.remove("subdomain");
        spec.remove("hostname");
        spec.insert("volumes".to_owned(), Value::Array(volumes));
    }
    template
}

/// What is wrong with a new daemon set.
pub(super) fn check_daemon_set(set: &Value) -> Vec<FieldError> {
    check(set, |object| {
        check_daemon_spec(&object.child("spec"), object.value())
    })
}

/// What is wrong with a change of a daemon set.
pub(super) fn check_daemon_set_change(change: Change<'_>) -> Vec<FieldError> {
    changed(change, "spec", || {
        check(change.next, |object| {
            let spec = object.child("spec");
            check_same_selector(&spec, &change.before["spec"]);
            check_daemon_spec(&spec, change.next);
        })
    })
}

fn check_daemon_spec(spec: &Field<'_, '_>, set: &Value) {
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    check_label_selector(&selector, LabelValues::Checked);
    let labels = &template.value()["metadata"]["labels"];
    if selects(selector.value(), labels) == Selection::Rejects {
        refuse_labels(&template);
    }
    refuse_empty_selector(&selector, "daemonset");
    check_template(&template);
    check_runs_forever(&template, "DaemonSet");
    spec.child("minReadySeconds").non_negative();
    let generation = set["metadata"]["annotations"][GENERATION]
        .as_str()
        .unwrap_or("0");
    if generation.parse::<i64>().is_ok_and(|number| number < 0) {
        let number = json!(generation.parse::<i64>().unwrap_or(0));
        spec.child("templateGeneration")
            .with_value(&number)
            .non_negative();
    }
    check_daemon_strategy(&spec.child("updateStrategy"));
    spec.child("revisionHistoryLimit").non_negative();
}

fn check_daemon_strategy(strategy: &Field<'_, '_>) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.is_set() => rolling.required(""),
        "RollingUpdate" => {
            let members = ["maxUnavailable", "maxSurge"];
            let [unavailable, surge] = members.map(|member| rolling.child(member));
            unavailable.non_negative_number_or_percent();
            surge.non_negative_number_or_percent();
            unavailable.at_most_all();
            surge.at_most_all();
            match (amount(&unavailable), amount(&surge)) {
                (0, 0) => unavailable.required("cannot be 0 when maxSurge is 0"),
                (0, _) | (_, 0) => {}
                _ => surge.invalid("may not be set when maxUnavailable is non-zero"),
            }
        }
        _ => strategy.report(|path| {
            let shown = shown::compact(strategy.value(), "DaemonSetUpdateStrategy");
            FieldError::not_supported(path, shown, &["RollingUpdate", "OnDelete"])
        }),
    }
}

/// What is wrong with a new revision.
pub(super) fn check_revision(revision: &Value) -> Vec<FieldError> {
    check(revision, |object| {
        object.child("revision").non_negative();
        let data = object.child("data");
        if !data.is_set() {
            data.required("data is mandatory");
        } else if !data.value().is_object() {
            data.required("data must be a valid JSON object");
        }
    })
}

/// What is wrong with a change of a revision.
pub(super) fn check_revision_change(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |object| {
        object.child("revision").non_negative();
        let data = object.child("data");
        if data.value() != &change.before["data"] {
            data.invalid(FIELD_IS_IMMUTABLE);
        }
    })
}
