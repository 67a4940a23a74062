//! The plainest correct store: the model that the others are compared with. Keeps its state, and
//! the changes that led to it, in memory alone.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use crate::{
    Change, ChangeBatch, Changes, ChangesError, Commit, CommitError, Condition, Entry, Follow, Key,
    KeyRange, Operation, Page, Read, ReadError, Revision, Store, StoreFuture, Write,
    expiry::{Due, Expirer, Expiring, ExpiryFailed, ExpiryQueue},
    pack,
};

/// Commits in one batch. At the bound the batch ends; the cursor goes on with the next.
const BATCH_COMMITS_MAX: usize = 1024;

/// A store that forgets everything when it is dropped.
pub struct MemoryStore {
    inner: Arc<Inner>,
}

/// How much of the past a [`MemoryStore`] keeps. What is beyond either bound is forgotten.
#[derive(Clone, Copy, Debug)]
pub struct MemoryHistory {
    /// Keys and values of past changes, in bytes. The newest commit always stays.
    pub bytes_max: usize,
    /// The age of a change.
    pub age_max: Duration,
}

impl Default for MemoryHistory {
    fn default() -> Self {
        Self {
            bytes_max: 256 * 1024 * 1024,
            age_max: Duration::from_secs(3600),
        }
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::with_history(MemoryHistory::default())
    }

    /// An empty store that keeps this much of the past.
    pub fn with_history(bounds: MemoryHistory) -> Self {
        Self::beginning_after(bounds, Revision::ZERO)
    }

