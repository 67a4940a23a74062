//! Services: defaults, what a change clears, and what is refused. Addresses and ports that must be
//! found first are in [`allocation`].

use listwatch_api::{FieldError, field_error::BadValue, name};
use serde_json::{Value, json};

use crate::address::Family;
use crate::field::{Field, check, check_labels};
use crate::rules::{Change, Rules};
use crate::tree::{clear, each, fill, list, part, text};

pub mod allocation;
mod change;
mod settle;
mod warnings;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
pub(crate) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const POLICIES: [&str; 2] = ["Cluster", "Local"];
const FAMILY_POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const AFFINITY_SECONDS: i64 = 10_800;
const AFFINITY_SECONDS_MAX: i64 = 86_400;
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const FOR_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";
const NOT_FOR_NAMES: &str = "may not be set for ExternalName services";

/// Services.
pub(crate) const SERVICES: Rules = Rules {
    default: default_service,
    begin: |service| {
        service["status"] = json!({"loadBalancer": {}});
        forget_internal_policy(service);
    },
    adjust: change::adjust,
    check_new: |service| check(service, |service| check_service(service, &Value::Null)),
    check_change: |change| {
        check(change.next, |service| {
            change::check_kept(service, change.before);
            check_service(service, change.before);
        })
    },
    check_status,
    warn: warnings::warn,
};

fn default_service(service: &mut Value) {
    let spec = &mut service["spec"];
    default_affinity(spec);
    fill(spec, "type", "ClusterIP");
    for port in each(spec, "ports") {
        fill(port, "protocol", "TCP");
        if matches!(&port["targetPort"], Value::Null)
            || port["targetPort"] == 0
            || port["targetPort"] == ""
        {
            port["targetPort"] = json!(port["port"].as_i64().unwrap_or_default());
        }
    }
    if is_reached_from_outside(spec) {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(
        text(spec, "type"),
        "ClusterIP" | "NodePort" | "LoadBalancer"
    ) && spec["internalTrafficPolicy"].is_null()
    {
        spec["internalTrafficPolicy"] = json!("Cluster");
    }
    if spec["type"] == "LoadBalancer" {
        if spec["allocateLoadBalancerNodePorts"].is_null() {
            spec["allocateLoadBalancerNodePorts"] = json!(true);
        }
        if let Some(balancer) =
            part(service, "status").and_then(|status| part(status, "loadBalancer"))
        {
            default_ingress(balancer);
        }
    }
}

/// A service that is another name has no traffic of its own.
fn forget_internal_policy(service: &mut Value) {
    if service["spec"]["type"] == "ExternalName" {
        clear(&mut service["spec"], "internalTrafficPolicy");
    }
}

fn default_affinity(spec: &mut Value) {
    fill(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => clear(spec, "sessionAffinityConfig"),
        "ClientIP" if spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].is_null() => {
            spec["sessionAffinityConfig"] =
                json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
        }
        _ => {}
    }
}

fn default_ingress(balancer: &mut Value) {
    for ingress in each(balancer, "ingress") {
        if !text(ingress, "ip").is_empty() {
            fill(ingress, "ipMode", "VIP");
        }
    }
}

/// Whether a service, by its spec, can be reached from outside the cluster.
pub(crate) fn is_reached_from_outside(spec: &Value) -> bool {
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

/// Whether a service, by its spec, has a port for checks of its health.
pub(crate) fn has_health_port(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

/// Whether a service, by its spec, has no address of its own.
pub(crate) fn is_headless(spec: &Value) -> bool {
    matches!(list(spec, "clusterIPs"), [only] if only == "None")
}

fn check_service(service: &Field<'_, '_>, before: &Value) {
    check_topology(service);
    let spec = service.child("spec");
    let kind = text(spec.value(), "type");
    let ports = spec.child("ports");
    if ports.is_empty() && !is_headless(spec.value()) && kind != "ExternalName" {
        ports.required("");
    }
    check_type(&spec, kind);
    let mut names = Vec::new();
    for port in ports.elements() {
        check_port(&port, ports.count(), &mut names);
    }
    check_labels(&spec.child("selector"));
    check_affinity(&spec);
    check_cluster_addresses(&spec, before);
    for address in spec.child("externalIPs").elements() {
        let kept = list(&before["spec"], "externalIPs");
        if address.passes(|address| address.address_or_kept(kept)) {
            address.reachable_address();
        }
    }
    spec.child("type").need_one_of(&TYPES);
    check_port_numbers(&ports, kind);
    check_source_ranges(service, &spec, before);
    check_balancer(&spec, kind);
    check_traffic(&spec, kind);
}

fn check_topology(service: &Field<'_, '_>) {
    let metadata = service.child("metadata");
    let annotations = metadata.child("annotations");
    let (hints, mode) = (
        annotations.key(TOPOLOGY_HINTS),
        annotations.key(TOPOLOGY_MODE),
    );
    if hints.is_set() && mode.is_set() && hints.text() != mode.text() {
        mode.invalid(&format!(
            "must match annotations[{TOPOLOGY_HINTS}] when both are specified"
        ));
    }
}

fn check_type(spec: &Field<'_, '_>, kind: &str) {
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(spec.value()) => {
            let why = format!("may not be set to 'None' for {kind} services");
            spec.child("clusterIPs").index(0).invalid(&why);
        }
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if !spec.child(name).is_empty() {
                    spec.child(name).forbidden(NOT_FOR_NAMES);
                }
            }
            let target = spec.child("externalName");
            match target.text().strip_suffix('.').unwrap_or(target.text()) {
                "" => target.required(""),
                host => name::check_dns_subdomain(host)
                    .iter()
                    .for_each(|problem| target.invalid_value(host, problem)),
            }
        }
        _ => {}
    }
}

