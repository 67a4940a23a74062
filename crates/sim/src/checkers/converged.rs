//! converged: a list, and the watch that goes on from it, add up to every later list.

use std::collections::BTreeMap;

use listwatch_api::{EventType, ResourceVersion};

use super::{Case, Checker, Violation};
use crate::{
    history::{Cached, List, ListEnd, ObjectKey, ObjectVersion},
    stream::{Beginning, Stream},
};

pub(super) const CHECKER: Checker = Checker {
    name: "converged",
    promise: "List at r, then the watch from r, folded, equals the list at any later r'.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let caches = caches(case);
    let mut violations = Vec::new();
    for (number, list) in complete_lists(case) {
        for cache in &caches {
            violations.extend(cache.difference(number, list));
        }
    }
    violations.extend(wrong_caches(case));
    violations
}

/// What a client has kept over all its streams is the state at the version it has come to.
fn wrong_caches<'a>(case: &'a Case<'_>) -> impl Iterator<Item = Violation> + 'a {
    let caches = case.history.caches.iter();
    let judged = caches.filter(|cached| {
        let mut gaps = case.history.gaps_of(cached.answerer);
        !gaps.any(|gap| gap.holds(cached.at) && cached.at < gap.through)
    });
    judged.filter_map(|cached| {
        let expected = case.model.list_at(&cached.selection, cached.at);
        let expected = contents(expected.into_iter());
        let cache: Contents<'_> = cached
            .contents
            .iter()
            .map(|(key, version)| (key, *version))
            .collect();
        (cache != expected).then(|| {
            let Cached {
                client,
                selection,
                answerer,
                at,
                ..
            } = cached;
            Violation::new(
                format_args!("the cache of watcher {client} at @{at}, by {answerer} ({selection})"),
                format_args!("beyond it: [{}]", only(&expected, &cache)),
                format_args!("what should not be there: [{}]", only(&cache, &expected)),
            )
        })
    })
}

/// What is in some and not, or not at the same version, in the other.
fn only(some: &Contents<'_>, other: &Contents<'_>) -> String {
    let differing = some
        .iter()
        .filter(|(key, version)| other.get(*key) != Some(version));
    let texts: Vec<String> = differing
        .map(|(key, version)| format!("{key} @{version}"))
        .collect();
    texts.join(", ")
}

/// What a client that follows a stream from a known state has at each version.
struct Cache<'a> {
    stream: &'a Stream<'a>,
    after: ResourceVersion,
    through: ResourceVersion,
    base: Contents<'a>,
}

/// The version of each object that there is.
type Contents<'a> = BTreeMap<&'a ObjectKey, ResourceVersion>;

fn complete_lists<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (usize, &'a List)> {
    let lists = case.history.lists.iter().enumerate();
    lists.filter(|(_, list)| list.end == ListEnd::Complete)
}

/// The streams whose beginning is known: from their own state, from a list at just that version, or
/// from another stream that had got there.
fn caches<'a>(case: &'a Case<'a>) -> Vec<Cache<'a>> {
    let mut streams: Vec<_> = case.streams.iter().collect();
    streams.sort_by_key(|stream| stream.after());
    let mut caches: Vec<Cache<'a>> = Vec::new();
    for stream in streams {
        let (Some(after), Some(through)) = (stream.after(), stream.through()) else {
            continue;
        };
        let base = match stream.beginning {
            Beginning::State(_) => Some(contents(stream.initial_objects())),
            _ => listed_at(case, stream, after).or_else(|| {
                let mut earlier = caches.iter();
                earlier.find_map(|cache| cache.handed_to(stream, after))
            }),
        };
        caches.extend(base.map(|base| Cache {
            stream,
            after,
            through,
            base,
        }));
    }
    caches
}

fn listed_at<'a>(
    case: &'a Case<'_>,
    stream: &Stream<'_>,
    at: ResourceVersion,
) -> Option<Contents<'a>> {
    let selection = &stream.watch.selection;
    let mut lists = complete_lists(case);
    let list = lists.find(|(_, list)| list.at() == Some(at) && list.selection == *selection);
    list.map(|(_, list)| contents(list.items()))
}

