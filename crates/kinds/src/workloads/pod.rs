//! What pods must look like, and what of them may change.

use listwatch_api::FieldError;
use serde_json::{Map, Value};

use super::annotations::{check_annotation_change, check_pod_annotations, check_profiles_agree};
use super::containers::check_only_in_pods;
use super::pod_spec::{Place, check_pod_spec};
use super::scheduling::{check_narrowing, check_tolerations};
use super::shown;
use crate::difference;
use crate::field::{Field, Members, check};
use crate::rules::Change;
use crate::tree::list;

const UPDATABLE: &str = "pod updates may not change fields other than \
    `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// What is wrong with a new pod.
pub(super) fn check_new(pod: &Value) -> Vec<FieldError> {
    check(pod, |pod| {
        check_pod(pod);
        let spec = pod.child("spec");
        if !spec.child("ephemeralContainers").is_empty() {
            spec.child("ephemeralContainers")
                .forbidden("cannot be set on create");
        }
        if !spec.child("nodeName").is_empty() && !spec.child("schedulingGates").is_empty() {
            let why = "cannot be set until all schedulingGates have been cleared";
            spec.child("nodeName").forbidden(why);
        }
        check_profiles_agree(pod);
    })
}

pub(super) fn check_pod(pod: &Field<'_, '_>) {
    let (metadata, spec) = (pod.child("metadata"), pod.child("spec"));
    let members = Members::of(spec.value());
    let spec = spec.spread(&members);
    check_pod_annotations(&metadata.child("annotations"), spec.value());
    check_pod_spec(&spec, metadata.value(), Place::Pod);
    if spec.child("serviceAccountName").is_empty() {
        refuse_tokens(&spec.child("volumes"));
    }
    spec.child("terminationGracePeriodSeconds").non_negative();
    for list in ["containers", "initContainers"] {
        spec.child(list)
            .elements()
            .for_each(|container| check_only_in_pods(&container));
    }
}

/// Without an account there is nobody a token could be for.
fn refuse_tokens(volumes: &Field<'_, '_>) {
    for volume in volumes.elements() {
        let projected = volume.child("projected");
        for source in projected.child("sources").elements() {
            if let Some(token) = source.given("serviceAccountToken") {
                token.forbidden("must not be specified when serviceAccountName is not set");
            }
        }
    }
}

/// What is wrong with a change of a pod. What was good enough to be stored stays good.
pub(super) fn check_change(change: Change<'_>) -> Vec<FieldError> {
    let is_changed = change.next["spec"] != change.before["spec"];
    check(change.next, |pod| {
        let metadata = pod.child("metadata");
        let annotations = metadata.child("annotations");
        match is_changed {
            true => check_pod(pod),
            false => check_pod_annotations(&annotations, &change.next["spec"]),
        }
        check_annotation_change(&annotations, &change.before["metadata"]["annotations"]);
        check_pod_annotations(&annotations, &change.next["spec"]);
        if is_changed {
            check_spec_change(&pod.child("spec"), &change.before["spec"]);
        }
    })
}

fn check_spec_change(spec: &Field<'_, '_>, before: &Value) {
    for list in ["containers", "initContainers"] {
        if !check_images(&spec.child(list), &before[list]) {
            return;
        }
    }
    if !check_deadline(
        &spec.child("activeDeadlineSeconds"),
        &before["activeDeadlineSeconds"],
    ) {
        return;
    }
    check_added_tolerations(&spec.child("tolerations"), before);
    check_removed_gates(&spec.child("schedulingGates"), before);
    let mut kept = with_what_may_change(spec.value(), before);
    if !list(before, "schedulingGates").is_empty() {
        check_narrowing(spec, before);
        take(&mut kept, before, "nodeSelector");
        keep_node_affinity(&mut kept, before);
    }
    if !is_same(&kept, before) {
        let [old, new] = [before, &kept].map(|spec| shown::lines(spec, "PodSpec"));
        spec.forbidden(&format!("{UPDATABLE}\n{}", difference::unified(&old, &new)));
    }
}

fn check_images(containers: &Field<'_, '_>, before: &Value) -> bool {
    if containers.count() != before.as_array().map_or(0, Vec::len) {
        containers.forbidden("pod updates may not add or remove containers");
        return false;
    }
    for container in containers.elements() {
        container.child("image").need();
        check_only_in_pods(&container);
    }
    true
}

