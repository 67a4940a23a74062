//! What one object adds to the usage of its namespace.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::super::{
    amounts::{Amounts, amounts, pod_amounts},
    matching::texts,
};
use crate::{registry::Definition, server::Server};

/// Thousandths by the name under which quotas know them.
pub(super) type Usage = BTreeMap<String, i128>;

/// One object.
const ONE: i128 = 1_000;

/// Kinds that quotas also know by their bare names.
const COUNTED_BY_NAME: [&str; 6] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

const CLASS_SUFFIX: &str = ".storageclass.storage.k8s.io/";

/// The kind whose objects use what has this name.
pub(super) fn kind_of(name: &str) -> (String, String) {
    if let Some(counted) = name.strip_prefix("count/") {
        let (resource, group) = counted.split_once('.').unwrap_or((counted, ""));
        return (group.to_owned(), resource.to_owned());
    }
    let resource = match name {
        "services.loadbalancers" | "services.nodeports" => "services",
        "requests.storage" => "persistentvolumeclaims",
        name if name.contains(CLASS_SUFFIX) => "persistentvolumeclaims",
        name if COUNTED_BY_NAME.contains(&name) => name,
        _ => "pods",
    };
    (String::new(), resource.to_owned())
}

/// The kind of a group in a version that is served.
pub(super) fn version_of(server: &Server, group: &str, resource: &str) -> Option<Arc<Definition>> {
    let is_it = |it: &&Arc<Definition>| *it.group == *group && *it.resource == *resource;
    let custom = server.registry.custom();
    let custom = custom.kind(group, resource);
    let custom = custom.and_then(|kind| kind.versions.first().cloned());
    custom.or_else(|| server.registry.definitions().iter().find(is_it).cloned())
}

/// What an object adds to the usage of its namespace.
pub(super) fn usage(definition: &Definition, object: &Value) -> Usage {
    let mut usage = Usage::new();
    let (group, resource) = (&*definition.group, &*definition.resource);
    let counted = match group {
        "" => format!("count/{resource}"),
        group => format!("count/{resource}.{group}"),
    };
    usage.insert(counted, ONE);
    if !group.is_empty() {
        return usage;
    }
    if COUNTED_BY_NAME.contains(&resource) {
        usage.insert(resource.to_owned(), ONE);
    }
    match resource {
        "pods" => add_pod(&mut usage, object),
        "services" => add_service(&mut usage, object),
        "persistentvolumeclaims" => add_claim(&mut usage, object),
        _ => {}
    }
    usage
}

fn add_pod(usage: &mut Usage, pod: &Value) {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    if ["Succeeded", "Failed"].contains(&phase) {
        return;
    }
    usage.insert("pods".to_owned(), ONE);
    let (requests, limits) = (pod_amounts(pod, "requests"), pod_amounts(pod, "limits"));
    usage.extend(computed(&requests, &limits));
}

/// What containers ask for, under all names that quotas know.
fn computed(requests: &Amounts, limits: &Amounts) -> Usage {
    let mut usage = Usage::new();
    for (name, (amount, _)) in requests {
        let is_native = ["cpu", "memory", "ephemeral-storage"].contains(&name.as_str());
        if is_native || name.starts_with("hugepages-") {
            usage.insert(name.clone(), amount.milli());
        }
        usage.insert(format!("requests.{name}"), amount.milli());
    }
    for (name, (amount, _)) in limits {
        usage.insert(format!("limits.{name}"), amount.milli());
    }
    usage
}

