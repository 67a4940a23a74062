//! What of a job's pods may change: what they ask for and where they go, while none has begun.

use serde_json::{Map, Value};

use crate::field::{FIELD_IS_IMMUTABLE, Field};
use crate::tree::{fill, list};
use crate::workloads::shown;

pub(super) fn check_template_change(spec: &Field<'_, '_>, job: &Value) {
    let template = spec.child("template");
    let mut before = job["spec"]["template"].clone();
    let is_suspended = job["spec"]["suspend"] == true;
    let is_open = is_suspended && is_at_rest(&job["status"]);
    if is_open {
        place_alike(&mut before, template.value());
        ask_alike(&mut before, template.value());
        if before["spec"] != template.value()["spec"] {
            let place = spec.child("template.spec");
            let shown = shown::compact(&template.value()["spec"], "PodSpec");
            place.invalid_value(shown, FIELD_IS_IMMUTABLE);
        }
    } else if &before != template.value() {
        let shown = shown::compact(template.value(), "PodTemplateSpec");
        template.invalid_value(shown, FIELD_IS_IMMUTABLE);
    }
}

/// Whether no pod of the job runs, and none has or all were taken back.
fn is_at_rest(status: &Value) -> bool {
    let is_back =
        |condition: &Value| condition["type"] == "Suspended" && condition["status"] == "True";
    let has_begun = !status["startTime"].is_null();
    let is_back = list(status, "conditions").iter().any(is_back);
    (!has_begun || is_back) && status["active"].as_i64().unwrap_or(0) == 0
}

fn place_alike(before: &mut Value, next: &Value) {
    let (new, old) = (&next["spec"]["affinity"], &before["spec"]["affinity"]);
    match (new.is_null(), old.is_null()) {
        (true, true) => {}
        (true, false) => {
            let affinity = before["spec"]["affinity"].as_object_mut();
            let affinity = affinity.map(|affinity| {
                affinity.remove("nodeAffinity");
                affinity.is_empty()
            });
            if affinity == Some(true) {
                copy(&mut before["spec"], &next["spec"], "affinity");
            }
        }
        (false, _) => {
            fill(&mut before["spec"], "affinity", Map::new());
            copy(&mut before["spec"]["affinity"], new, "nodeAffinity");
        }
    }
    for member in ["nodeSelector", "tolerations", "schedulingGates"] {
        copy(&mut before["spec"], &next["spec"], member);
    }
    fill(before, "metadata", Map::new());
    for member in ["annotations", "labels"] {
        copy(&mut before["metadata"], &next["metadata"], member);
    }
}

fn ask_alike(before: &mut Value, next: &Value) {
    for member in ["containers", "initContainers"] {
        let new = list(&next["spec"], member);
        let old = before["spec"].get_mut(member).and_then(Value::as_array_mut);
        let Some(old) = old.filter(|old| old.len() == new.len()) else {
            continue;
        };
        for (old, new) in old.iter_mut().zip(new) {
            if old["name"] == new["name"] {
                copy(old, new, "resources");
            }
        }
    }
}

fn copy(target: &mut Value, source: &Value, member: &str) {
    let Some(members) = target.as_object_mut() else {
        return;
    };
    match source.get(member) {
        Some(value) => members.insert(member.to_owned(), value.clone()),
        None => members.remove(member),
    };
}
