//! What a service wants of the cluster's pools of addresses and ports, and in which words it is
//! refused. Whoever keeps the pools calls [`settle`], gives what [`wish`] names, and writes it down
//! with [`grant`], before the service is checked.

use listwatch_api::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::{check_cluster_addresses, has_health_port, list, text};
pub use crate::address::Family;
use crate::address::address_warning;
use crate::field::{Field, check};

/// What a service still needs; what it has already is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Addresses, in the order of `spec.ipFamilies`, with their place in `spec.clusterIPs`.
    pub addresses: Vec<AddressWish>,
    /// Ports on all nodes.
    pub node_ports: Vec<NodePortWish>,
    /// The port for checks of its health.
    pub health_port: Option<Choice<i64>>,
}

/// One address of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressWish {
    /// Its place in `spec.clusterIPs`.
    pub index: usize,
    /// From which pool.
    pub family: Family,
    /// Which one.
    pub choice: Choice<String>,
}

/// The port on all nodes of one port of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePortWish {
    /// The place of the port in `spec.ports`.
    pub index: usize,
    /// Which one.
    pub choice: Choice<i64>,
    /// Other places that get the same one.
    pub also: Vec<usize>,
}

/// Whether the writer cares which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice<T> {
    /// This one or none.
    This(T),
    /// Any that is free.
    Any,
}

/// Brings a service's addresses and families into line: with each other, with those it had
/// `before` (null for a new one), and with the families that the cluster has, its first one first.
pub fn settle(
    service: &mut Value,
    before: &Value,
    families: &[Family],
) -> Result<(), Vec<FieldError>> {
    keep_allocated(service, &before["spec"]);
    align_addresses(&mut service["spec"], &before["spec"]);
    if service["spec"]["type"] == "ExternalName" || is_settled(&service["spec"], &before["spec"]) {
        return Ok(());
    }
    settle_policy(&mut service["spec"], &before["spec"]);
    refuse(check(service, |service| {
        check_cluster_addresses(&service.child("spec"), before);
    }))?;
    drop_secondary(&mut service["spec"], &before["spec"]);
    let derived = derived_families(&service["spec"]);
    refuse(check(service, |service| {
        check_stack(&service.child("spec"), &before["spec"], families);
    }))?;
    if derived.len() > list(&service["spec"], "ipFamilies").len() {
        service["spec"]["ipFamilies"] = json!(derived);
    }
    if !is_free_of_families(&service["spec"]) {
        refuse(check(service, |service| {
            check_configured(&service.child("spec"), families)
        }))?;
    }
    fill_families(&mut service["spec"], families);
    Ok(())
}

/// Whether a service only has a name for endpoints that somebody else states.
fn is_free_of_families(spec: &Value) -> bool {
    let selector = spec["selector"].as_object();
    spec["clusterIP"] == "None" && selector.is_none_or(|labels| labels.is_empty())
}

