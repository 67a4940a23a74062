//! PriorityClasses and RuntimeClasses.

use crate::field::{Field, check, check_labels};
use crate::rules::Rules;
use crate::tree::{fill, text};

/// The highest priority that others than the system may define.
const PRIORITY_MAX: i64 = 1_000_000_000;
/// The classes of the system, with their priorities.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// PriorityClasses.
pub(crate) const PRIORITY_CLASSES: Rules = Rules {
    default: |class| fill(class, "preemptionPolicy", "PreemptLowerPriority"),
    check_new: |class| check(class, check_priority_class),
    check_change: |change| {
        check(change.next, |class| {
            let before = class.with_value(change.before);
            let (value, old) = (class.child("value"), before.child("value"));
            if value.integer().unwrap_or_default() != old.integer().unwrap_or_default() {
                value.forbidden("may not be changed in an update.");
            }
            class
                .child("preemptionPolicy")
                .immutable(before.child("preemptionPolicy"));
        })
    },
    ..Rules::NONE
};

/// RuntimeClasses.
pub(crate) const RUNTIME_CLASSES: Rules = Rules {
    check_new: |class| check(class, check_runtime_class),
    check_change: |change| {
        check(change.next, |class| {
            class.child("handler").kept(&change.before["handler"])
        })
    },
    ..Rules::NONE
};

fn check_priority_class(class: &Field<'_, '_>) {
    let name = text(&class.value()["metadata"], "name");
    let priority = class.child("value").integer().unwrap_or_default();
    if name.starts_with("system-") {
        if let Err(why) = check_system_class(name, priority, class) {
            let metadata = class.child("metadata");
            metadata.child("name").forbidden(&format!(
                "priority class names with 'system-' prefix are reserved for system use only. \
                 error: {why}"
            ));
        }
    } else if priority > PRIORITY_MAX {
        class.child("value").forbidden(&format!(
            "maximum allowed value of a user defined priority is {PRIORITY_MAX}"
        ));
    }
    if let Some(policy) = class.given("preemptionPolicy") {
        policy.need_one_of(&["PreemptLowerPriority", "Never"]);
    }
}

fn check_system_class(name: &str, priority: i64, class: &Field<'_, '_>) -> Result<(), String> {
    let known = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name);
    match known {
        None => Err(format!("{name} is not a known system priority class")),
        Some((_, right)) if *right != priority => {
            Err(format!("value of {name} PriorityClass must be {right}"))
        }
        Some(_) if class.child("globalDefault").is_true() => Err(format!(
            "globalDefault of {name} PriorityClass must be false"
        )),
        Some(_) => Ok(()),
    }
}

fn check_runtime_class(class: &Field<'_, '_>) {
    if let Some(overhead) = class.given("overhead") {
        let limits = overhead
            .child("limits")
            .with_value(&overhead.value()["podFixed"]);
        for (resource, amount) in limits.entries() {
            amount.container_resource_name(resource);
            amount.amount_of(resource);
        }
    }
    let scheduling = class.child("scheduling");
    check_labels(&scheduling.child("nodeSelector"));
    let handler = class.child("handler");
    if handler.need() {
        handler.dns_label();
    }
}
