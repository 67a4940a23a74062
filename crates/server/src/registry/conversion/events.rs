//! `events.k8s.io/v1` and core events: the same facts under other names.

use serde_json::{Map, Value};

/// The names in `events.k8s.io/v1` and in the core group.
const RENAMED: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

pub(super) fn to_core(event: &mut Map<String, Value>) {
    for (served, stored) in RENAMED {
        rename(event, served, stored);
    }
}

pub(super) fn from_core(event: &mut Map<String, Value>) {
    for (served, stored) in RENAMED {
        rename(event, stored, served);
    }
}

fn rename(event: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = event.remove(from) {
        event.insert(to.to_owned(), value);
    }
}
