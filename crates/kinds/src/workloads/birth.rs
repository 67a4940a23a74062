//! What a new pod is given, whatever its writer said.

use serde_json::{Value, json};

use super::resources::{sum_of, written};
use crate::field::{Quantity, check};
use crate::tree::{each, fill, list, part};

/// Seconds for which a pod stays on a node that is out of reach.
const AWAY_SECONDS: i64 = 300;

/// A pod waits for a node, with the patience and the priority that all have.
pub(super) fn begin_pod(pod: &mut Value) {
    if has_terms(&pod["spec"]) {
        let labels = pod["metadata"]["labels"].clone();
        merge_label_keys(&mut pod["spec"], &labels);
    }
    let created = match list(&pod["spec"], "schedulingGates") {
        [] => None,
        _ => Some(pod["metadata"]["creationTimestamp"].clone()),
    };
    let Some(spec) = part(pod, "spec") else {
        return;
    };
    tolerate_absence(spec);
    if spec["priorityClassName"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
    {
        fill(spec, "priority", 0);
        fill(spec, "preemptionPolicy", "PreemptLowerPriority");
    }
    complete_resources(spec);
    let mut status = json!({"phase": "Pending", "qosClass": quality(spec)});
    if let Some(created) = created {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": created,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    pod["status"] = status;
}

fn tolerate_absence(spec: &mut Value) {
    for taint in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is = |toleration: &Value, field: &str, wanted: &str| {
            let text = toleration[field].as_str().unwrap_or_default();
            text.is_empty() || text == wanted
        };
        let mut tolerations = list(spec, "tolerations").iter();
        if tolerations.any(|known| is(known, "key", taint) && is(known, "effect", "NoExecute")) {
            continue;
        }
        let toleration = json!({
            "key": taint,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": AWAY_SECONDS,
        });
        match spec["tolerations"].as_array_mut() {
            Some(tolerations) => tolerations.push(toleration),
            None => spec["tolerations"] = json!([toleration]),
        }
    }
}

fn has_terms(spec: &Value) -> bool {
    !spec["affinity"].is_null() || !spec["topologySpreadConstraints"].is_null()
}

/// Terms that name keys alone mean the pod's own values under these keys.
fn merge_label_keys(spec: &mut Value, labels: &Value) {
    for constraint in each(spec, "topologySpreadConstraints") {
        select_own(constraint, "matchLabelKeys", "In", labels);
    }
    let Some(affinity) = part(spec, "affinity") else {
        return;
    };
    for direction in ["podAffinity", "podAntiAffinity"] {
        let Some(direction) = part(affinity, direction) else {
            continue;
        };
        for preferred in each(direction, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = part(preferred, "podAffinityTerm") {
                select_own_and_others(term, labels);
            }
        }
        for term in each(direction, "requiredDuringSchedulingIgnoredDuringExecution") {
            select_own_and_others(term, labels);
        }
    }
}

fn select_own_and_others(term: &mut Value, labels: &Value) {
    select_own(term, "matchLabelKeys", "In", labels);
    select_own(term, "mismatchLabelKeys", "NotIn", labels);
}

fn select_own(term: &mut Value, keys: &str, operator: &str, labels: &Value) {
    let expressions: Vec<Value> = list(term, keys)
        .iter()
        .filter_map(|key| Some((key.as_str()?, labels.get(key.as_str()?)?)))
        .map(|(key, value)| json!({"key": key, "operator": operator, "values": [value]}))
        .collect();
    let selector = part(term, "labelSelector");
    if let Some(selector) = selector.filter(|_| !expressions.is_empty()) {
        match selector["matchExpressions"].as_array_mut() {
            Some(known) => known.extend(expressions),
            None => selector["matchExpressions"] = Value::Array(expressions),
        }
    }
}

/// A pod that has limits as a whole asks for what its containers ask for, or for its limits.
fn complete_resources(spec: &mut Value) {
    let Some(resources) = spec.get("resources") else {
        return;
    };
    let mut requests = resources["requests"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    for resource in ["cpu", "memory"] {
        if !requests.contains_key(resource)
            && let Some(sum) = sum_of_requests(spec, resource)
        {
            requests.insert(resource.to_owned(), json!(sum));
        }
    }
    for (resource, limit) in resources["limits"].as_object().into_iter().flatten() {
        if !requests.contains_key(resource) {
            requests.insert(resource.clone(), limit.clone());
        }
    }
    let is_given = ["limits", "requests"]
        .iter()
        .any(|list| resources[*list].is_object());
    if is_given && !requests.is_empty() {
        spec["resources"]["requests"] = Value::Object(requests);
    }
}

fn sum_of_requests(spec: &Value, resource: &str) -> Option<String> {
    let lists = ["containers", "initContainers"];
    let all = lists.iter().flat_map(|member| list(spec, member));
    let mut asked = all.filter_map(|one| one["resources"]["requests"][resource].as_str());
    let like = asked.next()?;
    let mut sum = None;
    check(spec, |spec| sum = Some(sum_of(spec, "requests", resource)));
    sum.map(|sum| written(sum, like))
}

/// How sure a pod can be of what it asks for.
pub(super) fn quality(spec: &Value) -> &'static str {
    if spec["resources"].is_object() {
        return quality_of(&spec["resources"]);
    }
    let containers = list(spec, "initContainers")
        .iter()
        .chain(list(spec, "containers"));
    let mut qualities = containers.map(|container| quality_of(&container["resources"]));
    let first = qualities.next().unwrap_or("BestEffort");
    match qualities.all(|quality| quality == first) {
        true => first,
        false => "Burstable",
    }
}

fn quality_of(resources: &Value) -> &'static str {
    let of = |name| {
        let amount = |list: &str| {
            let text = resources[list][name].as_str().unwrap_or("0");
            Quantity::parse(text).unwrap_or_default()
        };
        match (amount("requests"), amount("limits")) {
            (request, limit) if request != limit => "Burstable",
            (Quantity::ZERO, _) => "BestEffort",
            _ => "Guaranteed",
        }
    };
    match (of("cpu"), of("memory")) {
        (cpu, memory) if cpu == memory => cpu,
        _ => "Burstable",
    }
}
