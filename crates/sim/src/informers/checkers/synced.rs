//! **synced**: who says that it has synced knows what was there at its beginning.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Checker, Violation};
use crate::informers::trace::{Event, HandlerId, Kind, Notice, State};

pub(super) const CHECKER: Checker = Checker {
    name: "synced",
    promise: "A handler that says that it has synced has been told every object that was there \
              when it came, or that the first list found if it came before.",
    check,
};

/// What one handler began with, and what it was told.
struct Beginning<'a> {
    kind: Kind,
    /// What the cache held; `None` if it had not been filled.
    present: Option<&'a [State]>,
    initial: BTreeSet<&'a State>,
    keys: BTreeSet<&'a str>,
}

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut beginnings: BTreeMap<HandlerId, Beginning<'_>> = BTreeMap::new();
    let mut first_fills: BTreeMap<Kind, (usize, &[String])> = BTreeMap::new();
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        match event {
            Event::Filled { kind, keys } => {
                first_fills.entry(*kind).or_insert((place, keys));
            }
            Event::Joined {
                handler,
                kind,
                present,
                ..
            } => {
                let beginning = Beginning {
                    kind: *kind,
                    present: present.as_deref(),
                    initial: BTreeSet::new(),
                    keys: BTreeSet::new(),
                };
                beginnings.insert(*handler, beginning);
            }
            Event::Told(handler, notice) => {
                if let Some(beginning) = beginnings.get_mut(handler) {
                    beginning.tell(notice);
                }
            }
            Event::Synced(handler) => {
                let Some(beginning) = beginnings.get(handler) else {
                    continue;
                };
                let first_fill = first_fills.get(&beginning.kind).copied();
                let missing = beginning.missing(case, first_fill, place);
                violations.extend(missing.map(|missing| {
                    let finding = format!("{handler:?} has synced and was not told {missing}");
                    Violation::new(place, finding)
                }));
            }
            _ => {}
        }
    }
    violations
}

impl<'a> Beginning<'a> {
    fn tell(&mut self, notice: &'a Notice) {
        match notice {
            Notice::Initial(state) => {
                self.initial.insert(state);
                self.keys.insert(&state.key);
            }
            Notice::Added(state) => {
                self.keys.insert(&state.key);
            }
            Notice::Updated { .. }
            | Notice::Deleted { .. }
            | Notice::Found { .. }
            | Notice::Lagged => {}
        }
    }

    /// The first object that it should have been told by now.
    fn missing(
        &self,
        case: &Case<'_>,
        first_fill: Option<(usize, &[String])>,
        place: usize,
    ) -> Option<String> {
        if let Some(present) = self.present {
            let mut present = present.iter();
            let missing = present.find(|state| !self.initial.contains(state));
            return missing.map(|state| format!("{state:?}"));
        }
        let Some((filled, keys)) = first_fill else {
            return Some("anything: nothing has been listed".to_owned());
        };
        // What has changed since the list may be told as it is now, or not at all if it is gone.
        let unchanged = |key: &&String| {
            let at = |place| case.timeline.index_at(self.kind, key, place);
            at(filled) == at(place)
        };
        let mut untold = keys.iter().filter(|key| !self.keys.contains(key.as_str()));
        untold.find(unchanged).cloned()
    }
}
