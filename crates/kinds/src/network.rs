//! NetworkPolicies, and the addresses of services as objects.

use listwatch_api::{FieldError, field_error::BadValue, go_text, name};
use serde_json::{Value, json};

use crate::address::{Range, range_warnings};
use crate::field::{Field, LabelValues, check, check_label_selector};
use crate::rules::Rules;
use crate::tree::{each, fill, list};

/// NetworkPolicies.
pub(crate) const NETWORK_POLICIES: Rules = Rules {
    default: default_policy,
    check_new: |policy| check(policy, |policy| check_policy(policy, &Value::Null)),
    check_change: |change| check(change.next, |policy| check_policy(policy, change.before)),
    warn: warn_policy,
    ..Rules::NONE
};

/// IPAddresses.
pub(crate) const IP_ADDRESSES: Rules = Rules {
    check_new: |address| check(address, check_parent),
    check_change: |change| {
        check(change.next, |address| {
            address
                .child("spec")
                .child("parentRef")
                .kept(&change.before["spec"]["parentRef"]);
        })
    },
    ..Rules::NONE
};

/// ServiceCIDRs.
pub(crate) const SERVICE_CIDRS: Rules = Rules {
    begin: |ranges| ranges["status"] = json!({}),
    check_new: |ranges| check(ranges, |ranges| check_ranges(&ranges.child("spec"))),
    check_change: |change| {
        check(change.next, |ranges| {
            check_ranges_kept(&ranges.child("spec"), &change.before["spec"])
        })
    },
    ..Rules::NONE
};

fn default_policy(policy: &mut Value) {
    let spec = &mut policy["spec"];
    if list(spec, "policyTypes").is_empty() {
        spec["policyTypes"] = match list(spec, "egress").is_empty() {
            true => json!(["Ingress"]),
            false => json!(["Ingress", "Egress"]),
        };
    }
    for direction in ["ingress", "egress"] {
        for rule in each(spec, direction) {
            each(rule, "ports").for_each(|port| fill(port, "protocol", "TCP"));
        }
    }
}

fn check_policy(policy: &Field<'_, '_>, before: &Value) {
    let spec = policy.child("spec");
    let values = match selector_was_bad(&before["spec"]["podSelector"]) {
        true => LabelValues::Any,
        false => LabelValues::Checked,
    };
    check_label_selector(&spec.child("podSelector"), values);
    let known = known_ranges(before);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.child(direction).elements() {
            rule.child("ports")
                .elements()
                .for_each(|port| check_port(&port));
            for peer in rule.child(peers).elements() {
                check_peer(&peer, values, &known);
            }
        }
    }
    let types = spec.child("policyTypes");
    if types.count() > 2 {
        return types.invalid("may not specify more than two policyTypes");
    }
    types
        .elements()
        .for_each(|kind| kind.one_of(&["Ingress", "Egress"]));
    for direction in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.child(direction.0).elements() {
            for peer in rule.child(direction.1).elements() {
                if let Some(block) = peer.given("ipBlock") {
                    block.child("cidr").need();
                }
            }
        }
    }
}

pub(crate) fn selector_was_bad(selector: &Value) -> bool {
    !check(selector, |selector| {
        check_label_selector(selector, LabelValues::Checked)
    })
    .is_empty()
}

/// The ranges that a policy had, which stay good.
fn known_ranges(before: &Value) -> Vec<&str> {
    let rules = [("ingress", "from"), ("egress", "to")]
        .into_iter()
        .flat_map(|(direction, peers)| {
            list(&before["spec"], direction)
                .iter()
                .flat_map(move |rule| list(rule, peers))
        });
    let blocks = rules.map(|peer| &peer["ipBlock"]);
    let ranges =
        blocks.flat_map(|block| std::iter::once(&block["cidr"]).chain(list(block, "except")));
    ranges.filter_map(Value::as_str).collect()
}

fn check_port(port: &Field<'_, '_>) {
    let (number, end) = (port.child("port"), port.child("endPort"));
    if let Some(protocol) = port.given("protocol") {
        protocol.one_of(&["TCP", "UDP", "SCTP"]);
    }
    match number.value() {
        Value::Null if end.is_set() => {
            end.invalid("may not be specified when `port` is not specified");
        }
        Value::Null => {}
        Value::String(_) => {
            if end.is_set() {
                end.invalid("may not be specified when `port` is non-numeric");
            }
            number.port_number_or_name();
        }
        _ => {
            number.port_number();
            if end.is_set() {
                if end.integer() < number.integer() {
                    end.invalid("must be greater than or equal to `port`");
                }
                end.port_number();
            }
        }
    }
}

