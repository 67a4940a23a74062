//! **bounded**: nobody's slowness is paid for with memory.

use std::collections::BTreeMap;

use listwatch::{delta_queue::QUEUE_DELTAS_MAX, shared_informer::COALESCE_CHANGES_MAX};

use super::{Case, Checker, Violation};
use crate::informers::{
    source::EVENTS_AT_HAND_MAX,
    trace::{Event, HandlerId, Kind, Limit},
};

pub(super) const CHECKER: Checker = Checker {
    name: "bounded",
    promise: "An informer keeps no more changes than its most patient handler may be behind, and \
              no more deltas than its queue may hold.",
    check,
};

/// What may wait for the cache: a full queue takes no more, but one push is never divided.
const DELTAS_MAX: usize = QUEUE_DELTAS_MAX + EVENTS_AT_HAND_MAX;

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut limits: BTreeMap<HandlerId, (Kind, usize)> = BTreeMap::new();
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        match event {
            Event::Joined {
                handler,
                kind,
                limit,
                ..
            } => {
                limits.insert(*handler, (*kind, changes_max(*limit)));
            }
            Event::Removed(handler) => {
                limits.remove(handler);
            }
            Event::Waits {
                kind,
                deltas,
                changes,
            } => {
                let limits = limits.values().filter(|(of, _)| of == kind);
                let most = limits.map(|(_, limit)| *limit).max().unwrap_or(0);
                if *changes > most {
                    let finding = format!("{changes} changes of {kind:?} wait, {most} may");
                    violations.push(Violation::new(place, finding));
                }
                if *deltas > DELTAS_MAX {
                    let finding = format!("{deltas} deltas of {kind:?} wait, {DELTAS_MAX} may");
                    violations.push(Violation::new(place, finding));
                }
            }
            _ => {}
        }
    }
    violations
}

/// Changes that are kept for a handler at most. A blocking one may have a whole batch on top.
fn changes_max(limit: Limit) -> usize {
    match limit {
        Limit::Block(most) => most.max(1) + DELTAS_MAX,
        Limit::Drop(most) => most.max(1),
        Limit::Coalesce => usize::try_from(COALESCE_CHANGES_MAX).unwrap_or(usize::MAX),
    }
}
