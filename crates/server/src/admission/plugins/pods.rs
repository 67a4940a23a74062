//! What pods get from the cluster: an account, a priority, the overhead of their runtime.

use listwatch_api::{
    Status,
    object::{Elements, Members},
};
use serde_json::{Value, json};

use super::{Restored, Surroundings};
use crate::commit::metadata_text;

mod accounts;

pub(super) use accounts::{await_account, give_account};

/// Classes that every cluster has, with their values.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// What a change of a pod keeps though it leaves it out.
const KEPT: [&str; 4] = [
    "priority",
    "preemptionPolicy",
    "serviceAccountName",
    "serviceAccount",
];

/// What becomes of a node, which pods bear for a while.
const LOSSES: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];

const USUAL_PREEMPTION: &str = "PreemptLowerPriority";
const CLASSES: (&str, &str) = ("scheduling.k8s.io", "priorityclasses");

/// The priority that a class gives; without a class, that of the default one, if there is any.
pub(super) fn give_priority(surroundings: Surroundings<'_>, pod: &mut Value) -> Result<(), Status> {
    let refused = |pod: &Value, why: String| Err(surroundings.forbidden(pod, &why));
    let stated = pod["spec"]["priorityClassName"].as_str();
    let stated = stated.filter(|name| !name.is_empty()).map(str::to_owned);
    let found = match &stated {
        Some(name) => match surroundings.find(CLASSES, name) {
            Some(class) => Some(class),
            None => match SYSTEM_CLASSES.iter().find(|(known, _)| known == name) {
                Some((name, value)) => Some(json!({"metadata": {"name": name}, "value": value})),
                None => {
                    let why = format!("no PriorityClass with name {name} was found");
                    return refused(pod, why);
                }
            },
        },
        None => default_class(surroundings),
    };
    let (priority, policy) = match &found {
        Some(class) => (
            class["value"].as_i64().unwrap_or_default(),
            class["preemptionPolicy"]
                .as_str()
                .unwrap_or(USUAL_PREEMPTION)
                .to_owned(),
        ),
        None => (0, USUAL_PREEMPTION.to_owned()),
    };
    if let Some(given) = pod["spec"]["priority"]
        .as_i64()
        .filter(|given| *given != priority)
    {
        return refused(
            pod,
            format!(
                "the integer value of priority ({given}) must not be provided in pod spec; \
                 priority admission controller computed {priority} from the given PriorityClass \
                 name"
            ),
        );
    }
    let given = pod["spec"]["preemptionPolicy"].as_str();
    if let Some(given) = given.filter(|given| *given != policy) {
        return refused(
            pod,
            format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; \
                 priority admission controller computed {policy} from the given PriorityClass name"
            ),
        );
    }
    let spec = &mut pod["spec"];
    if let Some(name) = found
        .as_ref()
        .and_then(|class| metadata_text(class, "name"))
    {
        spec["priorityClassName"] = json!(name);
    }
    spec["priority"] = json!(priority);
    spec["preemptionPolicy"] = json!(policy);
    Ok(())
}

/// The class of pods that name none: of several, the one of the lowest value.
fn default_class(surroundings: Surroundings<'_>) -> Option<Value> {
    let classes = surroundings.all(CLASSES.0, CLASSES.1).into_iter();
    let marked = classes.filter(|class| class["globalDefault"] == json!(true));
    marked.min_by_key(|class| class["value"].as_i64().unwrap_or_default())
}

/// Whether a change that leaves out this member of a pod's spec keeps it, all of it.
pub(super) fn is_kept(member: &str, text: &str) -> bool {
    match member {
        "tolerations" => {
            let keys = Elements::of(text).map(toleration_key);
            let keys: Option<Vec<&str>> = keys.collect();
            keys.is_some_and(|keys| match keys[..] {
                [] => true,
                [one] => LOSSES.contains(&one),
                [one, other] => LOSSES == [one, other] || LOSSES == [other, one],
                _ => false,
            })
        }
        member => KEPT.contains(&member),
    }
}

fn toleration_key(text: &str) -> Option<&str> {
    let mut parts = Members::of(text);
    let key = parts.find_map(|(name, text)| (name == "key").then_some(text))?;
    key.strip_prefix('"')?.strip_suffix('"')
}