fn add_service(usage: &mut Usage, service: &Value) {
    let ports = service["spec"]["ports"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let on_nodes = match service["spec"]["type"].as_str() {
        Some("NodePort") => ports.len(),
        Some("LoadBalancer") => {
            usage.insert("services.loadbalancers".to_owned(), ONE);
            let has_one = |port: &&Value| port["nodePort"].as_i64().unwrap_or_default() != 0;
            ports.iter().filter(has_one).count()
        }
        _ => 0,
    };
    usage.insert("services.nodeports".to_owned(), ONE * on_nodes as i128);
    usage
        .entry("services.loadbalancers".to_owned())
        .or_default();
}

fn add_claim(usage: &mut Usage, claim: &Value) {
    let requests = amounts(&claim["spec"]["resources"]["requests"]);
    let storage = requests.get("storage").map(|(amount, _)| amount.milli());
    let class = claim["spec"]["storageClassName"].as_str();
    let class = class.filter(|class| !class.is_empty());
    if let Some(class) = class {
        usage.insert(format!("{class}{CLASS_SUFFIX}persistentvolumeclaims"), ONE);
    }
    if let Some(storage) = storage {
        usage.insert("requests.storage".to_owned(), storage);
        if let Some(class) = class {
            usage.insert(format!("{class}{CLASS_SUFFIX}requests.storage"), storage);
        }
    }
}

/// Whether a quota is about an object at all.
pub(super) fn matches_scopes(quota: &Value, definition: &Definition, object: &Value) -> bool {
    let spec = &quota["spec"];
    let scopes = texts(&spec["scopes"]);
    let selectors = spec["scopeSelector"]["matchExpressions"].as_array();
    let selectors = selectors.map_or(&[][..], Vec::as_slice);
    if scopes.is_empty() && selectors.is_empty() {
        return true;
    }
    let is_pod = definition.group.is_empty() && &*definition.resource == "pods";
    is_pod
        && scopes.iter().all(|scope| is_in_scope(object, scope))
        && selectors.iter().all(|selector| meets(object, selector))
}

fn meets(pod: &Value, selector: &Value) -> bool {
    let scope = selector["scopeName"].as_str().unwrap_or_default();
    if scope != "PriorityClass" {
        return is_in_scope(pod, scope);
    }
    let class = pod["spec"]["priorityClassName"]
        .as_str()
        .filter(|class| !class.is_empty());
    let listed = texts(&selector["values"]);
    let is_listed = class.is_some_and(|class| listed.iter().any(|value| value == class));
    match selector["operator"].as_str() {
        Some("In") => is_listed,
        Some("NotIn") => !is_listed,
        Some("DoesNotExist") => class.is_none(),
        _ => class.is_some(),
    }
}

fn is_in_scope(pod: &Value, scope: &str) -> bool {
    let is_terminating = pod["spec"]["activeDeadlineSeconds"].is_number();
    match scope {
        "Terminating" => is_terminating,
        "NotTerminating" => !is_terminating,
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => pod["spec"]["priorityClassName"].is_string(),
        "CrossNamespacePodAffinity" => uses_other_namespaces(pod),
        _ => false,
    }
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["containers", "initContainers"].into_iter();
    lists.flat_map(|list| pod["spec"][list].as_array().into_iter().flatten())
}

fn is_best_effort(pod: &Value) -> bool {
    let asks = |resources: &Value| {
        let named = ["cpu", "memory"];
        let stated = [
            amounts(&resources["requests"]),
            amounts(&resources["limits"]),
        ];
        let mut stated = stated.iter().flatten();
        stated.any(|(name, (amount, _))| named.contains(&name.as_str()) && amount.milli() > 0)
    };
    !containers(pod).any(|container| asks(&container["resources"]))
        && !asks(&pod["spec"]["resources"])
}

fn uses_other_namespaces(pod: &Value) -> bool {
    let names_others = |term: &Value| {
        let listed = term["namespaces"].as_array();
        listed.is_some_and(|listed| !listed.is_empty()) || term["namespaceSelector"].is_object()
    };
    ["podAffinity", "podAntiAffinity"]
        .into_iter()
        .any(|affinity| {
            let affinity = &pod["spec"]["affinity"][affinity];
            let required = affinity["requiredDuringSchedulingIgnoredDuringExecution"].as_array();
            let preferred = affinity["preferredDuringSchedulingIgnoredDuringExecution"].as_array();
            let preferred = preferred
                .into_iter()
                .flatten()
                .map(|term| &term["podAffinityTerm"]);
            required
                .into_iter()
                .flatten()
                .chain(preferred)
                .any(names_others)
        })
}

/// What containers leave out though a quota limits it, with their names.
pub(super) fn missing_requests(definition: &Definition, hard: &Usage, pod: &Value) -> Vec<String> {
    const REQUIRED: [&str; 6] = [
        "cpu",
        "limits.cpu",
        "limits.memory",
        "memory",
        "requests.cpu",
        "requests.memory",
    ];
    let is_pod = definition.group.is_empty() && &*definition.resource == "pods";
    if !is_pod || pod["spec"]["resources"].is_object() {
        return Vec::new();
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in containers(pod) {
        let resources = &container["resources"];
        let stated = computed(
            &amounts(&resources["requests"]),
            &amounts(&resources["limits"]),
        );
        let name = container["name"].as_str().unwrap_or_default();
        let required = REQUIRED.iter().filter(|name| hard.contains_key(**name));
        for required in required.filter(|name| !stated.contains_key(**name)) {
            missing.entry(required).or_default().insert(name);
        }
    }
    let told = missing.into_iter().map(|(resource, names)| {
        let names: Vec<&str> = names.into_iter().collect();
        format!("{resource} for: {}", names.join(","))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_together_ask_for_what_their_pod_uses() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let pod = json!({"spec": {
            "containers": [container("500m"), container("1")],
            "initContainers": [container("2")],
        }});
        let mut usage = Usage::new();
        add_pod(&mut usage, &pod);
        assert_eq!(usage["requests.cpu"], 2_000);
        assert_eq!(usage["pods"], ONE);
        let mut ended = Usage::new();
        add_pod(&mut ended, &json!({"status": {"phase": "Failed"}}));
        assert!(ended.is_empty());
    }

    #[test]
    fn names_tell_whose_objects_are_counted() {
        let kind = |name: &str| {
            let (group, resource) = kind_of(name);
            format!("{resource}.{group}")
        };
        assert_eq!(kind("count/deployments.apps"), "deployments.apps");
        assert_eq!(kind("count/secrets"), "secrets.");
        assert_eq!(kind("services.nodeports"), "services.");
        assert_eq!(
            kind("gold.storageclass.storage.k8s.io/requests.storage"),
            "persistentvolumeclaims."
        );
        assert_eq!(kind("limits.cpu"), "pods.");
    }

    #[test]
    fn a_pod_without_requests_is_best_effort() {
        let pod = json!({"spec": {"containers": [{"name": "c"}]}});
        assert!(is_in_scope(&pod, "BestEffort"));
        assert!(is_in_scope(&pod, "NotTerminating"));
        let selector = json!({
            "scopeName": "PriorityClass", "operator": "In", "values": ["high"],
        });
        assert!(!meets(&pod, &selector));
        assert!(meets(
            &json!({"spec": {"priorityClassName": "high"}}),
            &selector
        ));
    }
}
