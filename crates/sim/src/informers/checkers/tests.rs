//! Each checker is shown a trace that breaks its promise, and one that does not.

use std::collections::BTreeMap;

use super::*;
use crate::informers::trace::{Content, Event, HandlerId, Kind, Limit, Notice, State};

const KIND: Kind = Kind(0);
const HANDLER: HandlerId = HandlerId(7);

fn state(key: &str, token: u64, version: u64) -> State {
    State {
        key: key.to_owned(),
        token,
        version,
    }
}

fn changed(key: &str, content: Content) -> Event {
    Event::Changed {
        kind: KIND,
        key: key.to_owned(),
        content,
    }
}

/// The state with this number, at the version of the same number.
fn put(key: &str, number: u64) -> Event {
    changed(
        key,
        Content::Readable {
            token: number,
            version: number,
        },
    )
}

fn delete(key: &str) -> Event {
    changed(key, Content::Absent)
}

fn joined(limit: Limit, present: Option<Vec<State>>) -> Event {
    Event::Joined {
        handler: HANDLER,
        kind: KIND,
        limit,
        present,
    }
}

fn told(notice: Notice) -> Event {
    Event::Told(HANDLER, notice)
}

fn added(key: &str, number: u64) -> Event {
    told(Notice::Added(state(key, number, number)))
}

fn updated(key: &str, old: u64, new: u64) -> Event {
    told(Notice::Updated {
        old: state(key, old, old),
        new: state(key, new, new),
    })
}

fn broken(events: Vec<Event>) -> Vec<&'static str> {
    let trace = Trace {
        events,
        fingerprint: 0,
    };
    check(&trace).iter().map(|broken| broken.name).collect()
}

fn coalescing() -> Event {
    joined(Limit::Coalesce, None)
}

#[test]
fn an_older_state_after_a_newer_is_noticed() {
    let history = [put("a", 1), put("a", 2), coalescing()];
    let tell = |events: [Event; 2]| broken([&history[..], &events].concat());
    assert_eq!(tell([added("a", 1), updated("a", 1, 2)]), [""; 0]);
    assert_eq!(tell([added("a", 2), updated("a", 2, 1)]), ["forward"]);
    assert_eq!(tell([added("a", 2), updated("a", 2, 3)]), ["forward"]);
}

#[test]
fn a_restored_server_may_bring_an_older_state_again() {
    let mut events = vec![put("a", 1), put("a", 2), coalescing(), added("a", 1)];
    events.extend([updated("a", 1, 2), Event::Restored, put("a", 1)]);
    events.push(updated("a", 2, 1));
    assert_eq!(broken(events.clone()), [""; 0]);
    events.push(updated("a", 1, 2));
    assert_eq!(broken(events), ["forward"]);
}

#[test]
fn a_deletion_that_never_was_is_noticed() {
    let gone = told(Notice::Deleted {
        key: "a".to_owned(),
    });
    let events = vec![put("a", 1), coalescing(), added("a", 1), gone];
    assert_eq!(broken(events.clone()), ["forward"]);
    let deleted_before = [&[delete("a")], &events[..]].concat();
    assert_eq!(broken(deleted_before), ["forward"]);
}

#[test]
fn a_notice_that_does_not_follow_is_noticed() {
    let history = [put("a", 1), put("a", 2), put("a", 3), coalescing()];
    let tell = |events: &[Event]| broken([&history[..], events].concat());
    assert_eq!(tell(&[added("a", 1), added("a", 2)]), ["folded"]);
    assert_eq!(tell(&[updated("a", 1, 2)]), ["folded"]);
    assert_eq!(tell(&[added("a", 1), updated("a", 2, 3)]), ["folded"]);
    let found = told(Notice::Found {
        last: state("a", 1, 1),
    });
    let found_late = [delete("a"), added("a", 2), found];
    assert!(tell(&found_late).contains(&"folded"));
}

#[test]
fn a_fold_that_is_not_the_cache_is_noticed() {
    let history = [put("a", 1), put("b", 2), coalescing(), added("a", 1)];
    let caught_up = |cache: Vec<State>| {
        let end = [Event::CaughtUp(HANDLER, cache)];
        broken([&history[..], &end].concat())
    };
    assert_eq!(caught_up(vec![state("a", 1, 1)]), [""; 0]);
    assert_eq!(caught_up(vec![]), ["folded"]);
    assert_eq!(
        caught_up(vec![state("a", 1, 1), state("b", 2, 2)]),
        ["folded"]
    );
    assert_eq!(caught_up(vec![state("a", 3, 1)]), ["folded"]);
}

#[test]
fn an_index_that_finds_too_much_or_too_little_is_noticed() {
    let look = |found: &[(u64, &str)]| {
        let mut groups: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (value, key) in found {
            groups.entry(*value).or_default().push((*key).to_owned());
        }
        broken(vec![Event::Looked {
            kind: KIND,
            objects: vec![state("a", 1, 1), state("b", 5, 5)],
            indexes: vec![("groups", groups)],
        }])
    };
    let right = [(1, "a"), (11, "a"), (2, "b"), (10, "b")];
    assert_eq!(look(&right), [""; 0]);
    assert_eq!(look(&right[1..]), ["indexed"]);
    assert_eq!(look(&[&right[..], &[(12, "b")]].concat()), ["indexed"]);
}

