//! Which addresses and families a service asks for, where it leaves that open or says it twice.

use listwatch_api::FieldError;
use serde_json::{Value, json};

use super::allocation::{gets_node_ports, number};
use super::{check_cluster_addresses, has_health_port};
use crate::address::Family;
use crate::field::{Field, check};
use crate::tree::{clear, each, list, text};

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
    for port in each(spec, "ports") {
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
            clear(spec, "clusterIPs");
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

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Family; 2] = [Family::V4, Family::V6];

    fn settled(spec: Value, before: Value) -> Result<Value, Vec<String>> {
        let mut service = json!({"spec": spec});
        let before = match before {
            Value::Null => Value::Null,
            spec => json!({"spec": spec}),
        };
        match settle(&mut service, &before, &BOTH) {
            Ok(()) => Ok(service["spec"].take()),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn a_service_that_wants_both_families_gets_the_first_one_first() {
        let spec = json!({"type": "ClusterIP", "ipFamilyPolicy": "PreferDualStack"});
        let spec = settled(spec, Value::Null).unwrap();
        assert_eq!(spec["ipFamilies"], json!(["IPv4", "IPv6"]));
        let families = json!(["IPv6"]);
        let policy = "RequireDualStack";
        let spec = json!({"type": "ClusterIP", "ipFamilyPolicy": policy, "ipFamilies": families});
        let spec = settled(spec, Value::Null).unwrap();
        assert_eq!(spec["ipFamilies"], json!(["IPv6", "IPv4"]));
    }

    #[test]
    fn a_service_that_says_nothing_has_one_family() {
        let spec = settled(json!({"type": "ClusterIP"}), Value::Null).unwrap();
        assert_eq!(spec["ipFamilies"], json!(["IPv4"]));
        assert_eq!(spec["ipFamilyPolicy"], "SingleStack");
        let address = json!({"type": "ClusterIP", "clusterIP": "fd00::7"});
        let spec = settled(address, Value::Null).unwrap();
        assert_eq!(spec["ipFamilies"], json!(["IPv6"]));
    }

    #[test]
    fn going_back_to_one_family_releases_the_second_address() {
        let before = json!({
            "type": "ClusterIP", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7", "fd00::7"],
            "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack",
        });
        let mut next = before.clone();
        next["ipFamilyPolicy"] = json!("SingleStack");
        let spec = settled(next, before.clone()).unwrap();
        assert_eq!(spec["clusterIPs"], json!(["10.0.0.7"]));
        assert_eq!(spec["ipFamilies"], json!(["IPv4"]));
        let mut next = before.clone();
        next["ipFamilies"] = json!(["IPv4"]);
        assert_eq!(
            settled(next, before),
            Err(vec![
                "spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be 'SingleStack' to \
                 release the secondary IP family"
                    .to_owned()
            ])
        );
    }

    #[test]
    fn what_was_found_before_stays_when_the_writer_leaves_it_out() {
        let before = json!({
            "type": "NodePort", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "a", "port": 80, "nodePort": 30001}],
        });
        let ports = json!([{"name": "a", "port": 81}, {"name": "b", "port": 82}]);
        let next = json!({"type": "NodePort", "ports": ports});
        let spec = settled(next, before).unwrap();
        assert_eq!(spec["clusterIPs"], json!(["10.0.0.7"]));
        assert_eq!(spec["ports"][0]["nodePort"], 30001);
        assert_eq!(spec["ports"][1]["nodePort"], Value::Null);
    }
}