fn check_peer(peer: &Field<'_, '_>, values: LabelValues, known: &[&str]) {
    let selectors = ["podSelector", "namespaceSelector"].map(|name| peer.given(name));
    let selectors: Vec<_> = selectors.into_iter().flatten().collect();
    selectors
        .iter()
        .for_each(|selector| check_label_selector(selector, values));
    match peer.given("ipBlock") {
        Some(block) => {
            check_block(&block, known);
            if !selectors.is_empty() {
                peer.forbidden("may not specify both ipBlock and another peer");
            }
        }
        None if selectors.is_empty() => peer.required("must specify a peer"),
        None => {}
    }
}

fn check_block(block: &Field<'_, '_>, known: &[&str]) {
    let whole = block.child("cidr");
    if whole.is_empty() {
        return;
    }
    let check_range = |range: &Field<'_, '_>| {
        if !known.contains(&range.text()) {
            range.clear_range(range.text());
        }
    };
    check_range(&whole);
    let Some(outer) = Range::parse(whole.text()) else {
        return;
    };
    for hole in block.child("except").elements() {
        check_range(&hole);
        let inner = Range::parse(hole.text());
        if inner.is_some_and(|inner| !outer.strictly_contains(inner)) {
            hole.invalid("must be a strict subset of `cidr`");
        }
    }
}

fn warn_policy(policy: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(&policy["spec"], direction).iter().enumerate() {
            for (place, peer) in list(rule, peers).iter().enumerate() {
                let block = &peer["ipBlock"];
                let field = format!("spec.{direction}[{index}].{peers}[{place}].ipBlock");
                let range = block["cidr"].as_str().unwrap_or_default();
                warnings.extend(range_warnings(&format!("{field}.cidr"), range));
                for (hole_place, hole) in list(block, "except").iter().enumerate() {
                    let field = format!("{field}.except[{hole_place}]");
                    warnings.extend(range_warnings(&field, hole.as_str().unwrap_or_default()));
                }
            }
        }
    }
    warnings
}

fn check_parent(address: &Field<'_, '_>) {
    let spec = address.child("spec");
    let Some(parent) = spec.given("parentRef") else {
        return spec.child("parentRef").required("");
    };
    if !parent.child("group").is_empty() {
        parent.child("group").dns_subdomain();
    }
    for member in ["resource", "name", "namespace"] {
        if !parent.child(member).is_empty() {
            parent.child(member).named(name::check_path_segment);
        }
    }
    parent.child("resource").need();
    parent.child("name").need();
}

fn check_ranges(spec: &Field<'_, '_>) {
    let ranges = spec.child("cidrs");
    match ranges.count() {
        0 => return ranges.required("at least one CIDR required"),
        1 | 2 => {}
        _ => {
            let shown = format!("{{\"CIDRs\":{}}}", go_text::json(ranges.value()));
            let why = "may only hold up to 2 values";
            return ranges.report(|path| FieldError::invalid(path, BadValue::json(shown), why));
        }
    }
    ranges.elements().for_each(|range| range.canonical_range());
    let families: Vec<_> = ranges
        .elements()
        .map(|range| Range::parse(range.text()).map(Range::family))
        .collect();
    if let [Some(first), Some(second)] = families[..]
        && first == second
    {
        ranges.invalid(
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and \
             2001:db8::/64",
        );
    }
}

fn check_ranges_kept(spec: &Field<'_, '_>, old: &Value) {
    let ranges = spec.child("cidrs");
    let (had, has) = (list(old, "cidrs"), list(spec.value(), "cidrs"));
    match (had, has) {
        ([first], [kept, _]) => {
            if first != kept {
                ranges.index(0).invalid("field is immutable");
            }
            check_ranges(spec);
        }
        _ if had.len() == has.len() => {
            for (index, old) in had.iter().enumerate() {
                if *old != has[index] {
                    ranges.index(index).invalid("field is immutable");
                }
            }
        }
        _ => ranges.invalid("field is immutable"),
    }
}
