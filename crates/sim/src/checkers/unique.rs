//! unique: no event comes twice, and nothing comes that the client had before it resumed.

use std::collections::BTreeSet;

use super::{Case, Checker, Violation};
use crate::stream::Stream;

pub(super) const CHECKER: Checker = Checker {
    name: "unique",
    promise: "No event comes twice on a stream; \
              after resuming from r nothing at or before r comes.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for stream in &case.streams {
        violations.extend(repetitions(stream));
        violations.extend(known_before(stream));
    }
    violations.extend(writes_with_two_versions(case));
    violations
}

fn repetitions(stream: &Stream<'_>) -> Vec<Violation> {
    let mut state = BTreeSet::new();
    let in_state_twice = stream.initial.iter().filter(|received| {
        let event = received.frame.event();
        event.is_some_and(|(_, object)| !state.insert(&object.key))
    });
    let mut changes = BTreeSet::new();
    let twice = stream.live.iter().filter(|received| {
        let event = received.frame.event();
        event.is_some_and(|(_, object)| !changes.insert((object.version, &object.key)))
    });
    let repeated = in_state_twice.chain(twice);
    let violations =
        repeated.map(|received| Violation::new(stream, "each event once", &received.frame));
    violations.collect()
}

fn known_before<'a>(stream: &'a Stream<'_>) -> impl Iterator<Item = Violation> + 'a {
    let after = stream.after().into_iter();
    after.flat_map(move |after| {
        let events = stream
            .live
            .iter()
            .filter_map(|received| received.frame.event());
        let known = events.filter(move |(_, object)| object.version <= after);
        known.map(move |(event_type, object)| {
            Violation::new(
                stream,
                format_args!("only events after @{after}"),
                format_args!("{event_type} {object}"),
            )
        })
    })
}

/// A write happens once, so what it wrote has one version.
fn writes_with_two_versions<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let tokens = case.model.versions_by_token().iter();
    let several = tokens.filter(|(_, versions)| versions.len() > 1);
    several.map(|(token, versions)| {
        let texts: Vec<String> = versions
            .iter()
            .map(|version| format!("@{version}"))
            .collect();
        Violation::new(
            format_args!("write {}", token.0),
            "one version for what one write wrote",
            texts.join(" and "),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::Frame;
    use crate::history::script::{Script, added, after, at, initial_end, object, state};

    #[test]
    fn each_event_once_is_unique() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), added("a/y", 2)]);
        script.watch(state(), [added("a/y", 2), added("a/x", 1), initial_end(2)]);
        assert_kept("unique", &script);
    }

    #[test]
    fn an_event_that_comes_again_is_seen() {
        let mut script = Script::two_objects();
        script.watch(
            after(0),
            [added("a/x", 1), added("a/y", 2), added("a/y", 2)],
        );
        assert_broken("unique", &script, "each event once");
    }

    #[test]
    fn an_event_at_the_version_resumed_from_is_seen() {
        let mut script = Script::two_objects();
        script.watch(after(1), [added("a/x", 1), added("a/y", 2)]);
        assert_broken("unique", &script, "only events after @1");
    }

    #[test]
    fn an_object_of_the_state_that_comes_again_as_a_change_is_seen() {
        let mut script = Script::two_objects();
        script.watch(
            state(),
            [
                added("a/x", 1),
                added("a/y", 2),
                initial_end(2),
                added("a/y", 2),
            ],
        );
        assert_broken("unique", &script, "only events after @2");
    }

    #[test]
    fn an_object_twice_in_the_state_is_seen() {
        let mut script = Script::two_objects();
        script.watch(state(), [added("a/x", 1), added("a/x", 1), initial_end(2)]);
        assert_broken("unique", &script, "each event once");
    }

    #[test]
    fn one_write_under_two_versions_is_seen() {
        let mut script = Script::two_objects();
        let again = Frame::Modified(at(3, object("a/x", 1, &[])));
        script.watch(after(0), [added("a/x", 1), added("a/y", 2), again]);
        assert_broken("unique", &script, "one version for what one write wrote");
    }
}
