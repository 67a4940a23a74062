//! Services, ingresses and what surrounds them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, UNKNOWN, age, join, labels, or_none, selector, texts},
};

pub(super) const PRINTERS: Printers = &[
    ("services", service),
    ("ingresses.networking.k8s.io", ingress),
    ("ingressclasses.networking.k8s.io", ingress_class),
    ("networkpolicies.networking.k8s.io", network_policy),
    ("ipaddresses.networking.k8s.io", ip_address),
    ("servicecidrs.networking.k8s.io", service_range),
];

/// Hosts shown of an ingress; more are only counted.
const HOSTS_SHOWN_MAX: usize = 3;

fn service(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let single = object.get("spec.clusterIP").text_or(NONE);
    cells![
        object.name(),
        object.get("spec.type").text(),
        match object.get("spec.clusterIPs").first().text() {
            "" => single,
            address => address,
        },
        external_address(object),
        or_none(join(object.get("spec.ports").items().map(port), ",")),
        age(object, now),
        labels(object.get("spec.selector")),
    ]
}

fn external_address(object: Field<'_>) -> String {
    let fixed = texts(object.get("spec.externalIPs"), ",");
    match object.get("spec.type").text() {
        "ClusterIP" | "NodePort" => or_none(fixed),
        "LoadBalancer" => {
            let balanced = load_balancer(object);
            match (balanced.is_empty(), fixed.is_empty()) {
                (true, true) => "<pending>".to_owned(),
                (false, false) => format!("{balanced},{fixed}"),
                _ => balanced + &fixed,
            }
        }
        "ExternalName" => object.get("spec.externalName").text().to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// The distinct addresses of a load balancer, in order.
fn load_balancer(object: Field<'_>) -> String {
    let ingresses = object.get("status.loadBalancer.ingress").items();
    let addresses: BTreeSet<&str> = ingresses
        .map(|ingress| {
            ingress
                .member("ip")
                .text_or(ingress.member("hostname").text())
        })
        .filter(|address| !address.is_empty())
        .collect();
    join(addresses.into_iter(), ",")
}

fn port(port: Field<'_>) -> String {
    let number = port.member("port").integer();
    let protocol = port.member("protocol").text();
    match port.member("nodePort").integer() {
        node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn ingress(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let encrypted = object.get("spec.tls").count() > 0;
    cells![
        object.name(),
        object.get("spec.ingressClassName").text_or(NONE),
        hosts(object),
        load_balancer(object),
        if encrypted { "80, 443" } else { "80" },
        age(object, now),
    ]
}

/// The first hosts. Rules after them count as left out, whether or not they name a host.
fn hosts(object: Field<'_>) -> String {
    let rules = object.get("spec.rules");
    let named = |(_, rule): &(usize, Field<'_>)| !rule.member("host").text().is_empty();
    let shown: Vec<_> = rules
        .items()
        .enumerate()
        .filter(named)
        .take(HOSTS_SHOWN_MAX)
        .collect();
    let Some((last, _)) = shown.last() else {
        return "*".to_owned();
    };
    let text = join(
        shown.iter().map(|(_, rule)| rule.member("host").text()),
        ",",
    );
    if shown.len() == HOSTS_SHOWN_MAX && last + 1 < rules.count() {
        return format!("{text} + {} more...", rules.count() - HOSTS_SHOWN_MAX);
    }
    text
}

fn ingress_class(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let controller = object.get("spec.controller").text();
    cells![
        object.name(),
        controller,
        parameters(object),
        age(object, now)
    ]
}

fn parameters(object: Field<'_>) -> String {
    let parameters = object.get("spec.parameters");
    if !parameters.is_set() {
        return NONE.to_owned();
    }
    let kind = parameters.member("kind").text();
    let name = parameters.member("name").text();
    match parameters.member("apiGroup").text() {
        "" => format!("{kind}/{name}"),
        group => format!("{kind}.{group}/{name}"),
    }
}

fn network_policy(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let pods = selector(object.get("spec.podSelector"));
    cells![object.name(), pods, age(object, now)]
}

fn ip_address(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    cells![object.name(), parent(object.get("spec.parentRef"))]
}

/// What an address was given to, as `resource.group/namespace/name`.
fn parent(reference: Field<'_>) -> String {
    if !reference.is_set() {
        return NONE.to_owned();
    }
    let mut text = reference.member("resource").text().to_lowercase();
    for (separator, member) in [('.', "group"), ('/', "namespace")] {
        let part = reference.member(member).text();
        if !part.is_empty() {
            text.push(separator);
            text.push_str(part);
        }
    }
    text.push('/');
    text + reference.member("name").text()
}

fn service_range(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let ranges = texts(object.get("spec.cidrs"), ",");
    cells![object.name(), ranges, age(object, now)]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    fn external(spec: Value, ingress: Value) -> String {
        let object = json!({"spec": spec, "status": {"loadBalancer": {"ingress": ingress}}});
        row("services", &object)
            .split(" | ")
            .nth(3)
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_service_shows_addresses_and_ports() {
        let object = json!({
            "metadata": {"name": "s", "creationTimestamp": "2026-11-14T12:00:00Z"},
            "spec": {
                "type": "NodePort", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "fd00::9"],
                "ports": [
                    {"port": 80, "nodePort": 30080, "protocol": "TCP"},
                    {"port": 53, "protocol": "UDP"},
                ],
                "selector": {"app": "web"},
            },
        });
        assert_eq!(
            row("services", &object),
            "s | NodePort | 10.0.0.9 | <none> | 80:30080/TCP,53/UDP | 24h | app=web"
        );
        let headless = json!({"spec": {"type": "ClusterIP", "clusterIP": "None"}});
        assert_eq!(
            row("services", &headless),
            " | ClusterIP | None | <none> | <none> | <unknown> | <none>"
        );
    }

    #[test]
    fn the_external_address_depends_on_the_type() {
        let typed = |kind: &str| json!({"type": kind});
        assert_eq!(external(typed("LoadBalancer"), json!([])), "<pending>");
        let balanced = || json!([{"ip": "9.9.9.9"}, {"hostname": "a.example"}, {"ip": "1.1.1.1"}]);
        assert_eq!(
            external(typed("LoadBalancer"), balanced()),
            "1.1.1.1,9.9.9.9,a.example"
        );
        let fixed = |kind: &str| json!({"type": kind, "externalIPs": ["8.8.8.8"]});
        assert_eq!(
            external(fixed("LoadBalancer"), json!([{"ip": "9.9.9.9"}])),
            "9.9.9.9,8.8.8.8"
        );
        assert_eq!(external(fixed("LoadBalancer"), json!([])), "8.8.8.8");
        assert_eq!(external(fixed("ClusterIP"), json!([])), "8.8.8.8");
        let named = json!({"type": "ExternalName", "externalName": "x.example"});
        assert_eq!(external(named, json!([])), "x.example");
        assert_eq!(external(json!({}), json!([])), "<unknown>");
    }

    #[test]
    fn an_ingress_shows_hosts_and_whether_it_encrypts() {
        let rules: Vec<Value> = ["a", "b", "c", "d", "e"]
            .map(|host| json!({"host": host}))
            .to_vec();
        let object = json!({
            "metadata": {"name": "i"},
            "spec": {"ingressClassName": "nginx", "rules": rules, "tls": [{}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}]}},
        });
        assert_eq!(
            row("ingresses.networking.k8s.io", &object),
            "i | nginx | a,b,c + 2 more... | 9.9.9.9 | 80, 443 | <unknown>"
        );
        assert_eq!(
            row(
                "ingresses.networking.k8s.io",
                &json!({"spec": {"rules": [{}]}})
            ),
            " | <none> | * |  | 80 | <unknown>"
        );
    }

    #[test]
    fn an_ingress_class_says_where_its_parameters_are() {
        let class = |parameters: Value| {
            let object = json!({"spec": {"controller": "x/y", "parameters": parameters}});
            row("ingressclasses.networking.k8s.io", &object)
        };
        let grouped = json!({"apiGroup": "ex.com", "kind": "P", "name": "p"});
        assert_eq!(class(grouped), " | x/y | P.ex.com/p | <unknown>");
        assert_eq!(
            class(json!({"kind": "P", "name": "p"})),
            " | x/y | P/p | <unknown>"
        );
        assert_eq!(class(Value::Null), " | x/y | <none> | <unknown>");
    }

    #[test]
    fn a_policy_shows_which_pods_it_selects() {
        let policy = |selector: Value| {
            let object = json!({"metadata": {"name": "n"}, "spec": {"podSelector": selector}});
            row("networkpolicies.networking.k8s.io", &object)
        };
        assert_eq!(policy(json!({})), "n | <none> | <unknown>");
        let expressions = json!({"matchExpressions": [
            {"key": "b", "operator": "DoesNotExist"},
            {"key": "a", "operator": "Exists"},
            {"key": "c", "operator": "NotIn", "values": ["x"]},
        ]});
        assert_eq!(policy(expressions), "n | a,!b,c notin (x) | <unknown>");
        let invalid = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
        assert_eq!(policy(invalid), "n | <error> | <unknown>");
    }

    #[test]
    fn an_address_names_what_it_was_given_to() {
        let address = |parent: Value| {
            let object = json!({"metadata": {"name": "10.0.0.1"}, "spec": {"parentRef": parent}});
            row("ipaddresses.networking.k8s.io", &object)
        };
        let service = json!({"resource": "services", "namespace": "default", "name": "web"});
        assert_eq!(address(service), "10.0.0.1 | services/default/web");
        let grouped = json!({"resource": "things", "group": "ex.com", "name": "t"});
        assert_eq!(address(grouped), "10.0.0.1 | things.ex.com/t");
        assert_eq!(address(Value::Null), "10.0.0.1 | <none>");
    }

    #[test]
    fn a_range_of_service_addresses_shows_both_families() {
        let object = json!({"spec": {"cidrs": ["10.0.0.0/16", "fd00::/108"]}});
        assert_eq!(
            row("servicecidrs.networking.k8s.io", &object),
            " | 10.0.0.0/16,fd00::/108 | <unknown>"
        );
    }
}
