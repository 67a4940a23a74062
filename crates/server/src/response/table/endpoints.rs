//! The addresses behind services.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, UNSET, age, or, shortened},
};

pub(super) const PRINTERS: Printers = &[
    ("endpoints", endpoints),
    ("endpointslices.discovery.k8s.io", endpoint_slice),
];

/// Addresses or ports shown in one cell; more are only counted.
const SHOWN_MAX: usize = 3;

fn endpoints(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let subsets = object.member("subsets");
    let addresses: Vec<String> = subsets.items().flat_map(subset_addresses).collect();
    let shown = match subsets.count() {
        0 => NONE.to_owned(),
        _ => shortened(&addresses, SHOWN_MAX, ","),
    };
    cells![object.name(), shown, age(object, now)]
}

/// Every address with every port; headless services may have no ports.
fn subset_addresses(subset: Field<'_>) -> Vec<String> {
    let addresses = || {
        subset
            .member("addresses")
            .items()
            .map(|one| one.member("ip").text())
    };
    let ports = subset.member("ports");
    if ports.count() == 0 {
        return addresses().map(str::to_owned).collect();
    }
    ports
        .items()
        .map(|port| port.member("port").integer())
        .flat_map(|port| addresses().map(move |address| with_port(address, port)))
        .collect()
}

fn with_port(address: &str, port: i64) -> String {
    if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    }
}

fn endpoint_slice(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let ports: Vec<String> = object.member("ports").items().map(port).collect();
    let endpoints = object.member("endpoints").items();
    let addresses: Vec<String> = endpoints
        .flat_map(|endpoint| endpoint.member("addresses").items())
        .map(|address| address.text().to_owned())
        .collect();
    cells![
        object.name(),
        object.member("addressType").text(),
        or(shortened(&ports, SHOWN_MAX, ","), UNSET),
        or(shortened(&addresses, SHOWN_MAX, ","), UNSET),
        age(object, now),
    ]
}

fn port(port: Field<'_>) -> String {
    let name = port.member("name");
    match port.member("port") {
        number if number.is_set() => number.integer().to_string(),
        _ if name.is_set() => name.text().to_owned(),
        _ => "*".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    fn endpoints(subsets: Value) -> String {
        row(
            "endpoints",
            &json!({"metadata": {"name": "e"}, "subsets": subsets}),
        )
    }

    #[test]
    fn endpoints_are_addresses_with_ports() {
        let subset = json!([{
            "addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            "ports": [{"port": 80}],
        }]);
        assert_eq!(
            endpoints(subset),
            "e | 10.0.0.1:80,[fd00::1]:80 | <unknown>"
        );
        let headless = json!([{"addresses": [{"ip": "10.0.0.1"}]}]);
        assert_eq!(endpoints(headless), "e | 10.0.0.1 | <unknown>");
    }

    #[test]
    fn more_than_three_endpoints_are_counted() {
        let subset = json!([{
            "addresses": [{"ip": "a"}, {"ip": "b"}, {"ip": "c"}],
            "ports": [{"port": 1}, {"port": 2}],
        }]);
        assert_eq!(endpoints(subset), "e | a:1,b:1,c:1 + 3 more... | <unknown>");
    }

    #[test]
    fn endpoints_without_subsets_are_none_and_without_addresses_empty() {
        assert_eq!(endpoints(json!([])), "e | <none> | <unknown>");
        assert_eq!(
            endpoints(json!([{"notReadyAddresses": [{"ip": "a"}]}])),
            "e |  | <unknown>"
        );
    }

    #[test]
    fn a_slice_shows_ports_and_addresses() {
        let object = json!({
            "metadata": {"name": "s"},
            "addressType": "IPv4",
            "ports": [{"port": 80}, {"name": "web"}, {}],
            "endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c", "d"]}],
        });
        assert_eq!(
            row("endpointslices.discovery.k8s.io", &object),
            "s | IPv4 | 80,web,* | a,b,c + 1 more... | <unknown>"
        );
        assert_eq!(
            row("endpointslices.discovery.k8s.io", &json!({})),
            " |  | <unset> | <unset> | <unknown>"
        );
    }
}
