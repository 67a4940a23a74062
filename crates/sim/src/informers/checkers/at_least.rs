//! **at least**: who waits for a version reads what it wrote, or something newer.

use std::collections::BTreeMap;

use super::{Case, Checker, Violation, timeline::content_of};
use crate::informers::trace::{Content, Event, Kind, State};

pub(super) const CHECKER: Checker = Checker {
    name: "at least",
    promise: "A read that has to be at least as new as a version shows every object as it was at \
              that version, or later.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        let Event::Read {
            kind,
            written,
            wanted,
            version,
            objects,
        } = event
        else {
            continue;
        };
        if version < wanted {
            let finding = format!("{wanted} was asked for, {version} was read");
            violations.push(Violation::new(place, finding));
        }
        let read: BTreeMap<_, _> = objects
            .iter()
            .map(|state| (state.key.as_str(), state))
            .collect();
        for key in case.timeline.keys(*kind) {
            if is_older(case, (*kind, key), *written, read.get(key).copied()) {
                let finding = format!("{key} was read as {:?}, asked for {wanted}", read.get(key));
                violations.push(Violation::new(place, finding));
            }
        }
    }
    violations
}

/// Whether a state is only found before what the server held at a place of the trace.
fn is_older(
    case: &Case<'_>,
    (kind, key): (Kind, &str),
    written: usize,
    read: Option<&State>,
) -> bool {
    let Some(from) = case.timeline.index_at(kind, key, written) else {
        return false;
    };
    let read = read.map_or(Content::Absent, content_of);
    // Of what cannot be decoded the cache keeps whatever it had.
    let accepted = [read, Content::Unreadable];
    let find = |content: &Content| case.timeline.find((kind, key), from, *content);
    accepted.iter().all(|content| find(content).is_none())
}
