//! resumable: a watch goes on with exactly the next event, or says that it cannot.

use listwatch_api::ResourceVersion;

use super::{Case, Checker, Violation, complete};
use crate::{
    history::{Ending, WatchStart},
    stream::Stream,
};

pub(super) const CHECKER: Checker = Checker {
    name: "resumable",
    promise: "From any resourceVersion that a list, an event or a bookmark gave, a watch goes on \
              with exactly the next event, or says 410 Expired. Also after a restart.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for stream in &case.streams {
        let WatchStart::After(after, _) = stream.watch.start else {
            continue;
        };
        if let Some(first) = first_known(stream) {
            violations.extend(complete::missing(case.model, stream, after, first));
        }
        violations.extend(refusal(stream));
    }
    violations
}

/// How far the first frame reaches; without any frame, how far the whole stream does.
fn first_known(stream: &Stream<'_>) -> Option<ResourceVersion> {
    let first = stream.live.first().map(|received| received.frame.version());
    first.or_else(|| stream.through())
}

fn refusal(stream: &Stream<'_>) -> Option<Violation> {
    let Ending::Refused(reason) = &stream.watch.ending else {
        return None;
    };
    let expected = "the next event, or 410 Expired";
    Some(Violation::new(stream, expected, reason))
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::Ending;
    use crate::history::script::{Script, added, after, bookmark, drained, modified};

    fn three_writes() -> Script {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script
    }

    #[test]
    fn a_watch_that_goes_on_with_the_next_event_has_resumed() {
        let mut script = three_writes();
        script.watch(after(1), [added("a/y", 2), modified("a/x", 3)]);
        script.watch(after(2), [modified("a/x", 3)]);
        script.watch(after(3), [bookmark(3)]);
        assert_kept("resumable", &script);
    }

    #[test]
    fn a_watch_that_is_told_to_list_again_has_been_told_the_truth() {
        let mut script = three_writes();
        script.watch(after(1), []).ending = Ending::Expired;
        assert_kept("resumable", &script);
    }

    #[test]
    fn an_event_skipped_before_the_first_one_is_a_silent_gap() {
        let mut script = three_writes();
        script.watch(after(1), [modified("a/x", 3)]);
        assert_broken("resumable", &script, "ADDED a/y @2");
    }

    #[test]
    fn a_bookmark_instead_of_the_next_event_is_a_silent_gap() {
        let mut script = three_writes();
        script.watch(after(2), [bookmark(3)]);
        assert_broken("resumable", &script, "MODIFIED a/x @3");
    }

    #[test]
    fn a_watch_that_never_goes_on_is_a_silent_gap() {
        let mut script = three_writes();
        script.watch(after(2), []).ending = drained(3);
        assert_broken("resumable", &script, "MODIFIED a/x @3");
    }

    #[test]
    fn a_refusal_that_is_not_410_is_no_answer() {
        let mut script = three_writes();
        script.watch(after(2), []).ending = Ending::Refused("504 Timeout".to_owned());
        assert_broken("resumable", &script, "or 410 Expired");
    }
}
