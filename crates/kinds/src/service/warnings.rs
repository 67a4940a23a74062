//! What the writer of a service should hear though it is taken.

use serde_json::Value;

use super::{TOPOLOGY_HINTS, TOPOLOGY_MODE};
use crate::address::{address_warning, range_warnings};
use crate::tree::{list, text};

pub(super) fn warn(service: &Value) -> Vec<String> {
    let spec = &service["spec"];
    let mut warnings = Vec::new();
    if !service["metadata"]["annotations"][TOPOLOGY_HINTS].is_null() {
        warnings.push(format!(
            "annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
        ));
    }
    warnings.extend(address_warnings(spec));
    warnings.extend(range_list_warnings(spec));
    let (kind, externals) = (text(spec, "type"), !list(spec, "externalIPs").is_empty());
    if kind == "ExternalName" && externals {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
        warnings
            .push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec["trafficDistribution"] == "PreferClose" {
        let text =
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(text.to_owned());
    }
    warnings
}

fn range_list_warnings(spec: &Value) -> Vec<String> {
    let ranges = list(spec, "loadBalancerSourceRanges").iter().enumerate();
    ranges
        .flat_map(|(index, range)| {
            let field = format!("spec.loadBalancerSourceRanges[{index}]");
            range_warnings(&field, range.as_str().unwrap_or_default())
        })
        .collect()
}

/// What is odd about the addresses of a list.
fn address_list_warnings(spec: &Value, field: &str) -> Vec<String> {
    let addresses = list(spec, field).iter().enumerate();
    addresses
        .filter_map(|(index, address)| {
            address_warning(&format!("spec.{field}[{index}]"), address.as_str()?)
        })
        .collect()
}

/// What is odd about the addresses of a service.
fn address_warnings(spec: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let headless = spec["type"] == "ClusterIP" && spec["clusterIP"] == "None";
    if !matches!(text(spec, "clusterIP"), "" | "None") {
        warnings.extend(address_list_warnings(spec, "clusterIPs"));
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
    warnings.extend(address_list_warnings(spec, "externalIPs"));
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
