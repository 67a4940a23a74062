//! **removed**: who has left is left alone.

use std::collections::BTreeSet;

use super::{Case, Checker, Violation};
use crate::informers::trace::Event;

pub(super) const CHECKER: Checker = Checker {
    name: "removed",
    promise: "A handler is told nothing after its removal has completed.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut removed = BTreeSet::new();
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        match event {
            Event::Removed(handler) => {
                removed.insert(*handler);
            }
            Event::Told(handler, notice) if removed.contains(handler) => {
                let finding = format!("{handler:?} was removed and is told {notice:?}");
                violations.push(Violation::new(place, finding));
            }
            _ => {}
        }
    }
    violations
}
