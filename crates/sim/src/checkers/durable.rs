//! durable: what was acknowledged stays, and a version is used once, whatever the server suffers.

use std::collections::BTreeMap;

use listwatch_api::ResourceVersion;

use super::{Case, Checker, Violation};
use crate::history::{Freshness, List, ListEnd, ObjectKey, ObjectVersion, Restart, WriteOutcome};

pub(super) const CHECKER: Checker = Checker {
    name: "durable",
    promise: "An acknowledged write survives kill -9 and a torn tail. A resourceVersion is never \
              used twice, not even after a crash.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut violations: Vec<_> = reused_versions(case).collect();
    violations.extend(versions_from_the_past(case));
    for restart in &case.history.restarts {
        violations.extend(lost_writes(case, restart));
    }
    violations
}

fn reused_versions<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    case.model.reuses().iter().map(|reuse| {
        Violation::new(
            format_args!("resourceVersion {}", reuse.first.version),
            format_args!("one change: {}", reuse.first),
            &reuse.second,
        )
    })
}

/// A new version is later than every version that anybody had seen when the write was sent.
fn versions_from_the_past<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let writes = case.history.writes.iter().enumerate();
    writes.filter_map(|(number, write)| {
        let stored = write.stored()?;
        let known = case.timeline.newest_before(write.began);
        (stored.version <= known).then(|| {
            Violation::new(
                format_args!("write {number} of {} by {}", write.key, write.answerer),
                format_args!("a version after @{known}, which had been seen before"),
                stored,
            )
        })
    })
}

/// Every acknowledged write is in every list after the restart, unless a later one took its place.
fn lost_writes(case: &Case<'_>, restart: &Restart) -> Vec<Violation> {
    let acknowledged = acknowledged_before(case, restart);
    let lists = case.history.lists.iter().enumerate();
    let after_restart = lists.filter(|(_, list)| {
        list.began > restart.ended
            && list.end == ListEnd::Complete
            && list.freshness == Freshness::MostRecent
            && list.selection.is_everything()
    });
    let mut violations = Vec::new();
    for (number, list) in after_restart {
        let place = format!("list {number} by {}, after a restart", list.answerers());
        let items: BTreeMap<_, _> = list.items().map(|item| (&item.key, item)).collect();
        for (key, version) in &acknowledged {
            let seen = items.get(key).copied();
            let explained = is_explained(case, list, (key, *version), seen);
            if !explained {
                let expected = format_args!("{key} as acknowledged @{version} or later");
                let seen =
                    seen.map_or_else(|| "nothing under that name".to_owned(), ToString::to_string);
                violations.push(Violation::new(&place, expected, seen));
            }
        }
    }
    violations
}

/// The version of the last acknowledged write of each object before the server stopped.
fn acknowledged_before<'a>(
    case: &'a Case<'_>,
    restart: &Restart,
) -> BTreeMap<&'a ObjectKey, ResourceVersion> {
    let mut last = BTreeMap::new();
    let writes = case.history.writes.iter();
    for write in writes.filter(|write| write.ended < restart.began) {
        let version = match &write.outcome {
            WriteOutcome::Stored(object) => Some(object.version),
            WriteOutcome::Deleted { uid } => case.model.deletion_of(&write.key, uid),
            WriteOutcome::Refused(_) | WriteOutcome::Unknown => None,
        };
        if let Some(version) = version {
            let newest = last.entry(&write.key).or_insert(version);
            *newest = version.max(*newest);
        }
    }
    last
}

/// Whether what a list shows can be, after this write was acknowledged at this version.
fn is_explained(
    case: &Case<'_>,
    list: &List,
    (key, acknowledged): (&ObjectKey, ResourceVersion),
    seen: Option<&ObjectVersion>,
) -> bool {
    if let Some(item) = seen {
        return item.version >= acknowledged;
    }
    let deleted = |at| case.model.state_at(key, at).is_none();
    list.at()
        .is_some_and(|at| at >= acknowledged && deleted(at))
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{Script, added, after, deleted, object};

    #[test]
    fn writes_that_are_there_after_the_restart_are_durable() {
        let mut script = Script::two_objects();
        script.delete("a/y");
        script.watch(
            after(0),
            [added("a/x", 1), added("a/y", 2), deleted("a/y", 2, 3)],
        );
        script.restart();
        script.list(3, [object("a/x", 1, &[])]);
        script.update("a/x", 1, 4);
        assert_kept("durable", &script);
    }

    #[test]
    fn an_acknowledged_create_that_is_gone_after_the_restart_is_lost() {
        let mut script = Script::two_objects();
        script.restart();
        script.list(2, [object("a/x", 1, &[])]);
        assert_broken("durable", &script, "a/y as acknowledged @2 or later");
    }

    #[test]
    fn an_acknowledged_update_that_is_undone_by_the_restart_is_lost() {
        let mut script = Script::two_objects();
        script.update("a/x", 1, 3);
        script.restart();
        script.list(3, [object("a/x", 1, &[]), object("a/y", 2, &[])]);
        assert_broken("durable", &script, "a/x as acknowledged @3 or later");
    }

    #[test]
    fn an_acknowledged_delete_that_is_undone_by_the_restart_is_lost() {
        let mut script = Script::two_objects();
        script.delete("a/y");
        script.watch(
            after(0),
            [added("a/x", 1), added("a/y", 2), deleted("a/y", 2, 3)],
        );
        script.restart();
        script.list(3, [object("a/x", 1, &[]), object("a/y", 2, &[])]);
        assert_broken("durable", &script, "a/y as acknowledged @3 or later");
    }

    #[test]
    fn a_version_given_to_two_writes_is_seen() {
        let mut script = Script::two_objects();
        script.restart();
        let mut reused = object("a/z", 3, &[]);
        reused.version = listwatch_api::ResourceVersion::new(2);
        script.put(crate::history::WriteRequest::Create, reused);
        assert_broken("durable", &script, "one change: a/y @2");
    }

    #[test]
    fn a_version_before_one_that_was_seen_is_a_step_back() {
        let mut script = Script::two_objects();
        script.watch(after(2), [crate::history::script::bookmark(9)]);
        script.restart();
        script.create("a/z", 5);
        assert_broken(
            "durable",
            &script,
            "a version after @9, which had been seen before",
        );
    }
}
