//! **indexed**: an index finds what a look at every object finds.

use super::{Case, Checker, Violation};
use crate::informers::{
    simulation::values,
    trace::{Event, Found, State},
};

pub(super) const CHECKER: Checker = Checker {
    name: "indexed",
    promise: "In every snapshot each index, and the labels, find exactly the objects that have \
              the value there.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (place, event) in case.trace.events.iter().enumerate() {
        let Event::Looked {
            kind,
            objects,
            indexes,
        } = event
        else {
            continue;
        };
        for (name, found) in indexes {
            let expected = computed(name, objects);
            if *found != expected {
                let finding = format!("{name} of {kind:?} finds {found:?}, not {expected:?}");
                violations.push(Violation::new(place, finding));
            }
        }
    }
    violations
}

fn computed(index: &str, objects: &[State]) -> Found {
    let mut found = Found::new();
    for state in objects {
        for value in values(index, state.token) {
            found.entry(value).or_default().push(state.key.clone());
        }
    }
    found
}