fn refuse(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Values that were found for the service before are kept when the writer leaves them out.
fn keep_allocated(service: &mut Value, old: &Value) {
    if old.is_null() {
        return;
    }
    let spec = &mut service["spec"];
    if old["type"] != "ExternalName" && spec["type"] != "ExternalName" {
        for name in ["clusterIP", "clusterIPs"] {
            if is_unset(&spec[name]) && !is_unset(&old[name]) {
                spec[name] = old[name].clone();
            }
        }
    }
    if gets_node_ports(old) && gets_node_ports(spec) {
        keep_node_ports(spec, old);
    }
    if has_health_port(old) && has_health_port(spec) && number(&spec["healthCheckNodePort"]) == 0 {
        spec["healthCheckNodePort"] = old["healthCheckNodePort"].clone();
    }
}

fn keep_node_ports(spec: &mut Value, old: &Value) {
    let numbers = |spec: &Value| -> Vec<i64> {
        let ports = list(spec, "ports").iter();
        ports
            .map(|port| number(&port["nodePort"]))
            .filter(|port| *port != 0)
            .collect()
    };
    let (had, has) = (numbers(old), numbers(spec));
    for port in crate::tree::each(spec, "ports") {
        if number(&port["nodePort"]) != 0 {
            continue;
        }
        let same_name = |known: &&Value| text(known, "name") == text(port, "name");
        let known = list(old, "ports").iter().rev().find(same_name);
        let kept = known.map_or(0, |known| number(&known["nodePort"]));
        let is_used = had.contains(&kept) && has.contains(&kept);
        if kept != 0 && !is_used {
            port["nodePort"] = json!(kept);
        }
    }
}

/// `clusterIP` and `clusterIPs` say the same, whichever of them the writer changed.
fn align_addresses(spec: &mut Value, old: &Value) {
    if old.is_null() {
        if !is_unset(&spec["clusterIP"]) && is_unset(&spec["clusterIPs"]) {
            spec["clusterIPs"] = json!([spec["clusterIP"]]);
        }
        return;
    }
    let same_first = text(old, "clusterIP") == text(spec, "clusterIP");
    if !is_unset(&old["clusterIPs"]) && is_unset(&spec["clusterIPs"]) && same_first {
        spec["clusterIPs"] = old["clusterIPs"].clone();
    }
    if !same_first && list(old, "clusterIPs") == list(spec, "clusterIPs") {
        if !is_unset(&old["clusterIP"]) && is_unset(&spec["clusterIP"]) {
            crate::tree::clear(spec, "clusterIPs");
        } else {
            spec["clusterIPs"] = json!([spec["clusterIP"]]);
        }
    }
}

/// Whether a service that prefers both families has what it gets already.
fn is_settled(spec: &Value, old: &Value) -> bool {
    let prefers = "PreferDualStack";
    !old.is_null()
        && matches!(
            text(spec, "type"),
            "ClusterIP" | "NodePort" | "LoadBalancer"
        )
        && old["type"] == spec["type"]
        && spec["ipFamilyPolicy"] == prefers
        && (old["ipFamilyPolicy"].is_null() || old["ipFamilyPolicy"] == prefers)
        && list(old, "clusterIPs") == list(spec, "clusterIPs")
        && list(old, "ipFamilies") == list(spec, "ipFamilies")
}

fn settle_policy(spec: &mut Value, old: &Value) {
    if !spec["ipFamilyPolicy"].is_null() {
        return;
    }
    let selects = spec["selector"]
        .as_object()
        .is_some_and(|map| !map.is_empty());
    spec["ipFamilyPolicy"] = match &old["ipFamilyPolicy"] {
        Value::Null if spec["clusterIP"] == "None" && !selects => json!("RequireDualStack"),
        Value::Null => json!("SingleStack"),
        known => known.clone(),
    };
}

/// A service that goes back to one family gives up the second, without the writer saying so.
fn drop_secondary(spec: &mut Value, old: &Value) {
    if old.is_null() || spec["ipFamilyPolicy"] != "SingleStack" {
        return;
    }
    for name in ["clusterIPs", "ipFamilies"] {
        if list(old, name) == list(spec, name)
            && let Some(values) = spec[name].as_array_mut()
        {
            values.truncate(1);
        }
    }
}

/// The families that the writer states, followed by those of addresses without one.
fn derived_families(spec: &Value) -> Vec<String> {
    let stated = list(spec, "ipFamilies").iter().filter_map(Value::as_str);
    let mut families: Vec<String> = stated.map(str::to_owned).collect();
    for address in list(spec, "clusterIPs")
        .iter()
        .skip(families.len())
        .filter_map(Value::as_str)
    {
        families.extend(Family::of(address).map(|family| family.word().to_owned()));
    }
    families
}

fn check_stack(spec: &Field<'_, '_>, old: &Value, families: &[Family]) {
    let policy = spec.child("ipFamilyPolicy");
    let parts = [
        ("clusterIPs", "secondary cluster IP", "cluster IPs"),
        ("ipFamilies", "secondary IP family", "IP families"),
    ];
    let is_single = policy.text() == "SingleStack";
    for (name, second, _) in parts {
        let (had, has) = (list(old, name).len(), list(spec.value(), name).len());
        if !is_single && !old.is_null() && has > 0 && has < had {
            policy.invalid(&format!("must be 'SingleStack' to release the {second}"));
        }
    }
    for (name, _, several) in parts {
        if is_single && list(spec.value(), name).len() == 2 {
            policy.invalid(&format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {several} are \
                 specified"
            ));
        }
    }
    let stated = list(spec.value(), "ipFamilies").len();
    let addresses = spec.child("clusterIPs");
    for address in addresses
        .elements()
        .skip(stated)
        .filter(|address| address.text() != "None")
    {
        let family = Family::of(address.text());
        if !family.is_some_and(|family| families.contains(&family)) {
            let word = family.map_or("unknown", Family::word);
            let why = format!("{word} is not configured on this cluster");
            address.invalid_value(addresses.value(), &why);
        }
    }
}

