//! The newest commits, kept for followers that are nearly up to date. Others read the log.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;

use crate::{Change, Revision};

/// A commit as its followers see it.
pub(crate) struct Committed {
    pub(crate) changes: Vec<Change>,
    pub(crate) bytes: usize,
}

impl Committed {
    /// The commit that made these changes.
    pub(crate) fn new(changes: Vec<Change>) -> Self {
        let bytes = changes.iter().map(bytes_of).sum();
        Self { changes, bytes }
    }
}

/// What a change takes up, with the values that it holds.
fn bytes_of(change: &Change) -> usize {
    let value = change.value.as_ref().map_or(0, |value| value.len());
    let previous = change.previous.as_ref();
    let previous = previous.map_or(0, |entry| entry.value.len());
    size_of::<Change>() + change.key.as_bytes().len() + value + previous
}

/// The newest commits, shared by the writer and the followers. Locked only to take or to add.
pub(crate) struct Tail {
    held: Mutex<Held>,
    bytes_max: usize,
}

struct Held {
    /// Oldest first, without a gap up to `newest`.
    commits: VecDeque<Arc<Committed>>,
    newest: Revision,
    bytes: usize,
}

impl Tail {
    /// Begins after a revision, with nothing.
    pub(crate) fn after(newest: Revision, bytes_max: usize) -> Self {
        Self {
            held: Mutex::new(Held {
                commits: VecDeque::new(),
                newest,
                bytes: 0,
            }),
            bytes_max,
        }
    }

    /// Adds the next commit; drops the oldest beyond the bound.
    pub(crate) fn push(&self, committed: Committed) {
        let committed = Arc::new(committed);
        let mut held = self.held.lock();
        held.newest = held.newest.next();
        held.bytes += committed.bytes;
        held.commits.push_back(committed);
        while held.bytes > self.bytes_max
            && let Some(oldest) = held.commits.pop_front()
        {
            held.bytes -= oldest.bytes;
        }
    }

    /// The commits after one revision and through another, as far as they are wanted; `None` if
    /// the first of them is not here any more.
    pub(crate) fn between(
        &self,
        after: Revision,
        through: Revision,
        wanted_max: usize,
    ) -> Option<Vec<Arc<Committed>>> {
        let held = self.held.lock();
        let missing = usize::try_from(held.newest.get().checked_sub(after.get())?).ok()?;
        let start = held.commits.len().checked_sub(missing)?;
        let wanted = usize::try_from(through.get() - after.get()).ok()?;
        let commits = held.commits.range(start..);
        Some(commits.take(wanted.min(wanted_max)).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(number: u64) -> Committed {
        Committed::new(vec![Change {
            revision: Revision::new(number),
            key: "a".into(),
            value: Some(vec![b'x'; 100].into()),
            previous: None,
        }])
    }

    fn between(tail: &Tail, after: u64, through: u64, wanted_max: usize) -> Option<Vec<u64>> {
        let (after, through) = (Revision::new(after), Revision::new(through));
        let commits = tail.between(after, through, wanted_max)?;
        let revisions = commits.iter().map(|one| one.changes[0].revision.get());
        Some(revisions.collect())
    }

    #[test]
    fn a_follower_gets_what_is_published_and_as_much_as_it_wants() {
        let tail = Tail::after(Revision::new(7), 1 << 20);
        for number in 8..12 {
            tail.push(commit(number));
        }
        assert_eq!(between(&tail, 7, 11, 9), Some(vec![8, 9, 10, 11]));
        assert_eq!(between(&tail, 9, 10, 9), Some(vec![10]));
        assert_eq!(between(&tail, 7, 11, 2), Some(vec![8, 9]));
        assert_eq!(between(&tail, 6, 11, 9), None, "it was there before");
    }

    #[test]
    fn what_is_beyond_the_bound_is_for_the_log() {
        let bytes = commit(1).bytes;
        let tail = Tail::after(Revision::ZERO, 2 * bytes);
        for number in 1..=3 {
            tail.push(commit(number));
        }
        assert_eq!(between(&tail, 1, 3, 9), Some(vec![2, 3]));
        assert_eq!(between(&tail, 0, 3, 9), None);
    }
}
