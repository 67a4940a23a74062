//! ordered: on one stream versions never go back, and all streams tell the same order.

use std::collections::BTreeMap;

use listwatch_api::{EventType, ResourceVersion};

use super::{Case, Checker, Violation};
use crate::{history::ObjectKey, stream::Stream};

pub(super) const CHECKER: Checker = Checker {
    name: "ordered",
    promise: "On one stream resourceVersions never go back, and all watchers see the same order.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations: Vec<_> = case.streams.iter().flat_map(steps_back).collect();
    violations.extend(disagreements(&case.streams));
    violations
}

fn steps_back<'a>(stream: &'a Stream<'_>) -> impl Iterator<Item = Violation> + 'a {
    let pairs = stream.live.windows(2).enumerate();
    let back = pairs.filter(|(_, pair)| pair[1].frame.version() < pair[0].frame.version());
    back.map(move |(index, pair)| {
        Violation::new(
            format_args!("{stream}, change {}", index + 1),
            format_args!("a version not before that of {}", pair[0].frame),
            &pair[1].frame,
        )
    })
}

/// Each stream is in the order of versions, so all tell one order when a version is the same change
/// to all.
fn disagreements(streams: &[Stream<'_>]) -> Vec<Violation> {
    let mut told: BTreeMap<ResourceVersion, (&ObjectKey, usize)> = BTreeMap::new();
    let mut violations = Vec::new();
    for stream in streams {
        let events = stream
            .live
            .iter()
            .filter_map(|received| received.frame.event());
        // When something missed was deleted is a guess.
        let dated = events.filter(|(event_type, object)| {
            *event_type != EventType::Deleted || stream.gap_at(object.version).is_none()
        });
        for (event_type, object) in dated {
            let (key, first) = *told
                .entry(object.version)
                .or_insert((&object.key, stream.number));
            if *key != object.key {
                violations.push(Violation::new(
                    stream,
                    format_args!("@{} to be {key}, as on watch {first}", object.version),
                    format_args!("{event_type} {object}"),
                ));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{Script, added, after, bookmark, deleted, modified};

    #[test]
    fn versions_that_only_grow_are_in_order() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), added("a/y", 2), bookmark(2)]);
        assert_kept("ordered", &script);
    }

    #[test]
    fn an_event_before_its_predecessor_is_out_of_order() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/y", 2), added("a/x", 1)]);
        assert_broken(
            "ordered",
            &script,
            "a version not before that of ADDED a/y @2",
        );
    }

    #[test]
    fn a_bookmark_before_an_earlier_event_is_out_of_order() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), added("a/y", 2), bookmark(1)]);
        assert_broken(
            "ordered",
            &script,
            "a version not before that of ADDED a/y @2",
        );
    }

    #[test]
    fn two_streams_that_give_one_version_to_two_objects_disagree() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), modified("a/x", 5)]);
        script.watch(after(0), [added("a/x", 1), deleted("a/y", 2, 5)]);
        assert_broken("ordered", &script, "@5 to be a/x, as on watch 0");
    }
}