fn check_configured(spec: &Field<'_, '_>, families: &[Family]) {
    let policy = spec.child("ipFamilyPolicy");
    if policy.text() == "RequireDualStack" && families.len() < 2 {
        policy.invalid("this cluster is not configured for dual-stack services");
    }
    for family in spec.child("ipFamilies").elements() {
        if !families.iter().any(|known| known.word() == family.text()) {
            family.invalid("not configured on this cluster");
        }
    }
}

fn fill_families(spec: &mut Value, families: &[Family]) {
    let stated = list(spec, "ipFamilies").first().and_then(Value::as_str);
    let first = stated.and_then(Family::named);
    let first = first.or(families.first().copied()).unwrap_or(Family::V4);
    if list(spec, "ipFamilies").len() == 2 {
        return;
    }
    let has_both = is_free_of_families(spec) || families.len() == 2;
    spec["ipFamilies"] = match has_both && spec["ipFamilyPolicy"] != "SingleStack" {
        true => json!([first.word(), first.other().word()]),
        false => json!([first.word()]),
    };
}

/// What a settled service needs that it did not have `before` (null for a new one).
pub fn wish(service: &Value, before: &Value) -> Wish {
    let (spec, old) = (&service["spec"], &before["spec"]);
    Wish {
        addresses: address_wishes(spec, old),
        node_ports: node_port_wishes(spec, old),
        health_port: (has_health_port(spec) && !has_health_port(old)).then(|| {
            match number(&spec["healthCheckNodePort"]) {
                0 => Choice::Any,
                port => Choice::This(port),
            }
        }),
    }
}

fn address_wishes(spec: &Value, old: &Value) -> Vec<AddressWish> {
    let headless = |spec: &Value| {
        list(spec, "clusterIPs")
            .first()
            .is_some_and(|first| first == "None")
    };
    if spec["type"] == "ExternalName" || headless(spec) || headless(old) {
        return Vec::new();
    }
    let had = match text(old, "type") {
        "" | "ExternalName" => 0,
        _ => list(old, "clusterIPs").len(),
    };
    let families = list(spec, "ipFamilies").iter().enumerate().skip(had);
    families
        .filter_map(|(index, family)| {
            let address = list(spec, "clusterIPs").get(index).and_then(Value::as_str);
            Some(AddressWish {
                index,
                family: Family::named(family.as_str()?)?,
                choice: match address {
                    Some(address) if !address.is_empty() => Choice::This(address.to_owned()),
                    _ => Choice::Any,
                },
            })
        })
        .collect()
}

fn node_port_wishes(spec: &Value, old: &Value) -> Vec<NodePortWish> {
    if !matches!(text(spec, "type"), "NodePort" | "LoadBalancer") {
        return Vec::new();
    }
    match old {
        Value::Null => new_node_ports(spec),
        old => further_node_ports(spec, old),
    }
}

/// A new service has one port on the nodes for the same port over several protocols.
fn new_node_ports(spec: &Value) -> Vec<NodePortWish> {
    let ports = list(spec, "ports");
    let mut wishes: Vec<NodePortWish> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let stated = number(&port["nodePort"]);
        if stated == 0 && !gets_node_ports(spec) {
            continue;
        }
        let twin = wishes
            .iter_mut()
            .find(|wish| ports[wish.index]["port"] == port["port"]);
        match twin {
            Some(twin) if stated == 0 => twin.also.push(index),
            Some(twin) if twin.choice == Choice::This(stated) => {}
            _ => {
                let choice = requested(ports, &port["port"]).map_or(Choice::Any, Choice::This);
                wishes.push(NodePortWish {
                    index,
                    choice,
                    also: Vec::new(),
                });
            }
        }
    }
    wishes
}

fn further_node_ports(spec: &Value, old: &Value) -> Vec<NodePortWish> {
    let held = list(old, "ports")
        .iter()
        .map(|port| number(&port["nodePort"]));
    let mut named: Vec<i64> = held.collect();
    let mut wishes = Vec::new();
    for (index, port) in list(spec, "ports").iter().enumerate() {
        let choice = match number(&port["nodePort"]) {
            0 if gets_node_ports(spec) => Choice::Any,
            0 => continue,
            stated if named.contains(&stated) => continue,
            stated => Choice::This(stated),
        };
        if let Choice::This(stated) = choice {
            named.push(stated);
        }
        wishes.push(NodePortWish {
            index,
            choice,
            also: Vec::new(),
        });
    }
    wishes
}

