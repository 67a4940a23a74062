use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::event_recorder::Severity;

struct World {
    correlator: Correlator,
    began: Instant,
}

fn world() -> World {
    let reporter = Reporter {
        controller: "example.com/test".to_owned(),
        instance: "one".to_owned(),
    };
    World {
        correlator: Correlator::new(reporter),
        began: Instant::now(),
    }
}

fn pod(name: &str) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".to_owned()),
        namespace: Some("space".to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

fn failed(name: &str, note: &str) -> NewEvent {
    NewEvent {
        severity: Severity::Warning,
        reason: "Failed".to_owned(),
        action: "Pulling".to_owned(),
        note: note.to_owned(),
        regarding: pod(name),
        related: None,
    }
}

fn wall(second: u64) -> MicroTime {
    let second = i64::try_from(second).unwrap();
    MicroTime(Timestamp::from_second(second).unwrap())
}

impl World {
    /// What is written about an event that occurs so many seconds after the beginning.
    fn at(&mut self, second: u64, event: NewEvent) -> String {
        let verdict = self.correlator.observe(Occurrence {
            event,
            at: self.began + Duration::from_secs(second),
            wall: wall(second),
        });
        match verdict {
            Verdict::TooMany => "too many".to_owned(),
            Verdict::Create(_, event) => {
                let count = event.series.map_or(1, |series| series.count);
                format!("create {count} {}", event.note.unwrap())
            }
            Verdict::Count(_, growth) => format!("count {}", growth.series.count),
        }
    }

    fn key_of(&mut self, event: NewEvent) -> SeriesKey {
        match self.correlator.observe(Occurrence {
            event,
            at: self.began,
            wall: wall(0),
        }) {
            Verdict::Create(key, _) | Verdict::Count(key, _) => key,
            Verdict::TooMany => panic!("too many"),
        }
    }
}

#[test]
fn an_event_is_written_once_and_then_counted() {
    let mut world = world();
    assert_eq!(world.at(0, failed("a", "no image")), "create 1 no image");
    assert_eq!(world.at(1, failed("a", "no image")), "count 2");
    assert_eq!(world.at(2, failed("a", "no image")), "count 3");
}

#[test]
fn a_new_event_has_the_fields_that_kubectl_shows() {
    let mut world = world();
    let verdict = world.correlator.observe(Occurrence {
        event: failed("a", "no image"),
        at: world.began,
        wall: wall(5),
    });
    let Verdict::Create(_, event) = verdict else {
        panic!("{verdict:?}");
    };
    let expected = Event {
        metadata: event.metadata.clone(),
        type_: Some("Warning".to_owned()),
        reason: Some("Failed".to_owned()),
        action: Some("Pulling".to_owned()),
        note: Some("no image".to_owned()),
        regarding: Some(pod("a")),
        reporting_controller: Some("example.com/test".to_owned()),
        reporting_instance: Some("one".to_owned()),
        event_time: Some(wall(5)),
        ..Event::default()
    };
    assert_eq!(*event, expected);
    assert_eq!(event.metadata.namespace.as_deref(), Some("space"));
    assert!(event.metadata.name.as_ref().unwrap().starts_with("a."));
}

#[test]
fn a_later_version_of_the_object_is_the_same_object() {
    let mut world = world();
    world.at(0, failed("a", "no image"));
    let mut later = failed("a", "no image");
    later.regarding.resource_version = Some("7".to_owned());
    assert_eq!(world.at(1, later), "count 2");
}

#[test]
fn anything_else_that_differs_begins_a_series() {
    let mut world = world();
    let change: [fn(&mut NewEvent); 6] = [
        |event| event.severity = Severity::Normal,
        |event| event.reason = "Other".to_owned(),
        |event| event.action = "Other".to_owned(),
        |event| event.note = "other".to_owned(),
        |event| event.regarding.uid = Some("other".to_owned()),
        |event| event.related = Some(pod("other")),
    ];
    world.at(0, failed("a", "no image"));
    for change in change {
        let mut event = failed("a", "no image");
        change(&mut event);
        let expected = format!("create 1 {}", event.note);
        assert_eq!(world.at(0, event), expected);
    }
}

#[test]
fn similar_events_are_combined_from_the_tenth_on() {
    let mut world = world();
    for number in 1..10 {
        let note = format!("try {number}");
        let expected = format!("create 1 {note}");
        assert_eq!(world.at(number, failed("a", &note)), expected);
    }
    let written = world.at(10, failed("a", "try 10"));
    assert_eq!(written, "create 1 (combined from similar events): try 10");
    assert_eq!(world.at(11, failed("a", "try 11")), "count 2");
    // One that has its own event keeps it.
    assert_eq!(world.at(12, failed("a", "try 3")), "count 2");
}

#[test]
fn events_are_similar_for_ten_minutes() {
    let mut world = world();
    for number in 0..9 {
        world.at(0, failed("a", &format!("try {number}")));
    }
    assert_eq!(world.at(601, failed("a", "late")), "create 1 late");
}

#[test]
fn too_many_events_about_one_object_are_thinned_out_but_counted() {
    let mut world = world();
    world.at(0, failed("a", "no image"));
    for count in 2..=25 {
        let written = world.at(0, failed("a", "no image"));
        assert_eq!(written, format!("count {count}"));
    }
    assert_eq!(world.at(0, failed("a", "no image")), "too many");
    assert_eq!(world.at(299, failed("a", "no image")), "too many");
    assert_eq!(world.at(300, failed("a", "no image")), "count 28");
    assert_eq!(world.at(301, failed("a", "no image")), "too many");
    assert_eq!(world.at(301, failed("b", "no image")), "create 1 no image");
}

#[test]
fn an_event_that_was_held_back_is_created_with_its_count() {
    let mut world = world();
    for _ in 0..25 {
        world.at(0, failed("a", "no image"));
    }
    assert_eq!(world.at(0, failed("a", "crashed")), "too many");
    assert_eq!(world.at(300, failed("a", "crashed")), "create 2 crashed");
}

#[test]
fn a_series_ends_after_six_quiet_minutes() {
    let mut world = world();
    assert_eq!(world.at(0, failed("a", "no image")), "create 1 no image");
    assert_eq!(world.at(360, failed("a", "no image")), "count 2");
    assert_eq!(world.at(721, failed("a", "no image")), "create 1 no image");
}

#[test]
fn an_event_that_was_deleted_is_created_again_with_its_count() {
    let mut world = world();
    let first = world.key_of(failed("a", "no image"));
    let before = world.correlator.recreate(&first).unwrap();
    assert_eq!(before.series, None);
    world.at(1, failed("a", "no image"));
    let again = world.correlator.recreate(&first).unwrap();
    assert_eq!(again.series.unwrap().count, 2);
    assert_ne!(again.metadata.name, before.metadata.name);
}

#[test]
fn an_event_that_was_refused_counts_as_new_again() {
    let mut world = world();
    let key = world.key_of(failed("a", "no image"));
    world.correlator.forget(&key);
    assert_eq!(world.at(1, failed("a", "no image")), "create 1 no image");
    assert!(world.correlator.recreate(&key).is_some());
}

#[test]
fn an_object_outside_of_any_namespace_has_its_events_in_the_default_one() {
    let mut event = failed("node", "no disk");
    event.regarding.namespace = None;
    let mut world = world();
    let verdict = world.correlator.observe(Occurrence {
        event,
        at: world.began,
        wall: wall(0),
    });
    let Verdict::Create(_, event) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
}

#[test]
fn what_was_used_least_recently_is_forgotten() {
    let mut world = world();
    world.at(0, failed("a", "no image"));
    for number in 0..REMEMBERED_MAX {
        world.at(0, failed(&format!("pod-{number}"), "no image"));
    }
    assert_eq!(world.at(0, failed("a", "no image")), "create 1 no image");
}
