//! What a service wants of the cluster's pools of addresses and ports, and in which words it is
//! refused. Whoever keeps the pools calls [`settle`], gives what [`wish`] names, and writes it down
//! with [`grant_address`] and [`grant_node_port`], before the service is checked.

use listwatch_api::{FieldError, FieldPath};
use serde_json::{Value, json};

pub use super::settle::settle;
use super::{has_health_port, list, text};
pub use crate::address::Family;

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
    let spec = &service["spec"];
    let mut addresses = list(spec, "clusterIPs").to_vec();
    // Those that are still to be given show as empty.
    let wanted = list(spec, "ipFamilies").len().max(addresses.len());
    addresses.resize(wanted, json!(""));
    FieldError::invalid(&field, &json!(addresses), &detail)
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

pub(super) fn gets_node_ports(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}