    /// An empty store whose first commit gets the revision after this one.
    pub fn beginning_after(bounds: MemoryHistory, revision: Revision) -> Self {
        let state = State {
            revision,
            floor: revision,
            entries: OrdMap::new(),
            history: VecDeque::new(),
            history_bytes: 0,
            ends: BTreeMap::new(),
            expiry: ExpiryQueue::new(),
        };
        Self {
            inner: Arc::new(Inner {
                bounds,
                state: Mutex::new(state),
                newest: watch::Sender::new(revision),
                expirer: Expirer::default(),
            }),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        Box::pin(async move { self.inner.read(&read) })
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        Box::pin(async move {
            let revision = self.inner.commit(&commit)?;
            if commit.operations.iter().any(has_lifetime) {
                self.inner.expirer.wake(&self.inner);
            }
            Ok(revision)
        })
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        let Follow { range, after, .. } = follow;
        Box::pin(async move {
            self.inner.state.lock().check_kept(after)?;
            let cursor = MemoryChanges {
                inner: Arc::clone(&self.inner),
                newest: self.inner.newest.subscribe(),
                range,
                after,
            };
            Ok(Box::new(cursor) as Box<dyn Changes>)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        Box::pin(async move {
            self.inner.state.lock().forget_before(before);
            // Cursors that wait for the future must learn that their place is gone.
            self.inner.newest.send_modify(|_| {});
            Ok(())
        })
    }
}

fn has_lifetime(operation: &Operation) -> bool {
    matches!(&operation.write, Write::Put(put) if put.lifetime.is_some())
}

struct Inner {
    bounds: MemoryHistory,
    state: Mutex<State>,
    newest: watch::Sender<Revision>,
    expirer: Expirer,
}

impl Inner {
    fn read(&self, read: &Read) -> Result<Page, ReadError> {
        let (revision, entries) = self.state.lock().at(read.at)?;
        let mut range = entries.range::<_, [u8]>(read.range.bounds());
        let limit = read.limit.unwrap_or(usize::MAX);
        let found = range.by_ref().take(limit);
        Ok(Page {
            revision,
            entries: found.map(|(_, entry)| entry.clone()).collect(),
            remaining: range.count(),
        })
    }

    fn commit(&self, commit: &Commit) -> Result<Revision, CommitError> {
        commit.validate()?;
        let mut state = self.state.lock();
        state.check(commit)?;
        let now = Instant::now();
        state.apply(commit, now);
        state.forget_beyond(self.bounds, now);
        self.newest.send_replace(state.revision);
        Ok(state.revision)
    }
}

impl Expiring for Inner {
    fn due(&self) -> Due {
        let state = self.state.lock();
        let now = Instant::now();
        match state.expiry.first() {
            None => Due::Never,
            Some(end) if end <= now => Due::Now(state.expiry.due(now)),
            Some(end) => Due::After(end - now),
        }
    }

    fn delete(
        self: Arc<Self>,
        ended: Vec<(Key, Revision)>,
    ) -> StoreFuture<'static, Result<(), ExpiryFailed>> {
        Box::pin(async move {
            for (key, revision) in ended {
                let condition = Condition::Unchanged(revision);
                // A conflict means that the key was written again in time.
                let _ = self.commit(&Commit::one(key, condition, Write::Delete));
            }
            Ok(())
        })
    }
}

struct Committed {
    revision: Revision,
    at: Instant,
    bytes: usize,
    changes: Vec<Change>,
}

/// Now, and the way back to the floor.
///
/// ```text
/// put a, put b, delete a:   floor 0 | 1 2 3   entries {b}   at(2) = {b} with 3 undone = {a, b}
/// forget before 2:          floor 2 | 3       entries {b}   at(2) as before, at(1) is compacted
/// ```
struct State {
    revision: Revision,
    floor: Revision,
    entries: OrdMap<Key, Entry>,
    /// The commits after the floor, oldest first, without a gap.
    history: VecDeque<Arc<Committed>>,
    history_bytes: usize,
    /// The ends of the entries that have a lifetime, by key and in order.
    ends: BTreeMap<Key, Instant>,
    expiry: ExpiryQueue<Instant>,
}

impl State {
    fn at(&self, at: Option<Revision>) -> Result<(Revision, OrdMap<Key, Entry>), ReadError> {
        let requested = at.unwrap_or(self.revision);
        let (oldest, newest) = (self.floor, self.revision);
        if requested > newest {
            return Err(ReadError::Future { requested, newest });
        }
        if requested < oldest {
            return Err(ReadError::Compacted { requested, oldest });
        }
        let mut entries = self.entries.clone();
        for committed in self.history.iter().rev() {
            if committed.revision <= requested {
                break;
            }
            committed.undo(&mut entries);
        }
        Ok((requested, entries))
    }

    fn check(&self, commit: &Commit) -> Result<(), CommitError> {
        for (key, condition) in commit.conditions() {
            let current = self.entries.get(key);
            if !condition.holds(current.map(|entry| entry.revision)) {
                return Err(CommitError::Conflict {
                    key: key.clone(),
                    current: current.cloned(),
                });
            }
        }
        Ok(())
    }

    fn apply(&mut self, commit: &Commit, now: Instant) {
        let revision = self.revision.next();
        let mut committed = Committed {
            revision,
            at: now,
            bytes: 0,
            changes: Vec::new(),
        };
        for operation in &commit.operations {
            let (previous, value) = self.write(operation, revision, now);
            if previous.is_some() || value.is_some() {
                committed.push(&operation.key, value, previous);
            }
        }
        if !committed.changes.is_empty() {
            self.revision = revision;
            self.history_bytes += committed.bytes;
            self.history.push_back(Arc::new(committed));
        }
    }

    /// Returns the entry that was there before, and the value that is there now.
    fn write(
        &mut self,
        operation: &Operation,
        revision: Revision,
        now: Instant,
    ) -> (Option<Entry>, Option<Bytes>) {
        let key = &operation.key;
        let (previous, value) = match &operation.write {
            Write::Delete => (self.entries.remove(key), None),
            Write::Put(put) => {
                let value = pack(&put.value);
                let entry = Entry {
                    key: key.clone(),
                    revision,
                    value: value.clone(),
                };
                (self.entries.insert(key.clone(), entry), Some(value))
            }
        };
        if let Some(entry) = &previous
            && let Some(end) = self.ends.remove(key)
        {
            self.expiry.remove(end, entry.revision, key);
        }
        if let Write::Put(put) = &operation.write
            && let Some(lifetime) = put.lifetime
        {
            self.ends.insert(key.clone(), now + lifetime);
            self.expiry.insert(now + lifetime, revision, key.clone());
        }
        (previous, value)
    }

    fn forget_before(&mut self, before: Revision) {
        while self
            .history
            .front()
            .is_some_and(|oldest| oldest.revision <= before)
        {
            self.forget_oldest();
        }
    }

    fn forget_beyond(&mut self, bounds: MemoryHistory, now: Instant) {
        let beyond = |state: &Self, oldest: &Committed| {
            state.history_bytes > bounds.bytes_max || now - oldest.at > bounds.age_max
        };
        while self.history.len() > 1 && self.history.front().is_some_and(|one| beyond(self, one)) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.history.pop_front() {
            self.floor = oldest.revision;
            self.history_bytes -= oldest.bytes;
        }
    }

    fn check_kept(&self, after: Revision) -> Result<(), ChangesError> {
        if after < self.floor {
            return Err(ChangesError::Compacted {
                requested: after,
                oldest: self.floor,
            });
        }
        Ok(())
    }

    /// The commits after a revision that is not compacted, in order, as many as make a batch.
    fn commits_after(&self, after: Revision) -> Vec<Arc<Committed>> {
        let start = self.history.partition_point(|one| one.revision <= after);
        let commits = self.history.range(start..);
        commits.take(BATCH_COMMITS_MAX).cloned().collect()
    }
}

impl Committed {
    fn push(&mut self, key: &Key, value: Option<Bytes>, previous: Option<Entry>) {
        self.bytes += key.as_bytes().len()
            + value.as_ref().map_or(0, |value| value.len())
            + previous.as_ref().map_or(0, |entry| entry.value.len());
        self.changes.push(Change {
            revision: self.revision,
            key: key.clone(),
            value,
            previous,
        });
    }

    fn undo(&self, entries: &mut OrdMap<Key, Entry>) {
        for change in &self.changes {
            match &change.previous {
                Some(entry) => entries.insert(change.key.clone(), entry.clone()),
                None => entries.remove(&change.key),
            };
        }
    }
}

struct MemoryChanges {
    inner: Arc<Inner>,
    newest: watch::Receiver<Revision>,
    range: KeyRange,
    after: Revision,
}

impl MemoryChanges {
    async fn next_batch(&mut self) -> Result<ChangeBatch, ChangesError> {
        loop {
            self.newest.borrow_and_update();
            if let Some(batch) = self.batch()? {
                self.after = batch.through;
                return Ok(batch);
            }
            let changed = self.newest.changed().await;
            changed.expect("the cursor itself keeps the sender alive");
        }
    }

    fn batch(&self) -> Result<Option<ChangeBatch>, ChangesError> {
        let commits = {
            let state = self.inner.state.lock();
            state.check_kept(self.after)?;
            state.commits_after(self.after)
        };
        let Some(last) = commits.last() else {
            return Ok(None);
        };
        let changes = commits.iter().flat_map(|committed| &committed.changes);
        let wanted = changes.filter(|change| self.range.contains(&change.key));
        Ok(Some(ChangeBatch {
            changes: wanted.cloned().collect(),
            through: last.revision,
        }))
    }
}

impl Changes for MemoryChanges {
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>> {
        Box::pin(self.next_batch())
    }
}

#[cfg(test)]
mod tests;
