//! How requests are sorted and limited.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, age},
};

pub(super) const PRINTERS: Printers = &[
    ("flowschemas.flowcontrol.apiserver.k8s.io", flow_schema),
    (
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        priority_level,
    ),
];

fn flow_schema(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let dangling = object.get("status.conditions").condition("Dangling");
    cells![
        object.name(),
        object.get("spec.priorityLevelConfiguration.name").text(),
        object.get("spec.matchingPrecedence").integer(),
        object.get("spec.distinguisherMethod.type").text_or(NONE),
        age(object, now),
        if dangling.is_set() {
            dangling.member("status").text()
        } else {
            "?"
        },
    ]
}

fn priority_level(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let limited = object.get("spec.limited");
    let queuing = limited.get("limitResponse.queuing");
    let number = |parent: Field<'_>, name: &str| match parent.is_set() {
        true => Value::from(parent.member(name).integer()),
        false => Value::from(NONE),
    };
    cells![
        object.name(),
        object.get("spec.type").text(),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        age(object, now),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::response::table::test_rows::row;

    #[test]
    fn a_schema_shows_its_level_and_whether_that_exists() {
        let schemas = "flowschemas.flowcontrol.apiserver.k8s.io";
        let object = json!({
            "metadata": {"name": "s"},
            "spec": {
                "priorityLevelConfiguration": {"name": "low"}, "matchingPrecedence": 500,
                "distinguisherMethod": {"type": "ByUser"},
            },
            "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
        });
        assert_eq!(
            row(schemas, &object),
            "s | low | `500` | ByUser | <unknown> | False"
        );
        assert_eq!(
            row(schemas, &json!({})),
            " |  | `0` | <none> | <unknown> | ?"
        );
    }

    #[test]
    fn a_level_shows_its_queues_if_it_has_any() {
        let levels = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io";
        let queuing = json!({"queues": 64, "handSize": 6, "queueLengthLimit": 50});
        let object = json!({
            "metadata": {"name": "l"},
            "spec": {"type": "Limited", "limited": {
                "nominalConcurrencyShares": 30, "limitResponse": {"queuing": queuing},
            }},
        });
        assert_eq!(
            row(levels, &object),
            "l | Limited | `30` | `64` | `6` | `50` | <unknown>"
        );
        let exempt = json!({"metadata": {"name": "e"}, "spec": {"type": "Exempt", "exempt": {}}});
        assert_eq!(
            row(levels, &exempt),
            "e | Exempt | <none> | <none> | <none> | <none> | <unknown>"
        );
    }
}
