//! listed: a list is the state at its version, and so is the state that a watch begins with.

use std::collections::BTreeMap;

use listwatch_api::ResourceVersion;

use super::{Case, Checker, Violation};
use crate::{
    history::{Freshness, List, ListEnd, ObjectKey, ObjectVersion, WatchStart},
    model::Model,
    stream::{Beginning, Stream},
};

pub(super) const CHECKER: Checker = Checker {
    name: "listed",
    promise: "A list equals the model at its resourceVersion; all pages of one list are at one \
              resourceVersion.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, list) in case.history.lists.iter().enumerate() {
        let place = format!(
            "list {number} by {} ({}; {})",
            list.answerers(),
            list.selection,
            list.freshness
        );
        violations.extend(list_violations(case.model, list, &place));
    }
    for stream in &case.streams {
        violations.extend(state_violations(case.model, stream));
    }
    violations
}

fn list_violations(model: &Model, list: &List, place: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    if let ListEnd::Refused(reason) = &list.end {
        violations.push(Violation::new(place, "a list", reason));
    }
    let Some(at) = list.at() else {
        return violations;
    };
    violations.extend(wrong_version(list.freshness, at, place));
    for page in list.pages.iter().filter(|page| page.at != at) {
        let expected = format_args!("every page at @{at}");
        violations.push(Violation::new(
            place,
            expected,
            format_args!("one at @{}", page.at),
        ));
    }
    let mut expected = model.list_at(&list.selection, at);
    expected.sort_by_cached_key(|object| object.key.to_string());
    violations.extend(wrong_remainder(list, expected.len(), place));
    if list.end != ListEnd::Complete {
        expected.truncate(list.items().count());
    }
    violations.extend(differences(&expected, list.items(), at, place));
    violations.extend(disorder(list, place));
    violations
}

fn wrong_version(freshness: Freshness, at: ResourceVersion, place: &str) -> Option<Violation> {
    let right = match freshness {
        Freshness::MostRecent | Freshness::Any => true,
        Freshness::NotOlderThan(version) => at >= version,
        Freshness::Exactly(version) => at == version,
    };
    let seen = format_args!("the state @{at}");
    (!right).then(|| Violation::new(place, format_args!("a state {freshness}"), seen))
}

fn wrong_remainder(list: &List, total: usize, place: &str) -> Vec<Violation> {
    let mut given = 0;
    let mut violations = Vec::new();
    for page in &list.pages {
        given += page.items.len();
        let left = total.saturating_sub(given) as u64;
        if let Some(remaining) = page.remaining.filter(|remaining| *remaining != left) {
            let expected = format_args!("{left} items to remain after {given}");
            violations.push(Violation::new(place, expected, format_args!("{remaining}")));
        }
    }
    violations
}

fn disorder(list: &List, place: &str) -> Option<Violation> {
    let keys: Vec<String> = list.items().map(|item| item.key.to_string()).collect();
    let mut pairs = keys.windows(2);
    let wrong = pairs.find(|pair| pair[0] >= pair[1])?;
    let expected = format_args!("a key after {}", wrong[0]);
    Some(Violation::new(place, expected, &wrong[1]))
}

/// Each object that is missing, too many, or not in the state it should be in.
fn differences<'a>(
    expected: &[&ObjectVersion],
    seen: impl Iterator<Item = &'a ObjectVersion>,
    at: ResourceVersion,
    place: &str,
) -> Vec<Violation> {
    let mut unmatched: BTreeMap<&ObjectKey, &ObjectVersion> =
        seen.map(|object| (&object.key, object)).collect();
    let mut violations = Vec::new();
    for object in expected {
        let found = unmatched.remove(&object.key);
        if found.is_some_and(|found| *found == **object) {
            continue;
        }
        let expected = format_args!("{object} in the state @{at}: {}", object.content);
        violations.push(match found {
            Some(found) => {
                Violation::new(place, expected, format_args!("{found}: {}", found.content))
            }
            None => Violation::new(place, expected, "nothing under that name"),
        });
    }
    let surplus = unmatched.into_values();
    violations.extend(surplus.map(|object| {
        let expected = format_args!("no {} in the state @{at}", object.key);
        Violation::new(place, expected, object)
    }));
    violations
}

fn state_violations(model: &Model, stream: &Stream<'_>) -> Vec<Violation> {
    let WatchStart::State(freshness) = stream.watch.start else {
        return Vec::new();
    };
    let place = stream.to_string();
    match stream.beginning {
        Beginning::State(at) => {
            let expected = model.list_at(&stream.watch.selection, at);
            let mut violations = differences(&expected, stream.initial_objects(), at, &place);
            violations.extend(wrong_version(freshness, at, &place));
            violations
        }
        Beginning::Unexplained => {
            let expected = "a state that there was at some version, then its changes";
            vec![Violation::new(place, expected, frames_text(stream))]
        }
        Beginning::PartOfState | Beginning::After(_) => Vec::new(),
    }
}

fn frames_text(stream: &Stream<'_>) -> String {
    let frames = stream.watch.frames.iter().take(100);
    let texts: Vec<String> = frames.map(|received| received.frame.to_string()).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