fn requested(ports: &[Value], port: &Value) -> Option<i64> {
    let mut numbers = ports.iter().filter(|known| known["port"] == *port);
    numbers.find_map(|known| Some(number(&known["nodePort"])).filter(|number| *number != 0))
}

/// Writes down an address that was found.
pub fn grant_address(service: &mut Value, wish: &AddressWish, address: &str) {
    let spec = &mut service["spec"];
    let addresses = &mut spec["clusterIPs"];
    if !addresses.is_array() {
        *addresses = json!([]);
    }
    if let Some(addresses) = addresses.as_array_mut() {
        addresses.resize(addresses.len().max(wish.index + 1), json!(""));
        addresses[wish.index] = json!(address);
    }
    if wish.index == 0 {
        spec["clusterIP"] = json!(address);
    }
}

/// Writes down a port that was found.
pub fn grant_node_port(service: &mut Value, wish: &NodePortWish, port: i64) {
    for index in wish.also.iter().chain([&wish.index]) {
        service["spec"]["ports"][*index]["nodePort"] = json!(port);
    }
}

/// The addresses that a service holds.
pub fn addresses(service: &Value) -> impl Iterator<Item = &str> {
    let is_held = service["spec"]["type"] != "ExternalName";
    let held = list(&service["spec"], "clusterIPs")
        .iter()
        .filter(move |_| is_held);
    held.filter_map(Value::as_str)
        .filter(|address| !matches!(*address, "" | "None"))
}

/// The ports on all nodes that a service holds, each once.
pub fn node_ports(service: &Value) -> Vec<i64> {
    let spec = &service["spec"];
    let ports = list(spec, "ports").iter().map(|port| &port["nodePort"]);
    let health = [&spec["healthCheckNodePort"]];
    let mut held: Vec<i64> = ports
        .chain(health)
        .map(number)
        .filter(|port| *port != 0)
        .collect();
    held.sort_unstable();
    held.dedup();
    held
}

/// The refusal of an address; `why` is one of [`ADDRESS_TAKEN`] and [`ADDRESS_OUT_OF_RANGE`].
pub fn refuse_address(service: &Value, address: &str, why: &str) -> FieldError {
    let field = FieldPath::new("spec").child("clusterIPs");
    let detail = format!("failed to allocate IP {address}: {why}");
    FieldError::invalid(&field, &service["spec"]["clusterIPs"], &detail)
}

/// Why an address that another service has is refused.
pub const ADDRESS_TAKEN: &str = "provided IP is already allocated";

/// Why an address outside the cluster's ranges is refused.
pub const ADDRESS_OUT_OF_RANGE: &str = "the provided network does not match the current range";

/// The refusal of a port; `why` is one of [`PORT_TAKEN`] and [`port_out_of_range`].
pub fn refuse_node_port(index: usize, port: i64, why: &str) -> FieldError {
    let field = FieldPath::new("spec")
        .child("ports")
        .index(index)
        .child("nodePort");
    FieldError::invalid(&field, port, why)
}

/// Why a port that another service has is refused.
pub const PORT_TAKEN: &str = "provided port is already allocated";

/// Why a port outside the cluster's range, such as `30000-32767`, is refused.
pub fn port_out_of_range(range: &str) -> String {
    format!("provided port is not in the valid range. The range of valid ports is {range}")
}

/// What is odd about the addresses of a service.
pub(super) fn warnings(spec: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let headless = spec["type"] == "ClusterIP" && spec["clusterIP"] == "None";
    if !matches!(text(spec, "clusterIP"), "" | "None") {
        warnings.extend(super::address_list_warnings(spec, "clusterIPs"));
    }
    let externals = !list(spec, "externalIPs").is_empty();
    let ignored = [
        (!text(spec, "loadBalancerIP").is_empty(), "loadBalancerIP"),
        (externals, "externalIPs"),
        (spec["sessionAffinity"] != "None", "SessionAffinity"),
    ];
    for (is_stated, name) in ignored {
        if headless && is_stated {
            warnings.push(format!("spec.{name} is ignored for headless services"));
        }
    }
    warnings.extend(super::address_list_warnings(spec, "externalIPs"));
    if externals && !headless && spec["type"] != "ExternalName" {
        let text =
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        warnings.push(text.to_owned());
    }
    warnings.extend(address_warning(
        "spec.loadBalancerIP",
        text(spec, "loadBalancerIP"),
    ));
    warnings
}

fn gets_node_ports(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}
