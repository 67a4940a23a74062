//! The fields of a service that depend on each other, and on what it was before.

use std::{collections::BTreeSet, net::IpAddr};

use listwatch_api::{FieldError, FieldPath};
use serde_json::{Map, Value, json};

/// How a service is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    ClusterIp,
    NodePort,
    LoadBalancer,
    ExternalName,
}

pub(super) fn type_of(service: &Value) -> Type {
    match service["spec"]["type"].as_str() {
        Some("NodePort") => Type::NodePort,
        Some("LoadBalancer") => Type::LoadBalancer,
        Some("ExternalName") => Type::ExternalName,
        _ => Type::ClusterIp,
    }
}

pub(super) fn texts(list: &Value) -> Vec<String> {
    let listed = list.as_array().into_iter().flatten();
    listed
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

pub(super) fn ports(service: &Value) -> &[Value] {
    service["spec"]["ports"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// The port on every node, if there is one.
pub(super) fn node_port(port: &Value) -> Option<i64> {
    port["nodePort"].as_i64().filter(|number| *number != 0)
}

pub(super) fn health_check_port(service: &Value) -> Option<i64> {
    let stated = service["spec"]["healthCheckNodePort"].as_i64();
    stated.filter(|number| *number != 0)
}

pub(super) fn needs_health_check(service: &Value) -> bool {
    type_of(service) == Type::LoadBalancer && service["spec"]["externalTrafficPolicy"] == "Local"
}

/// Whether ports are chosen for those who name none.
pub(super) fn allocates_ports(service: &Value) -> bool {
    match type_of(service) {
        Type::NodePort => true,
        Type::LoadBalancer => service["spec"]["allocateLoadBalancerNodePorts"] != json!(false),
        Type::ClusterIp | Type::ExternalName => false,
    }
}

fn node_ports(service: &Value) -> BTreeSet<i64> {
    ports(service).iter().filter_map(node_port).collect()
}

fn spec_mut(service: &mut Value) -> Option<&mut Map<String, Value>> {
    service.get_mut("spec").and_then(Value::as_object_mut)
}

fn is_set(service: &Value, member: &str) -> bool {
    match &service["spec"][member] {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    }
}

fn take_from(before: &Value, service: &mut Value, member: &str) {
    if let (Some(spec), Some(value)) = (spec_mut(service), before["spec"].get(member)) {
        spec.insert(member.to_owned(), value.clone());
    }
}

fn drop_members(service: &mut Value, members: &[&str]) {
    if let Some(spec) = spec_mut(service) {
        members.iter().for_each(|member| drop(spec.remove(*member)));
    }
}

fn same(before: &Value, service: &Value, member: &str) -> bool {
    before["spec"].get(member) == service["spec"].get(member)
}

/// Those who know of one address only mean a list of it.
pub(super) fn normalize_new(service: &mut Value) {
    if is_set(service, "clusterIP") && !is_set(service, "clusterIPs") {
        service["spec"]["clusterIPs"] = json!([service["spec"]["clusterIP"].clone()]);
    }
}

/// What a client leaves out stays as it was allocated, and what no longer makes sense goes.
pub(super) fn normalize_change(before: &Value, service: &mut Value) {
    keep_allocated(before, service);
    normalize_addresses(before, service);
    drop_what_the_type_has_not(before, service);
}

fn keep_allocated(before: &Value, service: &mut Value) {
    let (was, is) = (type_of(before), type_of(service));
    if was != Type::ExternalName && is != Type::ExternalName {
        for member in ["clusterIP", "clusterIPs"] {
            if !is_set(service, member) {
                take_from(before, service, member);
            }
        }
        if !is_set(service, "ipFamilyPolicy") {
            take_from(before, service, "ipFamilyPolicy");
        }
    }
    if allocates_ports(before) && allocates_ports(service) {
        keep_node_ports(before, service);
    }
    let needed = needs_health_check(before) && needs_health_check(service);
    if needed && health_check_port(service).is_none() {
        take_from(before, service, "healthCheckNodePort");
    }
}

fn keep_node_ports(before: &Value, service: &mut Value) {
    let (was, is) = (node_ports(before), node_ports(service));
    let used: BTreeSet<i64> = was.intersection(&is).copied().collect();
    for place in 0..ports(service).len() {
        let port = &ports(service)[place];
        if node_port(port).is_some() {
            continue;
        }
        let named = |other: &&Value| other.get("name") == port.get("name");
        let earlier = ports(before).iter().rfind(named).and_then(node_port);
        if let Some(earlier) = earlier.filter(|number| !used.contains(number)) {
            service["spec"]["ports"][place]["nodePort"] = json!(earlier);
        }
    }
}

fn normalize_addresses(before: &Value, service: &mut Value) {
    if same(before, service, "clusterIP") {
        return;
    }
    let was_set = is_set(before, "clusterIP");
    if !same(before, service, "clusterIPs") {
        return;
    }
    if was_set && !is_set(service, "clusterIP") {
        drop_members(service, &["clusterIPs"]);
    } else {
        service["spec"]["clusterIPs"] = json!([service["spec"]["clusterIP"].clone()]);
    }
}

fn drop_what_the_type_has_not(before: &Value, service: &mut Value) {
    let (was, is) = (type_of(before), type_of(service));
    if was != Type::ExternalName && is == Type::ExternalName {
        if same(before, service, "clusterIP") && same(before, service, "clusterIPs") {
            drop_members(service, &["clusterIP", "clusterIPs"]);
        }
        for member in ["ipFamilies", "ipFamilyPolicy"] {
            if same(before, service, member) {
                drop_members(service, &[member]);
            }
        }
    }
    let has_ports = |kind| matches!(kind, Type::NodePort | Type::LoadBalancer);
    let ports_lost = has_ports(was) && !has_ports(is);
    if ports_lost && node_ports(before).is_superset(&node_ports(service)) {
        for place in 0..ports(service).len() {
            if let Value::Object(port) = &mut service["spec"]["ports"][place] {
                port.remove("nodePort");
            }
        }
    }
    let mut drop_if_same = |member: &str| {
        if same(before, service, member) {
            drop_members(service, &[member]);
        }
    };
    if was == Type::LoadBalancer && is != Type::LoadBalancer {
        drop_if_same("allocateLoadBalancerNodePorts");
        drop_if_same("loadBalancerClass");
    }
    if is_reachable(before) && !is_reachable_as(service, is) {
        drop_members_if_same(before, service, "externalTrafficPolicy");
    }
    if needs_health_check(before) && !needs_health_check(service) {
        drop_members_if_same(before, service, "healthCheckNodePort");
    }
}

fn drop_members_if_same(before: &Value, service: &mut Value, member: &str) {
    if same(before, service, member) {
        drop_members(service, &[member]);
    }
}

/// Whether a service is reached from outside the cluster.
fn is_reachable(service: &Value) -> bool {
    is_reachable_as(service, type_of(service))
}

fn is_reachable_as(service: &Value, kind: Type) -> bool {
    match kind {
        Type::NodePort | Type::LoadBalancer => true,
        Type::ClusterIp => is_set(service, "externalIPs"),
        Type::ExternalName => false,
    }
}

/// Decides which families of addresses a service has, in a cluster that has one.
pub(super) fn families(family: &str, service: &mut Value) -> Result<(), Vec<FieldError>> {
    let spec = FieldPath::new("spec");
    let is_headless = service["spec"]["clusterIP"] == "None";
    let has_selector = service["spec"]["selector"]
        .as_object()
        .is_some_and(|selector| !selector.is_empty());
    let is_free = is_headless && !has_selector;
    if !is_set(service, "ipFamilyPolicy") {
        let policy = if is_free {
            "RequireDualStack"
        } else {
            "SingleStack"
        };
        service["spec"]["ipFamilyPolicy"] = json!(policy);
    }
    let policy = service["spec"]["ipFamilyPolicy"].clone();
    let addresses = texts(&service["spec"]["clusterIPs"]);
    let mut stated = texts(&service["spec"]["ipFamilies"]);
    let mut errors = Vec::new();
    if policy == "SingleStack" {
        let detail = |of: &str| {
            format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {of} are specified"
            )
        };
        let field = spec.child("ipFamilyPolicy");
        if addresses.len() == 2 {
            errors.push(FieldError::invalid(&field, &policy, &detail("cluster IPs")));
        }
        if stated.len() == 2 {
            errors.push(FieldError::invalid(&field, &policy, &detail("IP families")));
        }
    }
    for (place, address) in addresses.iter().enumerate().skip(stated.len()) {
        match family_of(address) {
            Some(inferred) if inferred == family => stated.push(inferred.to_owned()),
            Some(inferred) => {
                let field = spec.child("clusterIPs").index(place);
                let detail = format!("{inferred} is not configured on this cluster");
                errors.push(FieldError::invalid(&field, &json!(addresses), &detail));
            }
            None => break,
        }
    }
    if errors.is_empty() && !is_free {
        errors = refuse_unserved(family, &policy, &stated);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if stated.is_empty() {
        stated.push(family.to_owned());
    }
    if is_free && stated.len() < 2 && policy != "SingleStack" {
        let other = if stated[0] == "IPv4" { "IPv6" } else { "IPv4" };
        stated.push(other.to_owned());
    }
    service["spec"]["ipFamilies"] = json!(stated);
    Ok(())
}

fn refuse_unserved(family: &str, policy: &Value, stated: &[String]) -> Vec<FieldError> {
    let spec = FieldPath::new("spec");
    let mut errors = Vec::new();
    if policy == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        let field = spec.child("ipFamilyPolicy");
        errors.push(FieldError::invalid(&field, policy, detail));
    }
    let others = stated.iter().enumerate();
    for (place, other) in others.filter(|(_, other)| *other != family) {
        let field = spec.child("ipFamilies").index(place);
        errors.push(FieldError::invalid(
            &field,
            other,
            "not configured on this cluster",
        ));
    }
    errors
}

fn family_of(address: &str) -> Option<&'static str> {
    match address.parse().ok()? {
        IpAddr::V4(_) => Some("IPv4"),
        IpAddr::V6(_) => Some("IPv6"),
    }
}
