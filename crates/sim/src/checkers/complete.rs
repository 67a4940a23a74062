//! complete: between the first and the last version of a stream nothing is missing.

use std::collections::BTreeSet;

use listwatch_api::ResourceVersion;

use super::{Case, Checker, Violation};
use crate::{
    history::WriteOutcome,
    model::Model,
    stream::{Beginning, Stream},
};

pub(super) const CHECKER: Checker = Checker {
    name: "complete",
    promise: "Between the first and last resourceVersion of a stream there is no gap in what was \
              asked for.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for stream in &case.streams {
        if let (Some(from), Some(through)) = (first(stream), stream.through()) {
            violations.extend(missing(case.model, stream, from, through));
        }
    }
    violations.extend(unseen_deletes(case));
    violations
}

/// Where this promise begins. What lies between the version resumed from and the first frame is
/// judged as `resumable`.
fn first(stream: &Stream<'_>) -> Option<ResourceVersion> {
    match stream.beginning {
        Beginning::State(version) => Some(version),
        Beginning::After(_) => stream.live.first().map(|received| received.frame.version()),
        Beginning::PartOfState | Beginning::Unexplained => None,
    }
}

/// The events after `after` up to `through` that the stream did not bring.
pub(super) fn missing<'a>(
    model: &'a Model,
    stream: &'a Stream<'_>,
    after: ResourceVersion,
    through: ResourceVersion,
) -> impl Iterator<Item = Violation> + 'a {
    let events = stream
        .live
        .iter()
        .filter_map(|received| received.frame.event());
    let seen: BTreeSet<_> = events
        .map(|(_, object)| (object.version, &object.key))
        .collect();
    let expected = stream.expected(model, after, through).into_iter();
    let missing = expected.filter(move |event| !seen.contains(&(event.version, &event.object.key)));
    missing.map(move |event| {
        Violation::new(
            stream,
            event,
            format_args!("no such event, though the stream went on to @{through}"),
        )
    })
}

