//! The statuses that count pods.

use listwatch_api::FieldError;
use serde_json::Value;

use crate::field::{Field, check};
use crate::rules::Change;

/// What counts of a status must be: none below zero, `replicas` the most of `parts`, and what is
/// available ready.
struct Counts {
    all: &'static [&'static str],
    parts: &'static [&'static str],
    ready: &'static str,
}

const OF_CONTROLLER: Counts = Counts {
    all: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ],
    parts: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};
const OF_DEPLOYMENT: Counts = Counts {
    all: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    parts: &["updatedReplicas", "readyReplicas", "availableReplicas"],
    ready: "readyReplicas",
};
const OF_STATEFUL_SET: Counts = Counts {
    all: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    parts: &[
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ],
    ready: "status.readyReplicas",
};
const OF_DAEMON_SET: Counts = Counts {
    all: &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ],
    parts: &[],
    ready: "",
};

pub(super) fn check_controller_status(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |object| {
        check_counts(&object.child("status"), &OF_CONTROLLER)
    })
}

pub(super) fn check_deployment_status(change: Change<'_>) -> Vec<FieldError> {
    check_status(change, &OF_DEPLOYMENT)
}

pub(super) fn check_stateful_set_status(change: Change<'_>) -> Vec<FieldError> {
    check_status(change, &OF_STATEFUL_SET)
}

pub(super) fn check_daemon_set_status(change: Change<'_>) -> Vec<FieldError> {
    check_status(change, &OF_DAEMON_SET)
}

fn check_status(change: Change<'_>, counts: &Counts) -> Vec<FieldError> {
    check(change.next, |object| {
        let status = object.child("status");
        check_counts(&status, counts);
        let collisions = status.child("collisionCount");
        let before: &Value = &change.before["status"]["collisionCount"];
        let number = collisions.integer().unwrap_or(0);
        if before.as_i64().is_some_and(|before| number < before) {
            collisions.invalid_value(number, "cannot be decremented");
        }
    })
}

fn check_counts(status: &Field<'_, '_>, counts: &Counts) {
    for member in counts.all {
        status.child(member).non_negative();
    }
    let of = |member| status.child(member).integer().unwrap_or(0);
    for member in counts.parts {
        if of(member) > of("replicas") {
            status
                .child(member)
                .invalid_value(of(member), "cannot be greater than status.replicas");
        }
    }
    if !counts.ready.is_empty() && of("availableReplicas") > of("readyReplicas") {
        let why = format!("cannot be greater than {}", counts.ready);
        status
            .child("availableReplicas")
            .invalid_value(of("availableReplicas"), &why);
    }
}
