//! Where services lead: Endpoints and EndpointSlices.

use listwatch_api::name;
use serde_json::{Value, json};

use crate::address::{Family, address_warning};
use crate::bounds::joined;
use crate::field::{Field, check, check_labels};
use crate::rules::Rules;
use crate::service::PROTOCOLS;
use crate::tree::{clear, each, fill, list, text};

const ADDRESSES_MAX: usize = 100;
const ENDPOINTS_MAX: usize = 1_000;
const PORTS_MAX: usize = 20_000;
const TOPOLOGY_LABELS_MAX: usize = 16;
const HINTS_MAX: usize = 8;

/// Endpoints.
pub(crate) const ENDPOINTS: Rules = Rules {
    default: |endpoints| {
        for subset in each(endpoints, "subsets") {
            each(subset, "ports").for_each(|port| fill(port, "protocol", "TCP"));
        }
    },
    check_new: |endpoints| check(endpoints, check_subsets),
    check_change: |change| match change.before["subsets"] == change.next["subsets"] {
        true => Vec::new(),
        false => check(change.next, check_subsets),
    },
    warn: warn_endpoints,
    ..Rules::NONE
};

/// EndpointSlices.
pub(crate) const ENDPOINT_SLICES: Rules = Rules {
    default: default_slice,
    begin: drop_topology,
    adjust: |before, next| {
        if before["endpoints"] != next["endpoints"] {
            drop_topology(next);
        }
    },
    check_new: |slice| check(slice, |slice| check_slice(slice, &Value::Null)),
    check_change: |change| {
        check(change.next, |slice| {
            check_slice(slice, change.before);
            slice
                .child("addressType")
                .kept(&change.before["addressType"]);
        })
    },
    warn: warn_slice,
    ..Rules::NONE
};

fn check_subsets(endpoints: &Field<'_, '_>) {
    for subset in endpoints.child("subsets").elements() {
        let (ready, waiting) = (subset.child("addresses"), subset.child("notReadyAddresses"));
        if ready.is_empty() && waiting.is_empty() {
            subset.required("must specify `addresses` or `notReadyAddresses`");
        }
        ready.elements().for_each(|address| check_address(&address));
        waiting
            .elements()
            .for_each(|address| check_address(&address));
        let ports = subset.child("ports");
        for port in ports.elements() {
            check_port(&port, ports.count());
        }
    }
}

fn check_address(address: &Field<'_, '_>) {
    address.child("ip").clear_address();
    if !address.child("hostname").is_empty() {
        address.child("hostname").dns_label();
    }
    if let Some(node) = address.given("nodeName") {
        node.dns_subdomain();
    }
    address.child("ip").reachable_address();
}

fn check_port(port: &Field<'_, '_>, ports: usize) {
    let name = port.child("name");
    if !name.is_empty() {
        name.dns_label();
    } else if ports > 1 {
        name.required("");
    }
    port.child("port").port_number();
    port.child("protocol").need_one_of(&PROTOCOLS);
    if let Some(protocol) = port.given("appProtocol") {
        protocol.qualified_name();
    }
}

fn warn_endpoints(endpoints: &Value) -> Vec<String> {
    let deprecated = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    let mut warnings = vec![deprecated.to_owned()];
    if endpoints["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"]
        == "endpoint-controller"
    {
        return warnings;
    }
    for (index, subset) in list(endpoints, "subsets").iter().enumerate() {
        for member in ["addresses", "notReadyAddresses"] {
            for (place, address) in list(subset, member).iter().enumerate() {
                let field = format!("subsets[{index}].{member}[{place}].ip");
                warnings.extend(address_warning(&field, text(address, "ip")));
            }
        }
    }
    warnings
}

fn default_slice(slice: &mut Value) {
    for port in each(slice, "ports") {
        if port["name"].is_null() {
            port["name"] = json!("");
        }
        fill(port, "protocol", "TCP");
    }
}

/// Nobody states this any more; what others stored stays until the endpoints change.
fn drop_topology(slice: &mut Value) {
    each(slice, "endpoints").for_each(|endpoint| clear(endpoint, "deprecatedTopology"));
}