fn check_port<'v>(port: &Field<'v, '_>, ports: usize, names: &mut Vec<&'v str>) {
    let name = port.child("name");
    if name.is_empty() {
        if ports > 1 {
            name.required("");
        }
    } else {
        name.dns_label();
        if names.contains(&name.text()) {
            name.duplicate();
        }
        names.push(name.text());
    }
    port.child("port").port_number();
    port.child("protocol").need_one_of(&PROTOCOLS);
    port.child("targetPort").port_number_or_name();
    if let Some(protocol) = port.given("appProtocol") {
        protocol.qualified_name();
    }
}

fn check_affinity(spec: &Field<'_, '_>) {
    spec.child("sessionAffinity")
        .need_one_of(&["ClientIP", "None"]);
    let config = spec.child("sessionAffinityConfig");
    match spec.child("sessionAffinity").text() {
        "None" if config.is_set() => {
            config.forbidden("must not be set when session affinity is None");
        }
        "ClientIP" => {
            let client = config.child("clientIP");
            let seconds = client.child("timeoutSeconds");
            let missing = [&config, &client, &seconds]
                .into_iter()
                .find(|field| !field.is_set());
            if let Some(missing) = missing {
                missing.required("when session affinity type is ClientIP");
            } else if !(1..=AFFINITY_SECONDS_MAX).contains(&seconds.integer().unwrap_or_default()) {
                let why = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
                seconds.invalid(&why);
            }
        }
        _ => {}
    }
}

/// What is wrong with a service's own addresses and their families.
pub(crate) fn check_cluster_addresses(spec: &Field<'_, '_>, before: &Value) {
    if spec.value()["type"] == "ExternalName" {
        return;
    }
    let (address, addresses) = (spec.child("clusterIP"), spec.child("clusterIPs"));
    match (address.is_empty(), addresses.index(0)) {
        (false, first) if !first.is_set() => addresses.required(""),
        (false, first) if first.text() != address.text() => {
            addresses.invalid("first value must match `clusterIP`");
        }
        (true, first) if first.is_set() => {
            addresses.invalid("must be empty when `clusterIP` is not specified");
        }
        _ => {}
    }
    check_families(spec);
    let kept = list(&before["spec"], "clusterIPs");
    let are_good = addresses.passes(|addresses| {
        for (index, address) in addresses.elements().enumerate() {
            if index > 0 || address.text() != "None" {
                address.address_or_kept(kept);
            } else if addresses.count() > 1 {
                addresses.invalid("'None' must be the first and only value");
            }
        }
    });
    if addresses.count() > 2 {
        addresses.invalid("may only hold up to 2 values");
    }
    if are_good {
        check_address_families(spec, &addresses);
    }
}

fn check_families(spec: &Field<'_, '_>) {
    let families = spec.child("ipFamilies");
    for (index, family) in families.elements().enumerate() {
        family.one_of(&["IPv4", "IPv6"]);
        let earlier = &list(spec.value(), "ipFamilies")[..index];
        if earlier.contains(family.value()) {
            family.duplicate();
        }
    }
    if let Some(policy) = spec.given("ipFamilyPolicy") {
        policy.one_of(&FAMILY_POLICIES);
    }
}

fn check_address_families(spec: &Field<'_, '_>, addresses: &Field<'_, '_>) {
    let own: Vec<_> = addresses
        .elements()
        .map(|address| Family::of(address.text()))
        .collect();
    let both = own.contains(&Some(Family::V4)) && own.contains(&Some(Family::V6));
    if own.len() > 1 && !both {
        addresses.invalid("may specify no more than one IP for each IP family");
    }
    if is_headless(spec.value()) {
        return;
    }
    let stated = list(spec.value(), "ipFamilies");
    for (index, (address, family)) in addresses.elements().zip(stated).enumerate() {
        let Some(family) = family.as_str().and_then(Family::named) else {
            continue;
        };
        if Family::of(address.text()).unwrap_or(Family::V4) != family {
            let word = family.word();
            let why = format!("expected an {word} value as indicated by `ipFamilies[{index}]`");
            address.invalid(&why);
        }
    }
}

