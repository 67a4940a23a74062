//! fresh: a read without resourceVersion sees all that was acknowledged, or shown, before it began.

use listwatch_api::ResourceVersion;

use super::{Case, Checker, Violation};
use crate::{
    history::{
        Bookmarks, Freshness, Moment, ObjectKey, ObjectVersion, Refusal, WatchStart, WriteOutcome,
    },
    stream::Beginning,
};

pub(super) const CHECKER: Checker = Checker {
    name: "fresh",
    promise: "A read without resourceVersion sees every write acknowledged before it began.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations: Vec<_> = stale_lists(case).collect();
    violations.extend(stale_states(case));
    violations.extend(stale_reads(case));
    violations.extend(stale_refusals(case));
    violations
}

fn stale_lists<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let lists = case.history.lists.iter().enumerate();
    let recent = lists.filter(|(_, list)| list.freshness == Freshness::MostRecent);
    recent.filter_map(|(number, list)| {
        let place = format!("list {number} by {} ({})", list.answerers(), list.selection);
        too_old(case, list.began, list.at()?, &place)
    })
}

/// Only a marked state says which version it is of.
fn stale_states<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let streams = case.streams.iter().filter(|stream| {
        stream.watch.start == WatchStart::State(Freshness::MostRecent)
            && stream.watch.bookmarks == Bookmarks::Wanted
    });
    streams.filter_map(|stream| match stream.beginning {
        Beginning::State(at) => too_old(case, stream.watch.began, at, &stream.to_string()),
        Beginning::After(_) | Beginning::PartOfState | Beginning::Unexplained => None,
    })
}

fn too_old(case: &Case<'_>, began: Moment, at: ResourceVersion, place: &str) -> Option<Violation> {
    let known = case.timeline.newest_before(began);
    (at < known).then(|| {
        let expected =
            format_args!("a state that includes @{known}, known before it was asked for");
        Violation::new(place, expected, format_args!("the state @{at}"))
    })
}

fn stale_reads<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let reads = case.history.reads.iter().enumerate();
    reads.filter_map(|(number, read)| {
        let place = format!("read {number} of {} by {}", read.key, read.answerer);
        let known = case.timeline.newest_before(read.began);
        let true_then = match &read.seen {
            Some(seen) => was_there(case, seen, known),
            None => was_absent(case, &read.key, known),
        };
        (!true_then).then(|| {
            let seen = read.seen.as_ref();
            let seen = seen.map_or_else(|| "no such object".to_owned(), ToString::to_string);
            Violation::new(place, format_args!("its state @{known} or later"), seen)
        })
    })
}

/// A refusal for what there is or is not has read just that.
fn stale_refusals<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let writes = case.history.writes.iter().enumerate();
    writes.filter_map(|(number, write)| {
        let known = case.timeline.newest_before(write.began);
        let (true_then, answer) = match &write.outcome {
            WriteOutcome::Refused(Refusal::NotFound) => {
                (was_absent(case, &write.key, known), "not found")
            }
            WriteOutcome::Refused(Refusal::AlreadyExists) => {
                (was_present(case, &write.key, known), "already exists")
            }
            _ => return None,
        };
        (!true_then).then(|| {
            let place = format!("write {number} of {} by {}", write.key, write.answerer);
            let expected = format_args!("an answer true of its state @{known} or later");
            Violation::new(place, expected, answer)
        })
    })
}

/// Whether this was the object's state at `known` or became it later.
fn was_there(case: &Case<'_>, seen: &ObjectVersion, known: ResourceVersion) -> bool {
    let since = seen.version.max(known);
    let state = case.model.state_at(&seen.key, since);
    state.is_some_and(|state| state == seen)
}

fn was_absent(case: &Case<'_>, key: &ObjectKey, known: ResourceVersion) -> bool {
    let mut changes = case.model.changes_of(key);
    case.model.state_at(key, known).is_none()
        || changes.any(|change| change.version > known && change.state().is_none())
}

fn was_present(case: &Case<'_>, key: &ObjectKey, known: ResourceVersion) -> bool {
    let mut changes = case.model.changes_of(key);
    case.model.state_at(key, known).is_some()
        || changes.any(|change| change.version > known && change.state().is_some())
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{Script, added, after, deleted, initial_end, object, state};
    use crate::history::{Freshness, Moment, Refusal, WriteOutcome, WriteRequest};

    #[test]
    fn reads_that_see_all_before_them_are_fresh() {
        let mut script = Script::two_objects();
        script.list(2, [object("a/x", 1, &[]), object("a/y", 2, &[])]);
        script.watch(state(), [added("a/x", 1), added("a/y", 2), initial_end(2)]);
        script.read("a/x", Some(object("a/x", 1, &[])));
        script.read("a/q", None);
        let refused = WriteOutcome::Refused(Refusal::AlreadyExists);
        script.failed("a/x", 9, WriteRequest::Create, refused);
        assert_kept("fresh", &script);
    }

    #[test]
    fn a_list_may_miss_what_was_written_while_it_ran() {
        let mut script = Script::new();
        script.create("a/x", 1);
        script.create("a/y", 2).ended = Moment(9);
        script.list(1, [object("a/x", 1, &[])]);
        assert_kept("fresh", &script);
    }

    #[test]
    fn a_list_of_any_age_may_be_old() {
        let mut script = Script::two_objects();
        script.list(1, [object("a/x", 1, &[])]).freshness = Freshness::Any;
        assert_kept("fresh", &script);
    }

    #[test]
    fn a_list_that_misses_an_acknowledged_write_is_stale() {
        let mut script = Script::two_objects();
        script.list(1, [object("a/x", 1, &[])]);
        assert_broken("fresh", &script, "a state that includes @2");
    }

    #[test]
    fn a_watch_that_begins_with_an_old_state_is_stale() {
        let mut script = Script::two_objects();
        script.watch(state(), [added("a/x", 1), initial_end(1), added("a/y", 2)]);
        assert_broken("fresh", &script, "a state that includes @2");
    }

    #[test]
    fn an_old_state_of_an_object_is_stale() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.read("a/x", Some(object("a/x", 1, &[])));
        assert_broken("fresh", &script, "its state @3 or later");
    }

    #[test]
    fn an_object_that_is_not_found_although_it_exists_is_stale() {
        let mut script = Script::two_objects();
        script.read("a/x", None);
        assert_broken("fresh", &script, "its state @2 or later");
    }

    #[test]
    fn a_refusal_for_an_object_that_is_long_gone_is_stale() {
        let mut script = Script::two_objects();
        script.delete("a/x");
        script.watch(
            after(0),
            [added("a/x", 1), added("a/y", 2), deleted("a/x", 1, 3)],
        );
        let refused = WriteOutcome::Refused(Refusal::AlreadyExists);
        script.failed("a/x", 9, WriteRequest::Create, refused);
        assert_broken("fresh", &script, "an answer true of its state @3 or later");
    }

    #[test]
    fn a_refusal_for_want_of_an_object_that_exists_is_stale() {
        let mut script = Script::two_objects();
        let refused = WriteOutcome::Refused(Refusal::NotFound);
        script.failed("a/x", 9, WriteRequest::Patch, refused);
        assert_broken("fresh", &script, "an answer true of its state @2 or later");
    }
}