#[test]
fn a_cache_that_is_not_what_the_server_holds_is_noticed() {
    let history = [
        put("a", 1),
        put("b", 2),
        delete("b"),
        changed("c", Content::Unreadable),
    ];
    let quiet = |cache: &[State]| {
        let end = [Event::Quiet(KIND, cache.to_vec())];
        broken([&history[..], &end].concat())
    };
    let a = state("a", 1, 1);
    assert_eq!(quiet(std::slice::from_ref(&a)), [""; 0]);
    assert_eq!(quiet(&[a.clone(), state("c", 9, 9)]), [""; 0]);
    assert_eq!(quiet(&[]), ["converged"]);
    assert_eq!(quiet(&[a, state("b", 2, 2)]), ["converged"]);
    assert_eq!(quiet(&[state("a", 4, 1)]), ["converged"]);
}

#[test]
fn a_word_to_one_who_has_left_is_noticed() {
    let mut events = vec![put("a", 1), put("a", 2), coalescing(), added("a", 1)];
    events.push(Event::Removed(HANDLER));
    assert_eq!(broken(events.clone()), [""; 0]);
    events.push(updated("a", 1, 2));
    assert_eq!(broken(events), ["removed"]);
}

#[test]
fn a_sync_without_all_that_was_there_is_noticed() {
    let present = vec![state("a", 1, 1), state("b", 2, 2)];
    let history = [
        put("a", 1),
        put("b", 2),
        joined(Limit::Coalesce, Some(present.clone())),
    ];
    let initial: Vec<_> = present
        .into_iter()
        .map(|state| told(Notice::Initial(state)))
        .collect();
    let synced = [Event::Synced(HANDLER)];
    let whole = [&history[..], &initial, &synced].concat();
    assert_eq!(broken(whole), [""; 0]);
    let early = [&history[..], &initial[..1], &synced, &initial[1..]].concat();
    assert_eq!(broken(early), ["synced"]);
}

#[test]
fn a_sync_before_the_first_list_or_without_all_of_it_is_noticed() {
    let filled = Event::Filled {
        kind: KIND,
        keys: vec!["a".to_owned(), "b".to_owned()],
    };
    let history = [put("a", 1), put("b", 2), coalescing()];
    let initial = |key: &str, number| told(Notice::Initial(state(key, number, number)));
    let synced = Event::Synced(HANDLER);
    let run = |events: &[&Event]| {
        let events: Vec<_> = events.iter().map(|event| (*event).clone()).collect();
        broken([&history[..], &events].concat())
    };
    let (a, b) = (initial("a", 1), initial("b", 2));
    assert_eq!(run(&[&filled, &a, &b, &synced]), [""; 0]);
    assert_eq!(run(&[&filled, &a, &delete("b"), &synced]), [""; 0]);
    assert_eq!(run(&[&filled, &a, &synced, &b]), ["synced"]);
    assert_eq!(run(&[&synced]), ["synced"]);
}

#[test]
fn more_in_memory_than_anybody_may_be_behind_is_noticed() {
    let waits = |limit, deltas, changes| {
        let kind = KIND;
        broken(vec![
            joined(limit, None),
            Event::Waits {
                kind,
                deltas,
                changes,
            },
        ])
    };
    assert_eq!(waits(Limit::Drop(5), 0, 5), [""; 0]);
    assert_eq!(waits(Limit::Drop(5), 0, 6), ["bounded"]);
    assert_eq!(waits(Limit::Coalesce, 0, 2_000), [""; 0]);
    assert_eq!(waits(Limit::Coalesce, 0, 2_001), ["bounded"]);
    assert_eq!(waits(Limit::Block(10), 0, 3_000), ["bounded"]);
    assert_eq!(waits(Limit::Block(10), 3_000, 0), ["bounded"]);
}

#[test]
fn a_read_that_is_older_than_asked_for_is_noticed() {
    let history = [put("a", 1), put("a", 2), delete("b"), put("a", 3)];
    let read = |version: u64, objects: &[State]| {
        let read = Event::Read {
            kind: KIND,
            written: 1,
            wanted: 2,
            version,
            objects: objects.to_vec(),
        };
        broken([&history[..], &[read]].concat())
    };
    assert_eq!(read(2, &[state("a", 2, 2)]), [""; 0]);
    assert_eq!(read(3, &[state("a", 3, 3)]), [""; 0]);
    assert_eq!(read(1, &[state("a", 2, 2)]), ["at least"]);
    assert_eq!(read(2, &[state("a", 1, 1)]), ["at least"]);
    assert_eq!(read(2, &[]), ["at least"]);
}