fn check_port_numbers(ports: &Field<'_, '_>, kind: &str) {
    if kind == "ClusterIP" {
        for port in ports.elements() {
            let number = port.child("nodePort");
            if !number.is_empty() {
                number.forbidden("may not be used when `type` is 'ClusterIP'");
            }
        }
    }
    let key = |port: &Field<'_, '_>, field: &str| {
        (
            text(port.value(), "protocol").to_owned(),
            port.child(field).integer().unwrap_or_default(),
        )
    };
    let mut seen = Vec::new();
    for port in ports
        .elements()
        .filter(|port| !port.child("nodePort").is_empty())
    {
        if seen.contains(&key(&port, "nodePort")) {
            port.child("nodePort").duplicate();
        }
        seen.push(key(&port, "nodePort"));
    }
    seen.clear();
    for port in ports.elements() {
        let (protocol, number) = key(&port, "port");
        if seen.contains(&key(&port, "port")) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol:?},\"AppProtocol\":null,\"Port\":{number},\
                 \"TargetPort\":0,\"NodePort\":0}}"
            );
            port.report(|path| FieldError::duplicate(path, BadValue::json(shown)));
        }
        seen.push((protocol, number));
    }
}

fn check_source_ranges(service: &Field<'_, '_>, spec: &Field<'_, '_>, before: &Value) {
    let ranges = spec.child("loadBalancerSourceRanges");
    if !ranges.is_empty() {
        let spec = spec.child("LoadBalancerSourceRanges");
        let place = spec.with_value(ranges.value());
        return check_listed_ranges(&place, service, before);
    }
    let metadata = service.child("metadata");
    let annotations = metadata.child("annotations");
    let stated = annotations.key(SOURCE_RANGES);
    if !stated.is_set() {
        return;
    }
    if service.value()["spec"]["type"] != "LoadBalancer" {
        stated.forbidden(FOR_BALANCERS);
    }
    if before["metadata"]["annotations"][SOURCE_RANGES] != *stated.value()
        && !stated.text().trim().is_empty()
    {
        stated
            .text()
            .split(',')
            .for_each(|range| stated.clear_range(range.trim()));
    }
}

fn check_listed_ranges(ranges: &Field<'_, '_>, service: &Field<'_, '_>, before: &Value) {
    if service.value()["spec"]["type"] != "LoadBalancer" {
        ranges.forbidden(FOR_BALANCERS);
    }
    let kept = list(&before["spec"], "loadBalancerSourceRanges");
    for range in ranges.elements() {
        let is_kept = kept.iter().any(|known| {
            known
                .as_str()
                .is_some_and(|known| known.trim() == range.text().trim())
        });
        if !is_kept {
            range.clear_range(range.text().trim());
        }
    }
}

/// What only balancers have.
fn check_balancer(spec: &Field<'_, '_>, kind: &str) {
    let ports = spec.child("allocateLoadBalancerNodePorts");
    let class = spec.child("loadBalancerClass");
    if kind != "LoadBalancer" {
        if ports.is_set() {
            ports.forbidden(FOR_BALANCERS);
        }
        if class.is_set() {
            class.forbidden(FOR_BALANCERS);
        }
    } else if class.is_set() {
        class.qualified_name();
    }
}

fn check_traffic(spec: &Field<'_, '_>, kind: &str) {
    let external = spec.child("externalTrafficPolicy");
    if is_reached_from_outside(spec.value()) {
        external.need_one_of(&POLICIES);
    } else if !external.is_empty() {
        external.invalid("may only be set for externally-accessible services");
    }
    let health = spec.child("healthCheckNodePort");
    if has_health_port(spec.value()) {
        if health.need() {
            health.port_number();
        }
    } else if !health.is_empty() {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is \
                   'Local'";
        health.invalid(why);
    }
    let internal = spec.child("internalTrafficPolicy");
    if internal.is_set() {
        internal.one_of(&POLICIES);
    } else if matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") {
        internal.required("");
    }
    if let Some(distribution) = spec.given("trafficDistribution") {
        distribution.one_of(&DISTRIBUTIONS);
    }
}

fn check_status(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |service| {
        let (status, kind) = (service.child("status"), text(&change.next["spec"], "type"));
        check_balancer_status(&status.child("loadBalancer"), kind, change.before);
    })
}

fn check_balancer_status(balancer: &Field<'_, '_>, kind: &str, before: &Value) {
    let entries = balancer.child("ingress");
    if kind != "LoadBalancer" {
        if !entries.is_empty() {
            entries.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
        }
        return;
    }
    let kept = list(&before["status"]["loadBalancer"], "ingress");
    for entry in entries.elements() {
        let (address, mode) = (entry.child("ip"), entry.child("ipMode"));
        if !address.is_empty() && !kept.iter().any(|known| known["ip"] == *address.value()) {
            address.clear_address();
        }
        match (mode.is_set(), address.is_empty()) {
            (false, false) => mode.required("must be specified when `ip` is set"),
            (true, true) => mode.forbidden("may not be specified when `ip` is not set"),
            (true, false) => mode.one_of(&["Proxy", "VIP"]),
            (false, true) => {}
        }
        check_host(&entry.child("hostname"));
    }
}

/// Demands the name of a host that is no address; an absent one passes.
pub(crate) fn check_host(host: &Field<'_, '_>) {
    if host.is_empty() {
        return;
    }
    host.dns_subdomain();
    if crate::address::parse(host.text()).is_some() {
        host.invalid("must be a DNS name, not an IP address");
    }
}