/// A change that leaves out the priority, the account, or how long the pod bears the loss of its
/// node, keeps it.
pub(super) fn restore(before: &Value, pod: &mut Value) -> Restored {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Restored::Nothing;
    };
    let mut restored = Restored::Nothing;
    for member in KEPT {
        if !spec.contains_key(member)
            && let Some(earlier) = before["spec"].get(member)
        {
            spec.insert(member.to_owned(), earlier.clone());
            restored = Restored::Something;
        }
    }
    let stated = spec.get("tolerations").and_then(Value::as_array);
    let missing = missing_patience(
        stated.map_or(&[], Vec::as_slice),
        before["spec"]["tolerations"].as_array(),
    );
    if !missing.is_empty() {
        let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
        if let Value::Array(listed) = tolerations {
            listed.extend(missing);
        }
        restored = Restored::Something;
    }
    restored
}

/// The tolerations of losses that a change leaves out.
fn missing_patience(stated: &[Value], before: Option<&Vec<Value>>) -> Vec<Value> {
    let mut missing: Vec<Value> = Vec::new();
    for toleration in before.into_iter().flatten() {
        let key = toleration["key"].as_str().unwrap_or_default();
        let is_same = |other: &Value| other["key"].as_str().is_none_or(|other| other == key);
        if LOSSES.contains(&key) && !stated.iter().chain(&missing).any(is_same) {
            missing.push(toleration.clone());
        }
    }
    missing
}

/// Only one class of priorities is the default.
pub(super) fn check_only_default(
    surroundings: Surroundings<'_>,
    class: &Value,
) -> Result<(), Status> {
    if class["globalDefault"] != json!(true) {
        return Ok(());
    }
    let own = metadata_text(class, "name");
    match default_class(surroundings) {
        Some(other) if metadata_text(&other, "name") != own => {
            let name = metadata_text(&other, "name").unwrap_or_default();
            let why = format!(
                "PriorityClass {name} is already marked as default. Only one default can exist"
            );
            Err(surroundings.forbidden(class, &why))
        }
        _ => Ok(()),
    }
}

fn runtime_class(surroundings: Surroundings<'_>, pod: &Value) -> Result<Option<Value>, Status> {
    let Some(name) = pod["spec"]["runtimeClassName"].as_str() else {
        return Ok(None);
    };
    match surroundings.find(("node.k8s.io", "runtimeclasses"), name) {
        Some(class) => Ok(Some(class)),
        None => {
            let why = format!("pod rejected: RuntimeClass {name:?} not found");
            Err(surroundings.forbidden(pod, &why))
        }
    }
}

/// What the runtime of a pod needs for itself, and where it can run.
pub(super) fn give_overhead(surroundings: Surroundings<'_>, pod: &mut Value) -> Result<(), Status> {
    let Some(class) = runtime_class(surroundings, pod)? else {
        return Ok(());
    };
    if let Some(overhead) = class["overhead"].get("podFixed") {
        let stated = pod["spec"].get("overhead");
        if stated.is_some_and(|stated| stated != overhead && *stated != json!({})) {
            let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(surroundings.forbidden(pod, why));
        }
        pod["spec"]["overhead"] = overhead.clone();
    }
    let selector = class["scheduling"]["nodeSelector"].as_object();
    for (key, value) in selector.into_iter().flatten() {
        let stated = &pod["spec"]["nodeSelector"][key];
        if !stated.is_null() && stated != value {
            let (wanted, stated) = (value.as_str(), stated.as_str());
            let (wanted, stated) = (wanted.unwrap_or_default(), stated.unwrap_or_default());
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; \
                 pod.spec.nodeSelector[{key}] = {stated}"
            );
            return Err(surroundings.forbidden(pod, &why));
        }
        pod["spec"]["nodeSelector"][key] = value.clone();
    }
    let tolerations = class["scheduling"]["tolerations"].as_array();
    for toleration in tolerations.into_iter().flatten() {
        match &mut pod["spec"]["tolerations"] {
            Value::Array(listed) if listed.contains(toleration) => {}
            Value::Array(listed) => listed.push(toleration.clone()),
            missing => *missing = json!([toleration]),
        }
    }
    Ok(())
}

/// Only the class of its runtime says what a pod's overhead is.
pub(super) fn check_overhead(surroundings: Surroundings<'_>, pod: &Value) -> Result<(), Status> {
    let stated = pod["spec"].get("overhead");
    let class = runtime_class(surroundings, pod)?;
    let defined = class
        .as_ref()
        .and_then(|class| class["overhead"].get("podFixed"));
    let why = match (defined, stated) {
        (Some(defined), stated) if stated != Some(defined) => {
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        }
        (None, Some(_)) => {
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        }
        _ => return Ok(()),
    };
    Err(surroundings.forbidden(pod, why))
}
