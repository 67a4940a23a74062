//! exclusive: of all updates against one version exactly one wins, and the others change nothing.

use std::collections::BTreeMap;

use listwatch_api::ResourceVersion;

use super::{Case, Checker, Violation};
use crate::{
    history::{Moment, ObjectVersion, Refusal, Token, Write, WriteOutcome, WriteRequest},
    model::Change,
};

pub(super) const CHECKER: Checker = Checker {
    name: "exclusive",
    promise: "Of N updates against one resourceVersion exactly one wins; a refused write changes \
              nothing.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let began: BTreeMap<Token, Moment> = case
        .history
        .writes
        .iter()
        .map(|write| (write.token, write.began))
        .collect();
    let mut violations = Vec::new();
    for (number, write) in case.history.writes.iter().enumerate() {
        let place = format!("write {number} of {} by {}", write.key, write.answerer);
        violations.extend(wrong_winner(case, write, &place));
        violations.extend(wrong_answer(write, &place));
        violations.extend(groundless_conflict(case, write, &began, &place));
        violations.extend(refused_but_done(case, write, &place));
    }
    violations
}

/// A write that won found the object in the state it was meant for.
fn wrong_winner(case: &Case<'_>, write: &Write, place: &str) -> Option<Violation> {
    let version = match &write.outcome {
        WriteOutcome::Stored(object) => object.version,
        WriteOutcome::Deleted { uid } => case.model.deletion_of(&write.key, uid)?,
        WriteOutcome::Refused(_) | WriteOutcome::Unknown => return None,
    };
    let before = case.model.state_before(&write.key, version);
    let found = before.map(|state| state.version);
    let (right, expected) = match write.request {
        WriteRequest::Create => (found.is_none(), "no object of that name".to_owned()),
        WriteRequest::Update { against }
        | WriteRequest::Delete {
            against: Some(against),
        } => (
            found == Some(against),
            format!("the object still @{against}"),
        ),
        WriteRequest::Patch | WriteRequest::Delete { against: None } => {
            (found.is_some(), "an object to change".to_owned())
        }
    };
    (!right).then(|| {
        let seen = before.map_or_else(|| "no object".to_owned(), ToString::to_string);
        let expected = format_args!("to win @{version} only over {expected}");
        Violation::new(place, expected, format_args!("it won over {seen}"))
    })
}

/// The answer to a write is what it wrote.
fn wrong_answer(write: &Write, place: &str) -> Option<Violation> {
    let stored = write.stored()?;
    let own = |object: &ObjectVersion| object.token == Some(write.token) && object.key == write.key;
    (!own(stored)).then(|| {
        let expected = format_args!(
            "the answer to be its own content, of write {}",
            write.token.0
        );
        Violation::new(place, expected, stored)
    })
}

/// Who is told of a conflict was overtaken by another write.
fn groundless_conflict(
    case: &Case<'_>,
    write: &Write,
    began: &BTreeMap<Token, Moment>,
    place: &str,
) -> Option<Violation> {
    let against = match (&write.outcome, write.request) {
        (
            WriteOutcome::Refused(Refusal::Conflict),
            WriteRequest::Update { against }
            | WriteRequest::Delete {
                against: Some(against),
            },
        ) => against,
        _ => return None,
    };
    let mut changes = case.model.changes_of(&write.key);
    let overtaken = changes.any(|change| {
        change.version > against && begun_before(change, began).is_none_or(|at| at < write.ended)
    });
    (!overtaken).then(|| {
        let expected = format_args!("a conflict only when another write had changed @{against}");
        Violation::new(place, expected, "a conflict, and nobody had changed it")
    })
}

/// When the write that made a change was sent, if that is known.
fn begun_before(change: &Change, began: &BTreeMap<Token, Moment>) -> Option<Moment> {
    let token = change.state()?.token?;
    began.get(&token).copied()
}

