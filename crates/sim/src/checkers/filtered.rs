//! filtered: an event says what a change means to those who asked for a selection.

use super::{Case, Checker, Violation};
use crate::{
    history::{Frame, ObjectVersion},
    model::{Expected, Model},
    stream::Stream,
};

pub(super) const CHECKER: Checker = Checker {
    name: "filtered",
    promise: "Leaving the selector shows as DELETED with the last matching state and the new \
              resourceVersion, entering as ADDED, and nothing comes that was not asked for.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for stream in &case.streams {
        violations.extend(uninvited_state(stream));
        let frames = stream.live.iter().map(|received| &received.frame);
        violations.extend(frames.filter_map(|frame| misreported(case.model, stream, frame)));
    }
    violations
}

fn uninvited_state<'a>(stream: &'a Stream<'_>) -> impl Iterator<Item = Violation> + 'a {
    let frames = stream.initial.iter().map(|received| &received.frame);
    let wrong = frames.filter(|frame| match frame {
        Frame::Added(object) => !stream.watch.selection.matches(object),
        Frame::Modified(_) | Frame::Deleted(_) => true,
        Frame::Bookmark(_) | Frame::InitialEventsEnd(_) => false,
    });
    wrong.map(move |frame| {
        let expected = "the state as ADDED events of selected objects";
        Violation::new(stream, expected, frame)
    })
}

fn misreported(model: &Model, stream: &Stream<'_>, frame: &Frame) -> Option<Violation> {
    let (event_type, object) = frame.event()?;
    match stream.expected_at(model, object) {
        Some(expected) if expected.event_type == event_type && says_same(&expected, object) => None,
        Some(expected) => Some(Violation::new(
            stream,
            format_args!("{expected}: {}", expected.object.content),
            format_args!("{frame}: {}", object.content),
        )),
        None => {
            let expected = format_args!("no event for what was asked for @{}", object.version);
            Some(Violation::new(stream, expected, frame))
        }
    }
}

fn says_same(expected: &Expected<'_>, object: &ObjectVersion) -> bool {
    expected.version == object.version && expected.object.same_state(object)
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{
        Script, added, after, at, deleted, initial_end, modified, object, state,
    };
    use crate::history::{Frame, ObjectVersion, WriteRequest};
    use crate::selection::{LabelCondition, Selection};

    fn painted(version: u64, color: &str) -> ObjectVersion {
        object("a/x", version, &[("color", color)])
    }

    /// `a/x` is red at 1, blue at 2, red at 3, gone at 4.
    fn repainted() -> Script {
        let mut script = Script::new();
        script.put(WriteRequest::Create, painted(1, "red"));
        script.put(WriteRequest::Patch, painted(2, "blue"));
        script.put(WriteRequest::Patch, painted(3, "red"));
        script.delete("a/x");
        let frames = [
            Frame::Added(painted(1, "red")),
            Frame::Modified(painted(2, "blue")),
            Frame::Modified(painted(3, "red")),
            Frame::Deleted(at(4, painted(3, "red"))),
        ];
        script.watch(after(0), frames);
        script
    }

    fn red() -> Selection {
        Selection::everything().label(LabelCondition::Equals("color".to_owned(), "red".to_owned()))
    }

    #[test]
    fn leaving_and_entering_the_selection_show_as_deleted_and_added() {
        let mut script = repainted();
        let frames = [
            Frame::Added(painted(1, "red")),
            Frame::Deleted(at(2, painted(1, "red"))),
            Frame::Added(painted(3, "red")),
            Frame::Deleted(at(4, painted(3, "red"))),
        ];
        script.watch(after(0), frames).selection = red();
        assert_kept("filtered", &script);
    }

    #[test]
    fn leaving_with_the_new_state_is_seen() {
        let mut script = repainted();
        let frames = [
            Frame::Added(painted(1, "red")),
            Frame::Deleted(painted(2, "blue")),
        ];
        script.watch(after(0), frames).selection = red();
        assert_broken("filtered", &script, "DELETED a/x @2");
    }

    #[test]
    fn leaving_without_a_new_version_is_seen() {
        let mut script = repainted();
        let frames = [
            Frame::Added(painted(1, "red")),
            Frame::Deleted(painted(1, "red")),
        ];
        script.watch(after(0), frames).selection = red();
        assert_broken("filtered", &script, "ADDED a/x @1");
    }

    #[test]
    fn entering_as_a_modification_is_seen() {
        let mut script = repainted();
        script
            .watch(after(2), [Frame::Modified(painted(3, "red"))])
            .selection = red();
        assert_broken("filtered", &script, "ADDED a/x @3");
    }

    #[test]
    fn an_object_that_was_not_asked_for_is_seen() {
        let mut script = Script::two_objects();
        script.create("b/z", 3);
        script.watch(after(2), [added("b/z", 3)]).selection = Selection::namespace("a");
        assert_broken("filtered", &script, "no event for what was asked for @3");
    }

    #[test]
    fn an_object_in_the_state_that_was_not_asked_for_is_seen() {
        let mut script = repainted();
        script
            .watch(state(), [Frame::Added(painted(2, "blue")), initial_end(2)])
            .selection = red();
        assert_broken(
            "filtered",
            &script,
            "the state as ADDED events of selected objects",
        );
    }

    #[test]
    fn a_creation_reported_as_a_modification_is_seen() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), modified("a/y", 2)]);
        assert_broken("filtered", &script, "ADDED a/y @2");
    }

    #[test]
    fn a_deletion_without_the_last_state_is_seen() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.delete("a/x");
        script.watch(after(2), [modified("a/x", 3), deleted("a/x", 1, 4)]);
        assert_broken("filtered", &script, "DELETED a/x @4");
    }
}