/// A deadline can only come closer. Whether there is more to be said.
fn check_deadline(deadline: &Field<'_, '_>, before: &Value) -> bool {
    match (deadline.integer(), before.as_i64()) {
        (Some(next), _) if !(0..=i64::from(i32::MAX)).contains(&next) => {
            deadline.within(0, i64::from(i32::MAX));
            false
        }
        (Some(next), Some(before)) if next > before => {
            deadline.invalid("must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            deadline.invalid("must not update from a positive integer to nil value");
            true
        }
        _ => true,
    }
}

fn check_added_tolerations(tolerations: &Field<'_, '_>, before: &Value) {
    let without_seconds = |toleration: &Value| -> Map<String, Value> {
        let members = toleration.as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| *name != "tolerationSeconds");
        members
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    for old in list(before, "tolerations") {
        let old = without_seconds(old);
        if !tolerations
            .elements()
            .any(|next| without_seconds(next.value()) == old)
        {
            let why = "existing toleration can not be modified except its tolerationSeconds";
            return tolerations.forbidden(why);
        }
    }
    check_tolerations(tolerations);
}

fn check_removed_gates(gates: &Field<'_, '_>, before: &Value) {
    let known = list(before, "schedulingGates");
    for gate in gates
        .elements()
        .filter(|gate| !known.contains(gate.value()))
    {
        let name = gate.child("name");
        let text = name.text();
        name.forbidden(&format!(
            "only deletion is allowed, but found new scheduling gate '{text}'"
        ));
    }
}

/// The next spec as if nothing had changed that may.
fn with_what_may_change(spec: &Value, before: &Value) -> Value {
    let mut kept = spec.clone();
    for list in ["containers", "initContainers"] {
        let old = before[list].as_array().into_iter().flatten();
        let containers = kept.get_mut(list).and_then(Value::as_array_mut);
        for (container, old) in containers.into_iter().flatten().zip(old) {
            take(container, old, "image");
        }
    }
    for member in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        take(&mut kept, before, member);
    }
    let old_grace = before["terminationGracePeriodSeconds"].as_i64();
    if old_grace.is_some_and(|seconds| seconds < 0) && kept["terminationGracePeriodSeconds"] == 1 {
        take(&mut kept, before, "terminationGracePeriodSeconds");
    }
    kept
}

fn keep_node_affinity(kept: &mut Value, before: &Value) {
    let has_others = ["podAffinity", "podAntiAffinity"];
    let has_others = has_others
        .iter()
        .any(|member| !kept["affinity"][*member].is_null());
    if before["affinity"].is_null() && !has_others {
        take(kept, before, "affinity");
    } else if kept["affinity"].is_null() && before["affinity"]["nodeAffinity"].is_null() {
    } else {
        crate::tree::fill(kept, "affinity", Map::new());
        take(&mut kept["affinity"], &before["affinity"], "nodeAffinity");
    }
}

/// Gives a member the value that it has in `source`, or none.
pub(super) fn take(target: &mut Value, source: &Value, member: &str) {
    let Some(members) = target.as_object_mut() else {
        return;
    };
    match source.get(member) {
        Some(value) => members.insert(member.to_owned(), value.clone()),
        None => members.remove(member),
    };
}

/// Members that are maps, of which an empty one is none.
const MAPS: [&str; 8] = [
    "limits",
    "requests",
    "overhead",
    "nodeSelector",
    "matchLabels",
    "options",
    "volumeAttributes",
    "annotations",
];

fn is_empty(map: &Value) -> bool {
    map.as_object().is_none_or(Map::is_empty) && (map.is_null() || map.is_object())
}

/// Whether two values mean the same: absent and empty are not told apart.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys());
            keys.into_iter().all(|key| {
                let [one, other] = [one, other].map(|side| side.get(key).unwrap_or(&Value::Null));
                let are_empty_maps =
                    MAPS.contains(&key.as_str()) && is_empty(one) && is_empty(other);
                are_empty_maps || is_same(one, other)
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => one
            .iter()
            .zip(other)
            .all(|(one, other)| is_same(one, other)),
        (Value::Array(elements), Value::Null) | (Value::Null, Value::Array(elements)) => {
            elements.is_empty()
        }
        _ => one == other,
    }
}