fn refused_but_done(case: &Case<'_>, write: &Write, place: &str) -> Option<Violation> {
    let WriteOutcome::Refused(refusal) = &write.outcome else {
        return None;
    };
    let versions = case.model.versions_by_token().get(&write.token)?;
    let version: ResourceVersion = *versions.first()?;
    Some(Violation::new(
        place,
        format_args!("no change, since it was refused: {refusal:?}"),
        format_args!("its content @{version}"),
    ))
}

#[cfg(test)]
mod tests {
    use listwatch_api::ResourceVersion;

    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{Script, added, after, at, deleted, modified, object};
    use crate::history::{Refusal, WriteOutcome, WriteRequest};

    fn against(version: u64) -> WriteRequest {
        WriteRequest::Update {
            against: ResourceVersion::new(version),
        }
    }

    fn conflict() -> WriteOutcome {
        WriteOutcome::Refused(Refusal::Conflict)
    }

    #[test]
    fn one_winner_and_losers_that_were_overtaken_are_exclusive() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.failed("a/x", 90, against(1), conflict());
        script.failed("a/x", 91, against(1), WriteOutcome::Unknown);
        assert_kept("exclusive", &script);
    }

    #[test]
    fn a_loser_may_have_been_overtaken_by_a_write_without_an_answer() {
        let mut script = Script::two_objects();
        script.failed("a/x", 3, against(1), WriteOutcome::Unknown);
        script.failed("a/x", 90, against(1), conflict());
        script.watch(after(2), [modified("a/x", 3)]);
        assert_kept("exclusive", &script);
    }

    #[test]
    fn two_winners_against_one_version_are_seen() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.update("a/x", 1, 4);
        assert_broken(
            "exclusive",
            &script,
            "to win @4 only over the object still @1",
        );
    }

    #[test]
    fn a_conflict_with_nobody_is_seen() {
        let mut script = Script::two_objects();
        script.failed("a/x", 90, against(1), conflict());
        assert_broken(
            "exclusive",
            &script,
            "a conflict only when another write had changed @1",
        );
    }

    #[test]
    fn a_conflict_with_a_later_write_is_seen() {
        let mut script = Script::two_objects();
        script.failed("a/x", 90, against(1), conflict());
        script.update("a/x", 1, 3);
        assert_broken(
            "exclusive",
            &script,
            "a conflict only when another write had changed @1",
        );
    }

    #[test]
    fn two_creates_of_one_name_are_seen() {
        let mut script = Script::two_objects();
        script.create("a/x", 3);
        assert_broken(
            "exclusive",
            &script,
            "to win @3 only over no object of that name",
        );
    }

    #[test]
    fn a_create_after_a_delete_is_right() {
        let mut script = Script::two_objects();
        script.delete("a/x");
        script.watch(after(2), [deleted("a/x", 1, 3)]);
        script.create("a/x", 4);
        assert_kept("exclusive", &script);
    }

    #[test]
    fn a_patch_that_brings_back_a_deleted_object_is_seen() {
        let mut script = Script::two_objects();
        script.delete("a/x");
        script.watch(after(2), [deleted("a/x", 1, 3)]);
        script.put(WriteRequest::Patch, object("a/x", 4, &[]));
        assert_broken(
            "exclusive",
            &script,
            "to win @4 only over an object to change",
        );
    }

    #[test]
    fn a_refused_write_that_happened_is_seen() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.failed("a/x", 4, against(1), conflict());
        script.watch(
            after(0),
            [
                added("a/x", 1),
                added("a/y", 2),
                modified("a/x", 3),
                modified("a/x", 4),
            ],
        );
        assert_broken("exclusive", &script, "no change, since it was refused");
    }

    #[test]
    fn an_answer_with_the_content_of_another_write_is_seen() {
        let mut script = Script::two_objects();
        script
            .put(WriteRequest::Patch, at(3, object("a/x", 7, &[])))
            .token = crate::history::Token(3);
        assert_broken(
            "exclusive",
            &script,
            "the answer to be its own content, of write 3",
        );
    }
}
