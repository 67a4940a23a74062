//! What a change of a service clears, and what it may not touch.

use serde_json::{Value, json};

use super::{forget_internal_policy, has_health_port, is_headless, is_reached_from_outside};
use crate::field::Field;
use crate::tree::{clear, each, list, text};

const KEPT: &str = "may not change once set";

/// Clears what a new type has no use for, unless the writer changed it too, which is then refused.
pub(super) fn adjust(before: &Value, next: &mut Value) {
    let old = &before["spec"];
    let spec = &mut next["spec"];
    let is_same = |spec: &Value, name: &str| old[name] == spec[name];
    let is_type = |spec: &Value, kind: &str| spec["type"] == kind;
    if !is_type(old, "ExternalName") && is_type(spec, "ExternalName") {
        if is_same(spec, "clusterIP") && is_same(spec, "clusterIPs") {
            clear(spec, "clusterIP");
            clear(spec, "clusterIPs");
        }
        for name in ["ipFamilies", "ipFamilyPolicy"] {
            if is_same(spec, name) {
                clear(spec, name);
            }
        }
    }
    let had_ports: Vec<&Value> = node_ports(old).collect();
    let adds_none = node_ports(spec).all(|port| had_ports.contains(&port));
    if has_node_ports(old) && !has_node_ports(spec) && adds_none {
        each(spec, "ports").for_each(|port| clear(port, "nodePort"));
    }
    let lost = [
        (
            has_health_port(old) && !has_health_port(spec),
            "healthCheckNodePort",
        ),
        (loses_balancer(old, spec), "allocateLoadBalancerNodePorts"),
        (loses_balancer(old, spec), "loadBalancerClass"),
        (
            is_reached_from_outside(old) && !is_reached_from_outside(spec),
            "externalTrafficPolicy",
        ),
    ];
    for (is_lost, name) in lost {
        if is_lost && is_same(spec, name) {
            clear(spec, name);
        }
    }
    if !is_type(spec, "LoadBalancer") {
        next["status"]["loadBalancer"] = json!({});
    }
    forget_internal_policy(next);
}

fn loses_balancer(old: &Value, spec: &Value) -> bool {
    old["type"] == "LoadBalancer" && spec["type"] != "LoadBalancer"
}

fn has_node_ports(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn node_ports(spec: &Value) -> impl Iterator<Item = &Value> {
    let numbers = list(spec, "ports").iter().map(|port| &port["nodePort"]);
    numbers.filter(|number| number.as_i64().unwrap_or_default() != 0)
}

/// Checks what a change must keep.
pub(super) fn check_kept(service: &Field<'_, '_>, before: &Value) {
    let (spec, old) = (service.child("spec"), &before["spec"]);
    let kind = text(spec.value(), "type");
    if kind != "ExternalName" && old["type"] != "ExternalName" {
        check_addresses(&spec, old);
        check_families(&spec, old);
    }
    let class = spec.child("loadBalancerClass");
    if kind == "LoadBalancer"
        && old["type"] == "LoadBalancer"
        && old["loadBalancerClass"] != *class.value()
    {
        class.invalid(KEPT);
    }
    match kind {
        "LoadBalancer" if class.is_set() => class.qualified_name(),
        "LoadBalancer" => {}
        _ if class.is_set() => class.forbidden(super::FOR_BALANCERS),
        _ => {}
    }
    let health = spec.child("healthCheckNodePort");
    if has_health_port(old)
        && has_health_port(spec.value())
        && old["healthCheckNodePort"] != *health.value()
    {
        health.forbidden("field is immutable");
    }
}

fn check_addresses(spec: &Field<'_, '_>, old: &Value) {
    if is_headless(old) && is_headless(spec.value()) {
        return;
    }
    let addresses = spec.child("clusterIPs");
    let (had, has) = (list(old, "clusterIPs"), list(spec.value(), "clusterIPs"));
    let changed_first = matches!((had.first(), has.first()), (Some(old), Some(new)) if old != new);
    if had.len() == has.len() {
        for (index, _) in had
            .iter()
            .zip(has)
            .enumerate()
            .filter(|(_, (old, new))| old != new)
        {
            addresses
                .index(index)
                .invalid_value(addresses.value(), KEPT);
        }
        return;
    }
    if has.is_empty() {
        let why = "primary clusterIP can not be unset";
        addresses.index(0).invalid_value(addresses.value(), why);
    }
    if changed_first {
        addresses.index(0).invalid_value(addresses.value(), KEPT);
    }
    if had.len() > has.len() && has.len() == 1 {
        need_single_stack(spec, "clusterIP");
    }
}

fn check_families(spec: &Field<'_, '_>, old: &Value) {
    if is_headless(old) || is_headless(spec.value()) {
        return;
    }
    let families = spec.child("ipFamilies");
    let addresses = spec.child("clusterIPs");
    let (had, has) = (list(old, "ipFamilies"), list(spec.value(), "ipFamilies"));
    if had.len() == has.len() {
        let changes = had.iter().zip(has).filter(|(old, new)| old != new);
        changes.for_each(|_| families.index(0).invalid_value(families.value(), KEPT));
        return;
    }
    if had.len() > has.len() && addresses.is_empty() {
        let why = "primary ipFamily can not be unset";
        families.index(0).invalid_value(families.value(), why);
    }
    if matches!((had.first(), has.first()), (Some(old), Some(new)) if old != new) {
        families.index(0).invalid_value(addresses.value(), KEPT);
    }
    if had.len() > has.len() && has.len() == 1 {
        need_single_stack(spec, "ipFamily");
    }
}

fn need_single_stack(spec: &Field<'_, '_>, what: &str) {
    let policy = spec.child("ipFamilyPolicy");
    if policy.text() != "SingleStack" {
        policy.invalid(&format!(
            "must be set to 'SingleStack' when releasing the secondary {what}"
        ));
    }
}
