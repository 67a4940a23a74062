//! Devices and who has claimed them.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{age, since},
};

pub(super) const PRINTERS: Printers = &[
    ("resourceclaims.resource.k8s.io", claim),
    ("resourceslices.resource.k8s.io", slice),
    ("devicetaintrules.resource.k8s.io", taint_rule),
];

fn claim(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    cells![object.name(), claim_state(object), age(object, now)]
}

fn claim_state(object: Field<'_>) -> String {
    let is_allocated = object.get("status.allocation").is_set();
    let is_reserved = object.get("status.reservedFor").count() > 0;
    let mut states = Vec::new();
    if object.is_being_deleted() {
        states.push("deleted");
    } else if !is_allocated {
        states.push("pending");
    }
    if is_allocated {
        states.push("allocated");
        states.extend(is_reserved.then_some("reserved"));
    }
    states.join(",")
}

fn slice(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    cells![
        object.name(),
        object.get("spec.nodeName").text(),
        object.get("spec.driver").text(),
        object.get("spec.pool.name").text(),
        age(object, now),
    ]
}

fn taint_rule(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let taint = object.get("spec.taint");
    cells![
        object.name(),
        taint.member("key").text(),
        taint.member("value").text(),
        taint.member("effect").text(),
        since(taint.member("timeAdded"), now),
        age(object, now),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    fn claim(metadata: Value, status: Value) -> String {
        let object = json!({"metadata": metadata, "status": status});
        row("resourceclaims.resource.k8s.io", &object)
    }

    #[test]
    fn a_claim_shows_how_far_it_has_come() {
        let named = || json!({"name": "c"});
        let deleted = || json!({"name": "c", "deletionTimestamp": "2026-11-15T11:00:00Z"});
        let reserved = || json!({"allocation": {}, "reservedFor": [{}]});
        assert_eq!(claim(named(), json!({})), "c | pending | <unknown>");
        assert_eq!(
            claim(named(), json!({"allocation": {}})),
            "c | allocated | <unknown>"
        );
        assert_eq!(
            claim(named(), reserved()),
            "c | allocated,reserved | <unknown>"
        );
        assert_eq!(claim(deleted(), json!({})), "c | deleted | <unknown>");
        assert_eq!(
            claim(deleted(), reserved()),
            "c | deleted,allocated,reserved | <unknown>"
        );
    }

    #[test]
    fn a_slice_shows_where_its_devices_are() {
        let object = json!({
            "metadata": {"name": "s"},
            "spec": {"nodeName": "n", "driver": "gpu.ex.com", "pool": {"name": "p"}},
        });
        let slices = "resourceslices.resource.k8s.io";
        assert_eq!(row(slices, &object), "s | n | gpu.ex.com | p | <unknown>");
    }

    #[test]
    fn a_taint_rule_shows_its_taint() {
        let taint = json!({
            "key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-11-15T11:59:00Z",
        });
        let object = json!({"metadata": {"name": "t"}, "spec": {"taint": taint}});
        let rules = "devicetaintrules.resource.k8s.io";
        assert_eq!(
            row(rules, &object),
            "t | k | v | NoSchedule | 60s | <unknown>"
        );
    }
}
