//! **folded**: what a handler was told adds up to what the cache shows.

use std::collections::BTreeMap;

use super::{Case, Checker, Violation};
use crate::informers::trace::{Event, HandlerId, Notice, State};

pub(super) const CHECKER: Checker = Checker {
    name: "folded",
    promise: "What a handler is told follows from what it was told before, and adds up to the \
              cache whenever it has caught up.",
    check,
};

type Fold<'a> = BTreeMap<&'a str, &'a State>;

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut folds: BTreeMap<HandlerId, Fold<'_>> = BTreeMap::new();
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        let finding = match event {
            Event::Told(handler, notice) => {
                let fold = folds.entry(*handler).or_default();
                tell(fold, notice)
                    .map(|known| format!("{handler:?} is told {notice:?}, but it knows {known:?}"))
            }
            Event::CaughtUp(handler, cache) => {
                let fold = folds.entry(*handler).or_default();
                let told: Vec<_> = fold.values().copied().collect();
                let shown: Vec<_> = cache.iter().collect();
                (told != shown)
                    .then(|| format!("{handler:?} was told {told:?}, the cache shows {shown:?}"))
            }
            _ => None,
        };
        violations.extend(finding.map(|finding| Violation::new(place, finding)));
    }
    violations
}

/// Adds a notice to what a handler knows. Returns what it knew if the notice does not follow.
fn tell<'a>(fold: &mut Fold<'a>, notice: &'a Notice) -> Option<Option<&'a State>> {
    let (known, follows) = match notice {
        Notice::Initial(state) | Notice::Added(state) => {
            let known = fold.insert(&state.key, state);
            (known, known.is_none())
        }
        Notice::Updated { old, new } => {
            let known = fold.insert(&new.key, new);
            (known, known == Some(old))
        }
        // The source's word is passed on even if nobody knew the object.
        Notice::Deleted { key } => (fold.remove(key.as_str()), true),
        Notice::Found { last } => {
            let known = fold.remove(last.key.as_str());
            (known, known == Some(last))
        }
        Notice::Lagged => (None, true),
    };
    (!follows).then_some(known)
}