fn check_slice(slice: &Field<'_, '_>, before: &Value) {
    check_slice_ports(&slice.child("ports"));
    let endpoints = slice.child("endpoints");
    if before["endpoints"] != *endpoints.value() {
        endpoints.at_most_elements(ENDPOINTS_MAX);
        for endpoint in endpoints
            .elements()
            .filter(|_| endpoints.count() <= ENDPOINTS_MAX)
        {
            check_endpoint(&endpoint, text(slice.value(), "addressType"));
        }
    }
    slice
        .child("addressType")
        .need_one_of(&["FQDN", "IPv4", "IPv6"]);
    for endpoint in endpoints.elements() {
        let addresses = endpoint.child("addresses");
        addresses.need();
        addresses.at_most_elements(ADDRESSES_MAX);
    }
}

fn check_slice_ports(ports: &Field<'_, '_>) {
    if ports.count() > PORTS_MAX {
        return ports.at_most_elements(PORTS_MAX);
    }
    let mut names = Vec::new();
    for port in ports.elements() {
        let name = port.child("name");
        if !name.is_empty() {
            name.dns_label();
        }
        if names.contains(&name.text()) {
            name.duplicate();
        }
        names.push(name.text());
        port.child("protocol").need_one_of(&PROTOCOLS);
        if let Some(protocol) = port.given("appProtocol") {
            protocol.qualified_name();
        }
    }
}

fn check_endpoint(endpoint: &Field<'_, '_>, address_type: &str) {
    let addresses = endpoint.child("addresses");
    for address in addresses.elements() {
        match address_type {
            "IPv4" => check_family(&address, &addresses, Family::V4),
            "IPv6" => check_family(&address, &addresses, Family::V6),
            "FQDN" => check_domain(&address),
            _ => {}
        }
    }
    if let Some(node) = endpoint.given("nodeName") {
        node.dns_subdomain();
    }
    let topology = endpoint.child("deprecatedTopology");
    topology.at_most_elements(TOPOLOGY_LABELS_MAX);
    check_labels(&topology);
    if let Some(host) = endpoint.given("hostname") {
        host.dns_label();
    }
    let hints = endpoint.child("hints");
    if check_hints(&hints.child("forZones"), name::check_label_value) {
        check_hints(&hints.child("forNodes"), name::check_dns_subdomain);
    }
}

fn check_family(address: &Field<'_, '_>, addresses: &Field<'_, '_>, family: Family) {
    let is_good = address.passes(|address| match family {
        Family::V4 => address.clear_address(),
        Family::V6 => address.canonical_address(),
    });
    if !is_good {
        return;
    }
    if Family::of(address.text()) != Some(family) {
        let why = format!("must be an {} address", family.word());
        addresses.invalid_value(address.text(), &why);
    }
    address.reachable_address();
}

/// Demands a domain of two labels or more, which may end with a dot.
fn check_domain(domain: &Field<'_, '_>) {
    if !domain.need() {
        return;
    }
    let whole = domain.text();
    let host = whole.strip_suffix('.').unwrap_or(whole);
    if let Some(problems) = joined(&name::check_dns_subdomain(host), ",") {
        domain.invalid_value(host, &problems);
    } else if !host.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        domain.invalid_value(host, why);
    } else {
        let bad = host
            .split('.')
            .find_map(|label| Some((label, joined(&name::check_dns_label(label), ",")?)));
        if let Some((label, problems)) = bad {
            domain.invalid_value(label, &problems);
        }
    }
}

/// Whether there are no more hints than allowed, in which case each is checked.
fn check_hints(hints: &Field<'_, '_>, rule: fn(&str) -> Vec<String>) -> bool {
    if hints.count() > HINTS_MAX {
        hints.at_most_elements(HINTS_MAX);
        return false;
    }
    let mut seen = Vec::new();
    for hint in hints.elements() {
        let name = hint.child("name");
        if seen.contains(&name.text()) {
            name.duplicate();
        }
        seen.push(name.text());
        name.named(rule);
    }
    true
}

fn warn_slice(slice: &Value) -> Vec<String> {
    let manager = &slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"];
    let mut warnings = Vec::new();
    if slice["addressType"] == "FQDN" {
        warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    let controllers = [
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ];
    if manager
        .as_str()
        .is_some_and(|name| controllers.contains(&name))
    {
        return warnings;
    }
    for (index, endpoint) in list(slice, "endpoints").iter().enumerate() {
        for (place, address) in list(endpoint, "addresses").iter().enumerate() {
            let field = format!("endpoints[{index}].addresses[{place}]");
            warnings.extend(address_warning(
                &field,
                address.as_str().unwrap_or_default(),
            ));
        }
    }
    warnings
}