fn contents<'a>(objects: impl Iterator<Item = &'a ObjectVersion>) -> Contents<'a> {
    objects
        .map(|object| (&object.key, object.version))
        .collect()
}

impl<'a> Cache<'a> {
    fn at(&self, version: ResourceVersion) -> Contents<'a> {
        let mut contents = self.base.clone();
        let events = self
            .stream
            .live
            .iter()
            .filter_map(|received| received.frame.event());
        for (event_type, object) in events.filter(|(_, object)| object.version <= version) {
            if event_type == EventType::Deleted {
                contents.remove(&object.key);
            } else {
                contents.insert(&object.key, object.version);
            }
        }
        contents
    }

    fn covers(&self, version: ResourceVersion) -> bool {
        let gap = self.stream.gap_at(version);
        let missed = gap.is_some_and(|gap| version < gap.through);
        self.after <= version && version <= self.through && !missed
    }

    fn handed_to(&self, stream: &Stream<'_>, at: ResourceVersion) -> Option<Contents<'a>> {
        let same = self.stream.watch.selection == stream.watch.selection;
        (same && self.covers(at)).then(|| self.at(at))
    }

    fn difference(&self, number: usize, list: &List) -> Option<Violation> {
        let at = list.at().filter(|at| self.covers(*at))?;
        if list.selection != self.stream.watch.selection {
            return None;
        }
        let cached = self.at(at);
        let listed = contents(list.items());
        if cached == listed {
            return None;
        }
        Some(Violation::new(
            format_args!("{}, folded up to @{at}", self.stream),
            format_args!(
                "what list {number} has beyond it: [{}]",
                only(&listed, &cached)
            ),
            format_args!("what the list has not: [{}]", only(&cached, &listed)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::tests::{assert_broken, assert_kept};
    use crate::history::script::{
        Script, added, after, deleted, drained, initial_end, modified, object, state,
    };

    /// `a/x` created at 1, `a/y` at 2, `a/x` updated at 3, `a/y` deleted at 4; listed at 2 and 4.
    fn lists_around_changes() -> Script {
        let mut script = Script::two_objects();
        script.list(2, [object("a/x", 1, &[]), object("a/y", 2, &[])]);
        script.update("a/x", 1, 3);
        script.delete("a/y");
        script.list(4, [object("a/x", 3, &[])]);
        script
    }

    #[test]
    fn a_list_and_its_watch_add_up_to_the_next_list() {
        let mut script = lists_around_changes();
        script.watch(after(2), [modified("a/x", 3), deleted("a/y", 2, 4)]);
        assert_kept("converged", &script);
    }

    #[test]
    fn a_watch_that_began_with_the_state_adds_up_to_the_next_list() {
        let mut script = lists_around_changes();
        let frames = [
            added("a/x", 1),
            added("a/y", 2),
            initial_end(2),
            modified("a/x", 3),
            deleted("a/y", 2, 4),
        ];
        script.history.lists.remove(0);
        script.watch(state(), frames).began = crate::history::Moment(5);
        assert_kept("converged", &script);
    }

    #[test]
    fn a_delete_that_never_came_leaves_the_cache_different() {
        let mut script = lists_around_changes();
        script.watch(after(2), [modified("a/x", 3)]).ending = drained(4);
        assert_broken("converged", &script, "what list 1 has beyond it: []");
    }

    #[test]
    fn a_change_that_never_came_leaves_the_cache_different() {
        let mut script = lists_around_changes();
        script.watch(after(2), [deleted("a/y", 2, 4)]);
        assert_broken("converged", &script, "what list 1 has beyond it: [a/x @3]");
    }

    #[test]
    fn a_gap_between_two_streams_of_one_client_leaves_its_cache_different() {
        let mut script = lists_around_changes();
        script.watch(after(2), [modified("a/x", 3)]);
        script.watch(after(3), []).ending = drained(4);
        assert_broken("converged", &script, "what list 1 has beyond it: []");
    }

    #[test]
    fn a_cache_that_is_not_the_state_it_has_come_to_is_seen() {
        let mut script = Script::two_objects();
        script.cached(2, [("a/x", 1), ("a/y", 2)]);
        assert_kept("converged", &script);
        script.cached(2, [("a/x", 1)]);
        assert_broken("converged", &script, "beyond it: [a/y @2]");
    }
}