/// An acknowledged delete names no version, so the witness must have seen its event.
fn unseen_deletes<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let writes = case.history.writes.iter().enumerate();
    writes.filter_map(|(number, write)| match &write.outcome {
        WriteOutcome::Deleted { uid } if case.model.deletion_of(&write.key, uid).is_none() => {
            Some(Violation::new(
                format_args!("write {number}, an acknowledged delete of {}", write.key),
                "a DELETED event for it on a stream of all objects",
                "none",
            ))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{
        Script, added, after, bookmark, deleted, drained, initial_end, modified, object, state,
    };
    use crate::history::{Answerer, Bookmarks, Frame, Moment, WriteRequest};
    use crate::selection::{LabelCondition, Selection};

    #[test]
    fn every_change_on_the_stream_is_complete() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.delete("a/y");
        let frames = [
            added("a/x", 1),
            added("a/y", 2),
            modified("a/x", 3),
            deleted("a/y", 2, 4),
        ];
        script.watch(after(0), frames).ending = drained(4);
        assert_kept("complete", &script);
    }

    #[test]
    fn a_change_left_out_between_two_events_is_a_gap() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.watch(after(0), [added("a/x", 1), modified("a/x", 3)]);
        assert_broken("complete", &script, "ADDED a/y @2");
    }

    #[test]
    fn a_change_left_out_before_a_bookmark_is_a_gap() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), bookmark(2)]);
        assert_broken("complete", &script, "ADDED a/y @2");
    }

    #[test]
    fn a_change_after_the_initial_state_that_never_comes_is_a_gap() {
        let mut script = Script::two_objects();
        script
            .watch(state(), [added("a/x", 1), initial_end(1)])
            .ending = drained(2);
        assert_broken("complete", &script, "ADDED a/y @2");
    }

    #[test]
    fn a_change_that_never_comes_at_the_end_of_the_run_is_a_gap() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1)]).ending = drained(2);
        assert_broken("complete", &script, "ADDED a/y @2");
    }

    #[test]
    fn what_was_not_asked_for_is_no_gap() {
        let mut script = Script::new();
        let red = [("color", "red")];
        script.put(WriteRequest::Create, object("a/x", 1, &red));
        script.create("b/y", 2);
        script.put(WriteRequest::Create, object("a/z", 3, &red));
        let only_red = LabelCondition::Equals("color".to_owned(), "red".to_owned());
        let frames = [1, 3].map(|version| {
            let name = if version == 1 { "a/x" } else { "a/z" };
            Frame::Added(object(name, version, &red))
        });
        script.watch(after(0), frames).selection = Selection::namespace("a").label(only_red);
        assert_kept("complete", &script);
    }

    #[test]
    fn an_acknowledged_delete_that_no_stream_shows_is_a_gap() {
        let mut script = Script::two_objects();
        script.delete("a/x");
        script.watch(after(0), [added("a/x", 1), added("a/y", 2)]);
        assert_broken("complete", &script, "a DELETED event for it");
    }

    #[test]
    fn a_state_without_an_end_mark_is_followed_from_where_it_fits() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.create("a/z", 4);
        let frames = [
            modified_as_added("a/x", 3),
            added("a/y", 2),
            added("a/z", 4),
        ];
        let watch = script.watch(state(), frames);
        watch.bookmarks = Bookmarks::Unwanted;
        watch.ending = drained(4);
        assert_kept("complete", &script);
    }

    /// `a/x` was changed twice, `a/y` deleted and `a/z` created while the server missed it.
    fn missed() -> Script {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.delete("a/y");
        script.update("a/x", 3, 5);
        script.create("a/z", 6);
        let store = script.watch(
            after(0),
            [
                added("a/x", 1),
                added("a/y", 2),
                modified("a/x", 3),
                deleted("a/y", 2, 4),
                modified("a/x", 5),
                added("a/z", 6),
            ],
        );
        store.answerer = Answerer::Store;
        script.gap(2, 6);
        script
    }

    #[test]
    fn of_changes_that_the_server_missed_the_difference_is_all() {
        let mut script = missed();
        let frames = [deleted("a/y", 2, 3), modified("a/x", 5), added("a/z", 6)];
        script.watch(after(2), frames).ending = drained(6);
        assert_kept("complete", &script);
    }

    #[test]
    fn a_part_of_the_difference_that_never_comes_is_a_gap() {
        let mut script = missed();
        let frames = [modified("a/x", 5), added("a/z", 6)];
        script.watch(after(2), frames).ending = drained(6);
        assert_broken("resumable", &script, "DELETED a/y @3");
        let mut script = missed();
        let frames = [deleted("a/y", 2, 3), modified("a/x", 5)];
        script.watch(after(2), frames).ending = drained(6);
        assert_broken("complete", &script, "ADDED a/z @6");
    }

    #[test]
    fn what_a_later_life_of_the_server_missed_an_earlier_one_must_tell() {
        let mut script = missed();
        script.history.gaps[0].since = script.tick();
        let frames = [deleted("a/y", 2, 3), modified("a/x", 5), added("a/z", 6)];
        let watch = script.watch(after(2), frames);
        watch.began = Moment(0);
        watch.ending = drained(6);
        assert_broken("resumable", &script, "MODIFIED a/x @3");
    }

    #[test]
    fn a_server_that_missed_nothing_must_tell_everything() {
        let mut script = missed();
        let frames = [deleted("a/y", 2, 3), modified("a/x", 5), added("a/z", 6)];
        let watch = script.watch(after(2), frames);
        watch.answerer = Answerer::Server(1);
        watch.ending = drained(6);
        assert_broken("resumable", &script, "MODIFIED a/x @3");
    }

    fn modified_as_added(name: &str, version: u64) -> Frame {
        Frame::Added(object(name, version, &[]))
    }
}
