//! Events, in the shape of the core group and in that of `events.k8s.io`.

use jiff::Timestamp;
use listwatch_api::timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::UNKNOWN,
};

pub(super) const PRINTERS: Printers = &[("events", event), ("events.events.k8s.io", event)];

fn event(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let seen = Seen::of(object);
    let subject = either(object, "involvedObject", "regarding");
    let message = either(object, "message", "note").text();
    cells![
        ago(seen.last, now),
        object.member("type").text(),
        object.member("reason").text(),
        target(subject),
        subject.member("fieldPath").text(),
        source(object),
        message.trim(),
        ago(seen.first, now),
        seen.count,
        object.name(),
    ]
}

/// When and how often it happened.
struct Seen {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    count: i64,
}

impl Seen {
    fn of(object: Field<'_>) -> Self {
        let happened = object.member("eventTime").timestamp();
        let first = either(object, "firstTimestamp", "deprecatedFirstTimestamp").timestamp();
        let first = first.or(happened);
        let series = object.member("series");
        if series.is_set() {
            return Self {
                first,
                last: series.member("lastObservedTime").timestamp(),
                count: series.member("count").integer(),
            };
        }
        let last = either(object, "lastTimestamp", "deprecatedLastTimestamp").timestamp();
        Self {
            first,
            last: last.or(first),
            count: match either(object, "count", "deprecatedCount").integer() {
                0 => 1,
                count => count,
            },
        }
    }
}

fn ago(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(|| UNKNOWN.to_owned(), |time| timestamp::age(time, now))
}

/// A member by its name in the core group, or else in `events.k8s.io`.
fn either<'a>(object: Field<'a>, core: &str, newer: &str) -> Field<'a> {
    match object.member(core) {
        member if member.is_set() => member,
        _ => object.member(newer),
    }
}

fn target(subject: Field<'_>) -> String {
    let kind = subject.member("kind").text().to_lowercase();
    match subject.member("name").text() {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(object: Field<'_>) -> String {
    let source = either(object, "source", "deprecatedSource");
    let controller = either(object, "reportingComponent", "reportingController").text();
    let component = source.member("component").text_or(controller);
    let instance = object.member("reportingInstance").text();
    match source.member("host").text_or(instance) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::response::table::test_rows::row;

    #[test]
    fn an_event_says_what_happened_to_what() {
        let object = json!({
            "metadata": {"name": "p.1"},
            "type": "Warning",
            "reason": "BackOff",
            "message": " it failed\n",
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{a}"},
            "source": {"component": "kubelet", "host": "n1"},
            "firstTimestamp": "2026-11-15T11:00:00Z",
            "lastTimestamp": "2026-11-15T11:59:00Z",
            "count": 7,
        });
        let expected = "60s | Warning | BackOff | pod/p | spec.containers{a} | kubelet, n1 | \
                        it failed | 60m | `7` | p.1";
        assert_eq!(row("events", &object), expected);
    }

    #[test]
    fn an_event_of_the_newer_group_has_other_names_for_the_same() {
        let object = json!({
            "metadata": {"name": "p.1"},
            "type": "Normal",
            "reason": "Started",
            "note": "it began",
            "regarding": {"kind": "Pod", "name": "p"},
            "eventTime": "2026-11-15T11:59:30.000000Z",
            "reportingController": "ex.com/c",
            "reportingInstance": "c-0",
        });
        let expected = "30s | Normal | Started | pod/p |  | ex.com/c, c-0 | it began | 30s | `1` | \
                        p.1";
        assert_eq!(row("events.events.k8s.io", &object), expected);
    }

    #[test]
    fn a_series_says_when_it_was_seen_last_and_how_often() {
        let object = json!({
            "eventTime": "2026-11-15T11:00:00.000000Z",
            "series": {"count": 12, "lastObservedTime": "2026-11-15T11:58:00.000000Z"},
            "lastTimestamp": "2026-11-15T11:00:00Z",
            "count": 3,
        });
        assert_eq!(
            row("events", &object),
            "2m |  |  |  |  |  |  | 60m | `12` | "
        );
    }

    #[test]
    fn an_empty_event_happened_once_at_an_unknown_time() {
        assert_eq!(
            row("events", &json!({})),
            "<unknown> |  |  |  |  |  |  | <unknown> | `1` | "
        );
    }
}
