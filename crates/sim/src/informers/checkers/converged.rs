//! **converged**: when all is quiet, the cache is what the server holds.

use std::collections::BTreeMap;

use super::{Case, Checker, Violation, timeline::content_of};
use crate::informers::trace::{Content, Event};

pub(super) const CHECKER: Checker = Checker {
    name: "converged",
    promise: "When nothing changes and nothing fails any more, each cache shows what a list shows, \
              but for objects that cannot be decoded.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        let Event::Quiet(kind, cache) = event else {
            continue;
        };
        let cached: BTreeMap<_, _> = cache
            .iter()
            .map(|state| (state.key.as_str(), state))
            .collect();
        for key in case.timeline.keys(*kind) {
            let index = case.timeline.index_at(*kind, key, place);
            let held = index.map_or(Content::Absent, |index| {
                case.timeline.states(*kind, key)[index].1
            });
            let shown = cached
                .get(key)
                .map_or(Content::Absent, |state| content_of(state));
            if held != Content::Unreadable && held != shown {
                let finding = format!("{key} of {kind:?} is {held:?}, the cache shows {shown:?}");
                violations.push(Violation::new(place, finding));
            }
        }
    }
    violations
}
