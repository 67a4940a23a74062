//! What a pod can be said to have become.

use listwatch_api::FieldError;
use serde_json::Value;

use super::annotations::{check_annotation_change, check_pod_annotations};
use super::shown;
use crate::address::Family;
use crate::field::{FIELD_IS_IMMUTABLE, Field, check};
use crate::rules::Change;
use crate::tree::{list, text};

const IS_NEGATIVE: &str = "must be a non-negative integer";

/// What is wrong with a change of a pod's status.
pub(super) fn check_pod_status(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |pod| {
        let metadata = pod.child("metadata");
        let annotations = metadata.child("annotations");
        check_annotation_change(&annotations, &change.before["metadata"]["annotations"]);
        check_pod_annotations(&annotations, &change.next["spec"]);
        let (status, before) = (pod.child("status"), &change.before["status"]);
        check_conditions(&status.child("conditions"));
        check_nomination(&status, change.before);
        let generation = status.child("observedGeneration");
        if generation.integer() < Some(0) && generation.is_set() {
            generation.invalid(IS_NEGATIVE);
        }
        let quality = status.child("qosClass");
        if quality.text() != text(before, "qosClass") {
            quality.invalid_value(quality.text(), FIELD_IS_IMMUTABLE);
        }
        check_states(&status, change.before);
        check_pod_addresses(&status, before);
        check_host_addresses(&status, before);
    })
}

fn check_conditions(conditions: &Field<'_, '_>) {
    for condition in conditions.elements() {
        let generation = condition.child("observedGeneration");
        if generation
            .integer()
            .is_some_and(|generation| generation < 0)
        {
            generation.invalid(IS_NEGATIVE);
        }
        let kind = condition.child("type");
        if !matches!(kind.text(), "PodScheduled" | "Ready" | "Initialized") {
            condition
                .child("Type")
                .with_value(kind.value())
                .qualified_name();
        }
    }
}

fn check_nomination(status: &Field<'_, '_>, before: &Value) {
    let node = status.child("nominatedNodeName");
    if node.is_empty() || node.text() == text(&before["status"], "nominatedNodeName") {
        return;
    }
    node.dns_subdomain();
    if !text(&before["spec"], "nodeName").is_empty() {
        node.forbidden("may not be set on pods that are already bound to a node");
    }
}

/// What has ended stays so, unless it is to run again.
fn check_states(status: &Field<'_, '_>, before: &Value) {
    let spec = &before["spec"];
    for (member, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ] {
        let statuses = status.child(member);
        for (index, old) in list(&before["status"], member).iter().enumerate() {
            let ended = &old["state"]["terminated"];
            let is_running = |new: Field<'_, '_>| {
                new.child("name").value() == &old["name"]
                    && !new.child("state").child("terminated").is_set()
            };
            if ended.is_null() || !statuses.elements().any(is_running) {
                continue;
            }
            let mut containers = list(spec, containers).iter();
            let container = containers.find(|container| container["name"] == old["name"]);
            let code = ended["exitCode"].as_i64().unwrap_or(0);
            if !container.is_some_and(|container| runs_again(container, spec, code)) {
                let place = statuses.index(index);
                let why = "may not be transitioned to non-terminated state";
                place.child("state").forbidden(why);
            }
        }
    }
}

fn runs_again(container: &Value, spec: &Value, code: i64) -> bool {
    let matches = |rule: &Value| {
        let codes = &rule["exitCodes"];
        let is_listed = list(codes, "values")
            .iter()
            .any(|value| value.as_i64() == Some(code));
        is_listed == (codes["operator"] == "In")
    };
    if list(container, "restartPolicyRules").iter().any(matches) {
        return true;
    }
    let policy = match text(container, "restartPolicy") {
        "" => text(spec, "restartPolicy"),
        policy => policy,
    };
    match policy {
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}

fn check_pod_addresses(status: &Field<'_, '_>, before: &Value) {
    let (address, addresses) = (status.child("podIP"), status.child("podIPs"));
    check_addresses(&addresses, list(before, "podIPs"), "[]PodIP");
    let first = addresses.index(0);
    if address.is_empty() != addresses.is_empty() {
        let shown = shown::compact(addresses.value(), "[]PodIP");
        let why = "podIP and podIPs must either both be set or both be unset";
        addresses.invalid_value(shown, why);
    } else if address.text() != first.child("ip").text() {
        first.child("ip").invalid("must be equal to `podIP`");
    }
}

fn check_host_addresses(status: &Field<'_, '_>, before: &Value) {
    let (address, addresses) = (status.child("hostIP"), status.child("hostIPs"));
    if addresses.is_empty() {
        return;
    }
    let first = addresses.index(0);
    if address.text() != first.child("ip").text() {
        first.child("ip").invalid("must be equal to `hostIP`");
    }
    check_addresses(&addresses, list(before, "hostIPs"), "[]HostIP");
}

fn check_addresses(addresses: &Field<'_, '_>, before: &[Value], shape: &str) {
    for address in addresses.elements() {
        let known = |known: &Value| known["ip"] == *address.child("ip").value();
        if !before.iter().any(known) {
            let place = address.with_value(address.child("ip").value());
            place.clear_address();
        }
    }
    let families = addresses
        .elements()
        .map(|address| Family::of(address.child("ip").text()));
    let families: Vec<Option<Family>> = families.collect();
    let is_pair = matches!(families.as_slice(), [Some(one), Some(other)] if one != other);
    if families.len() > 1 && !is_pair {
        let shown = shown::compact(addresses.value(), shape);
        addresses.invalid_value(shown, "may specify no more than one IP for each IP family");
    }
}
