//! **forward**: nobody is taken back in time, unless the server went back.

use std::collections::BTreeMap;

use super::{Case, Checker, Violation, timeline::content_of};
use crate::informers::trace::{Content, Event, HandlerId, Kind, Notice};

pub(super) const CHECKER: Checker = Checker {
    name: "forward",
    promise: "The states of one object that a handler is told are among those that it had at the \
              server, in the same order; only a restored server brings older ones again.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut kinds: BTreeMap<HandlerId, Kind> = BTreeMap::new();
    let mut reached: BTreeMap<(HandlerId, &str), usize> = BTreeMap::new();
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        match event {
            Event::Joined { handler, kind, .. } => {
                kinds.insert(*handler, *kind);
            }
            Event::Told(handler, notice) => {
                let (Some(kind), Some((key, content))) = (kinds.get(handler), shown(notice)) else {
                    continue;
                };
                let from = reached.get(&(*handler, key)).copied().unwrap_or(0);
                match case.timeline.find((*kind, key), from, content) {
                    Some(index) => {
                        reached.insert((*handler, key), index);
                    }
                    None => violations.push(Violation::new(
                        place,
                        format!("{handler:?} is told {notice:?} after a later state"),
                    )),
                }
            }
            _ => {}
        }
    }
    violations
}

/// What a notice says of one object.
fn shown(notice: &Notice) -> Option<(&str, Content)> {
    match notice {
        Notice::Initial(state) | Notice::Added(state) | Notice::Updated { new: state, .. } => {
            Some((&state.key, content_of(state)))
        }
        Notice::Deleted { key } => Some((key, Content::Absent)),
        Notice::Found { last } => Some((&last.key, Content::Absent)),
        Notice::Lagged => None,
    }
}
