//! What may be done to a pod that runs: look into it, and give its containers more or less.

use listwatch_api::{FieldError, FieldPath, go_text};
use serde_json::{Map, Value};

use super::annotations::{MIRROR, check_annotation_change, check_pod_annotations};
use super::birth::quality;
use super::pod::{check_pod, is_same, take};
use super::shown;
use crate::difference;
use crate::field::{Field, check};
use crate::rules::Change;
use crate::tree::{fill, list, text};

/// What is wrong with containers that are to look into a pod.
pub fn check_ephemeral_containers(change: Change<'_>) -> Vec<FieldError> {
    if is_mirror(change.before) {
        return vec![forbidden("static pods do not support ephemeral containers")];
    }
    check(change.next, |pod| {
        check_pod(pod);
        let metadata = pod.child("metadata");
        let annotations = metadata.child("annotations");
        check_annotation_change(&annotations, &change.before["metadata"]["annotations"]);
        check_pod_annotations(&annotations, &change.next["spec"]);
        let spec = pod.child("spec");
        let containers = spec.child("ephemeralContainers");
        for old in list(&change.before["spec"], "ephemeralContainers") {
            check_kept(&containers, old);
        }
    })
}

fn check_kept(containers: &Field<'_, '_>, old: &Value) {
    let name = go_text::quote(text(old, "name"));
    let mut all = containers.elements();
    match all.find(|container| container.child("name").value() == &old["name"]) {
        None => {
            let why = format!("existing ephemeral containers {name} may not be removed\n");
            containers.forbidden(&why);
        }
        Some(container) if !is_same(container.value(), old) => {
            let sides = [old, container.value()];
            let [old, new] = sides.map(|side| shown::lines(side, "EphemeralContainer"));
            let difference = difference::unified(&old, &new);
            let why = format!("existing ephemeral containers {name} may not be changed");
            containers.forbidden(&format!("{why}\n{difference}"));
        }
        Some(_) => {}
    }
}

/// Puts back into `next` everything that is not about how much its containers get. Where its
/// containers are others, it stays as it is, to be refused.
pub fn keep_all_but_resources(before: &Value, next: &mut Value) {
    let mut kept = before["spec"].clone();
    for member in ["containers", "initContainers"] {
        let (old, new) = (list(&before["spec"], member), list(&next["spec"], member));
        let mut pairs = old.iter().zip(new);
        if old.len() != new.len() || !pairs.all(|(old, new)| old["name"] == new["name"]) {
            return;
        }
        let kept = kept.get_mut(member).and_then(Value::as_array_mut);
        for (kept, new) in kept.into_iter().flatten().zip(new) {
            take(kept, new, "resources");
            take(kept, new, "resizePolicy");
        }
    }
    take(&mut kept, &next["spec"], "resources");
    next["spec"] = kept;
}

/// What is wrong with giving a pod's containers more or less.
pub fn check_resize(change: Change<'_>) -> Vec<FieldError> {
    if is_mirror(change.before) {
        return vec![forbidden("static pods cannot be resized")];
    }
    if change.before["spec"]["os"]["name"] == "windows" {
        return vec![forbidden("windows pods cannot be resized")];
    }
    check(change.next, |pod| {
        let before = pod.error_count();
        check_pod(pod);
        let spec = pod.child("spec");
        let class = text(&change.before["status"], "qosClass");
        if quality(spec.value()) != class {
            let why = "Pod QOS Class may not change as a result of resizing";
            spec.invalid_value(text(&change.next["status"], "qosClass"), why);
        }
        if !can_be_resized(&change.before["status"]) {
            spec.forbidden("Pod running on node without support for resize");
        }
        let old = &change.before["spec"];
        if !check_order(&spec, old) {
            return;
        }
        check_removals(&spec, old);
        let kept = check_only_amounts(&spec, old);
        if pod.error_count() == before && !is_same(&kept, old) {
            spec.forbidden("only cpu and memory resources are mutable");
        }
    })
}

fn is_mirror(pod: &Value) -> bool {
    !pod["metadata"]["annotations"][MIRROR].is_null()
}

fn forbidden(why: &str) -> FieldError {
    FieldError::forbidden(&FieldPath::new(""), why)
}

fn can_be_resized(status: &Value) -> bool {
    let mut containers = list(status, "containerStatuses").iter();
    let running = containers.find(|container| !container["state"]["running"].is_null());
    running.is_none_or(|running| !running["resources"].is_null())
}

/// Whether the containers are the same, one by one.
fn check_order(spec: &Field<'_, '_>, before: &Value) -> bool {
    spec.passes(|spec| {
        for member in ["containers", "initContainers"] {
            let (containers, old) = (spec.child(member), list(before, member));
            if containers.count() != old.len() {
                let why = format!("{member} may not be added or removed on resize");
                containers.forbidden(&why);
                continue;
            }
            for (container, old) in containers.elements().zip(old) {
                if container.child("name").value() != &old["name"] {
                    let why = format!("{member} may not be renamed or reordered on resize");
                    container.child("name").forbidden(&why);
                }
            }
        }
    })
}

fn check_removals(spec: &Field<'_, '_>, before: &Value) {
    for member in ["initContainers", "containers"] {
        for (container, old) in spec.child(member).elements().zip(list(before, member)) {
            let resources = container.child("resources");
            for (amounts, word) in [("requests", "requests"), ("limits", "limits")] {
                let new = resources.child(amounts);
                let old = old["resources"][amounts].as_object().into_iter().flatten();
                if old
                    .into_iter()
                    .any(|(name, _)| new.value().get(name).is_none())
                {
                    new.forbidden(&format!("resource {word} cannot be removed"));
                }
            }
        }
    }
}

/// The spec with the amounts that there were, of which only some may have changed.
fn check_only_amounts(spec: &Field<'_, '_>, before: &Value) -> Value {
    let mut kept = spec.value().clone();
    for member in ["containers", "initContainers"] {
        let containers = kept.get_mut(member).and_then(Value::as_array_mut);
        let pairs = containers.into_iter().flatten().zip(list(before, member));
        for (index, (container, old)) in pairs.enumerate() {
            let amounts = container.get_mut("resources");
            if let Some(resources) = amounts.filter(|resources| resources.is_object()) {
                put_back(resources, &old["resources"], "limits");
                put_back(resources, &old["resources"], "requests");
            }
            if is_same(container, old) {
                continue;
            }
            if member == "containers" {
                spec.forbidden("only cpu and memory resources are mutable");
            } else {
                let why =
                    "only cpu and memory resources for init or sidecar containers are mutable";
                spec.child(member).index(index).forbidden(why);
            }
        }
    }
    kept
}

fn put_back(resources: &mut Value, old: &Value, amounts: &str) {
    if resources[amounts].is_null() && old[amounts].is_null() {
        return;
    }
    fill(resources, amounts, Map::new());
    for resource in ["cpu", "memory"] {
        take(&mut resources[amounts], &old[amounts], resource);
    }
}
