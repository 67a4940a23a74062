//! bookmarked: nothing at or before a bookmark comes after it.

use super::{Case, Checker, Violation};
use crate::{
    history::{Bookmarks, Ending, Frame},
    stream::{Beginning, Stream},
};

pub(super) const CHECKER: Checker = Checker {
    name: "bookmarked",
    promise: "Nothing at or before a bookmark comes after it; who asked for bookmarks gets one \
              before the server ends a stream on which anything happened.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for stream in &case.streams {
        violations.extend(after_a_bookmark(stream));
        violations.extend(uninvited(stream));
        violations.extend(without_a_last_one(stream));
    }
    violations
}

fn after_a_bookmark(stream: &Stream<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut last = None;
    for received in &stream.watch.frames {
        let frame = &received.frame;
        if let (Some(last), Some(_)) = (last, frame.event())
            && frame.version() <= last
        {
            let expected = format_args!("nothing at or before the bookmark @{last}");
            violations.push(Violation::new(stream, expected, frame));
        }
        match (frame, last) {
            (Frame::Bookmark(version) | Frame::InitialEventsEnd(version), Some(last))
                if *version < last =>
            {
                let expected = format_args!("no bookmark before the bookmark @{last}");
                violations.push(Violation::new(stream, expected, frame));
            }
            (Frame::Bookmark(version) | Frame::InitialEventsEnd(version), _) => {
                last = Some(*version);
            }
            (Frame::Added(_) | Frame::Modified(_) | Frame::Deleted(_), _) => {}
        }
    }
    violations
}

fn uninvited<'a>(stream: &'a Stream<'_>) -> impl Iterator<Item = Violation> + 'a {
    let wanted = stream.watch.bookmarks == Bookmarks::Wanted;
    let resumed = matches!(stream.beginning, Beginning::After(_));
    let frames = stream.watch.frames.iter().map(|received| &received.frame);
    let uninvited = frames.filter(move |frame| match frame {
        Frame::Bookmark(_) => !wanted,
        Frame::InitialEventsEnd(_) => !wanted || resumed,
        Frame::Added(_) | Frame::Modified(_) | Frame::Deleted(_) => false,
    });
    uninvited.map(move |frame| Violation::new(stream, "no bookmark that was not asked for", frame))
}

fn without_a_last_one(stream: &Stream<'_>) -> Option<Violation> {
    let ended = stream.watch.ending == Ending::Closed;
    let unwanted = stream.watch.bookmarks == Bookmarks::Unwanted;
    // No version is true of a stream that ends in the middle of a state.
    if !ended || unwanted || stream.beginning == Beginning::PartOfState {
        return None;
    }
    let expected = "a bookmark as the last frame before the server ends the stream";
    match stream.watch.frames.last().map(|received| &received.frame) {
        Some(Frame::Bookmark(_) | Frame::InitialEventsEnd(_)) => None,
        // Nor of one that ends in the middle of a difference.
        Some(frame) if stream.gap_at(frame.version()).is_some() => None,
        Some(frame) => Some(Violation::new(stream, expected, frame)),
        // Nothing has happened: the client goes on from where it began.
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{Script, added, after, bookmark, initial_end, state};
    use crate::history::{Bookmarks, Ending};

    #[test]
    fn bookmarks_between_and_after_the_events_they_cover_are_true() {
        let mut script = Script::two_objects();
        let frames = [added("a/x", 1), bookmark(1), added("a/y", 2), bookmark(2)];
        script.watch(after(0), frames).ending = Ending::Closed;
        script.watch(state(), [added("a/x", 1), added("a/y", 2), initial_end(2)]);
        assert_kept("bookmarked", &script);
    }

    #[test]
    fn a_stream_on_which_nothing_happened_may_end_without_a_bookmark() {
        let mut script = Script::two_objects();
        script.watch(after(2), []).ending = Ending::Closed;
        assert_kept("bookmarked", &script);
    }

    #[test]
    fn an_event_after_the_bookmark_that_covers_it_is_seen() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), bookmark(2), added("a/y", 2)]);
        assert_broken(
            "bookmarked",
            &script,
            "nothing at or before the bookmark @2",
        );
    }

    #[test]
    fn a_bookmark_that_goes_back_is_seen() {
        let mut script = Script::two_objects();
        script.watch(
            after(0),
            [added("a/x", 1), added("a/y", 2), bookmark(2), bookmark(1)],
        );
        assert_broken("bookmarked", &script, "no bookmark before the bookmark @2");
    }

    #[test]
    fn a_bookmark_nobody_asked_for_is_seen() {
        let mut script = Script::two_objects();
        let frames = [added("a/x", 1), added("a/y", 2), bookmark(2)];
        script.watch(after(0), frames).bookmarks = Bookmarks::Unwanted;
        assert_broken("bookmarked", &script, "no bookmark that was not asked for");
    }

    #[test]
    fn an_end_of_a_state_that_was_not_sent_is_seen() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1), added("a/y", 2), initial_end(2)]);
        assert_broken("bookmarked", &script, "no bookmark that was not asked for");
    }

    #[test]
    fn a_stream_that_the_server_ends_without_a_bookmark_is_seen() {
        let mut script = Script::two_objects();
        script
            .watch(after(0), [added("a/x", 1), added("a/y", 2)])
            .ending = Ending::Closed;
        assert_broken("bookmarked", &script, "a bookmark as the last frame");
    }
}
