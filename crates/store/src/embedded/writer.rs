//! The one writer: judges commits in the order they came, logs those that hold, makes them durable
//! together, and only then lets anybody see them.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    base::Base,
    log::{AppendError, Keep, Log},
    news::Answer,
    record::{Head, LoggedWrite, RecordEncoder, record_bytes_max},
    snapshot::{Files, Snapshot},
    state::{Place, State, Stored},
    tail::{Committed, Tail},
};
use crate::{
    Change, Commit, CommitError, Key, Operation, Revision, Write, expiry::ExpiryQueue, pack,
};

/// Versions of the past dropped after each group, so that no commit waits long for it.
const FORGET_VERSIONS_MAX: usize = 4096;

/// A commit that waits to be written.
pub(crate) struct Request {
    pub(crate) commit: Commit,
    /// When it was asked for, in milliseconds since 1970.
    pub(crate) time: u64,
    pub(crate) reply: oneshot::Sender<Answer>,
    /// Its place among those that may wait.
    pub(crate) _permit: OwnedSemaphorePermit,
}

impl Request {
    /// The most room that it takes up in the log.
    pub(crate) fn bytes_max(&self) -> usize {
        let operations = &self.commit.operations;
        let bytes = operations.iter().map(Operation::bytes).sum();
        record_bytes_max(operations.len(), bytes)
    }
}

/// Ends of values, in milliseconds since 1970.
pub(crate) type Ends = Arc<Mutex<ExpiryQueue<u64>>>;

/// The only one who changes anything.
pub(crate) struct Writer {
    pub(crate) log: Log,
    pub(crate) state: State,
    pub(crate) files: Arc<Files>,
    pub(crate) superseded: VecDeque<Superseded>,
    pub(crate) ends: Ends,
    pub(crate) tail: Arc<Tail>,
    buffer: Vec<u8>,
    /// Why nothing can be written any more.
    failed: Option<String>,
}

/// A version of the past that nobody needs once the floor has reached `at`.
pub(crate) struct Superseded {
    pub(crate) at: Revision,
    pub(crate) key: Key,
    pub(crate) revision: Revision,
}

impl Superseded {
    /// A value that was replaced or deleted at a revision.
    pub(crate) fn value(key: &Key, at: Revision, revision: Revision) -> Self {
        let key = key.clone();
        Self { at, key, revision }
    }

    /// The mark that a key was deleted at a revision.
    pub(crate) fn gone(key: &Key, at: Revision) -> Self {
        Self::value(key, at, at)
    }
}

/// What became of a group.
pub(crate) struct Written {
    pub(crate) answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    pub(crate) lifetimes: Lifetimes,
}

/// Whether some value of a group ends by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetimes {
    None,
    Some,
}

/// A commit that holds, and is logged but not yet durable.
struct Accepted {
    revision: Revision,
    changes: Vec<Accepting>,
}

/// A commit that holds, or why it does not.
type Judged = Result<Accepted, CommitError>;

struct Accepting {
    change: Change,
    end: Option<u64>,
    previous_end: Option<u64>,
}

impl Writer {
    /// Goes on where the log was opened.
    pub(crate) fn new(log: Log, state: State, files: Arc<Files>, tail_bytes_max: usize) -> Self {
        Self {
            log,
            files,
            superseded: VecDeque::new(),
            ends: Arc::new(Mutex::new(ExpiryQueue::new())),
            tail: Arc::new(Tail::after(state.revision, tail_bytes_max)),
            state,
            buffer: Vec::new(),
            failed: None,
        }
    }

    /// What readers may see now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            state: self.state.clone(),
            files: Arc::clone(&self.files),
        }
    }

    /// Writes commits that came together, with one sync.
    pub(crate) fn write(&mut self, group: Vec<Request>) -> Written {
        if let Some(reason) = self.failed.clone() {
            return Written::refused(group, &CommitError::Unavailable { reason });
        }
        let before = self.state.clone();
        match self.write_durably(&group) {
            Ok(judged) => {
                self.follow_log();
                let written = self.settle(group, judged);
                self.forget_some();
                written
            }
            Err(error) => {
                self.state = before;
                self.follow_log();
                let error = self.judge(error);
                Written::refused(group, &error)
            }
        }
    }

    fn write_durably(&mut self, group: &[Request]) -> Result<Vec<Judged>, AppendError> {
        let first = self.state.revision.next();
        let bytes = group.iter().map(Request::bytes_max).sum();
        self.log.make_room(bytes, first)?;
        self.buffer.clear();
        let synced = self.state.revision;
        let judged = group.iter().map(|one| self.accept(one, synced)).collect();
        if !self.buffer.is_empty() {
            let time = group.iter().map(|request| request.time).max();
            self.log.append(&self.buffer, first, time.unwrap_or(0))?;
        }
        Ok(judged)
    }

    fn accept(&mut self, request: &Request, synced: Revision) -> Judged {
        self.check(&request.commit)?;
        let head = Head {
            revision: self.state.revision.next(),
            synced,
            time: request.time,
        };
        let place = self.log.place(self.buffer.len());
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut record = RecordEncoder::begin(&mut buffer, head);
        let mut changes = Vec::with_capacity(request.commit.operations.len());
        for operation in &request.commit.operations {
            if let Some(accepting) = self.apply(operation, &head, place) {
                record.push(accepting.logged());
                changes.push(accepting);
            }
        }
        if changes.is_empty() {
            record.abandon();
        } else {
            record.finish(self.log.active().seed());
            self.state.revision = head.revision;
        }
        self.buffer = buffer;
        let revision = self.state.revision;
        Ok(Accepted { revision, changes })
    }

    /// Changes the state; `None` when there was nothing to delete.
    fn apply(&mut self, operation: &Operation, head: &Head, place: Place) -> Option<Accepting> {
        let (key, revision) = (&operation.key, head.revision);
        let (value, end, previous) = match &operation.write {
            Write::Delete => (None, None, Some(self.state.delete(key, revision)?)),
            Write::Put(put) => {
                let end = put.lifetime.map(|lifetime| end_of(head.time, lifetime));
                let value = pack(&put.value);
                let stored = Stored {
                    revision,
                    value: value.clone(),
                    end,
                    place: Some(place),
                };
                let previous = self.state.put(key.clone(), stored);
                (Some(value), end, previous)
            }
        };
        Some(Accepting {
            end,
            previous_end: previous.as_ref().and_then(|stored| stored.end),
            change: Change {
                revision,
                key: key.clone(),
                value,
                previous: previous.map(|stored| stored.entry(key)),
            },
        })
    }

    fn check(&self, commit: &Commit) -> Result<(), CommitError> {
        for (key, condition) in commit.conditions() {
            let current = self.state.get(key.as_bytes());
            if !condition.holds(current.map(|stored| stored.revision)) {
                return Err(CommitError::Conflict {
                    key: key.clone(),
                    current: current.map(|stored| stored.entry(key)),
                });
            }
        }
        Ok(())
    }

    /// Takes in what is durable now.
    fn settle(&mut self, group: Vec<Request>, judged: Vec<Judged>) -> Written {
        let mut lifetimes = Lifetimes::None;
        let mut answers = Vec::with_capacity(group.len());
        for (request, judged) in group.into_iter().zip(judged) {
            let answer = judged.map(|accepted| {
                if accepted.changes.iter().any(|one| one.end.is_some()) {
                    lifetimes = Lifetimes::Some;
                }
                self.settle_one(accepted)
            });
            answers.push((request.reply, answer));
        }
        Written { answers, lifetimes }
    }

    fn settle_one(&mut self, accepted: Accepted) -> Revision {
        for accepting in &accepted.changes {
            self.note_ends(accepting);
            self.note_superseded(&accepting.change);
        }
        if !accepted.changes.is_empty() {
            let changes = accepted.changes.into_iter().map(|one| one.change);
            self.tail.push(Committed::new(changes.collect()));
        }
        accepted.revision
    }

    fn note_ends(&self, accepting: &Accepting) {
        let change = &accepting.change;
        if let (Some(end), Some(previous)) = (accepting.previous_end, &change.previous) {
            let mut ends = self.ends.lock();
            ends.remove(end, previous.revision, &change.key);
        }
        if let Some(end) = accepting.end {
            let key = change.key.clone();
            self.ends.lock().insert(end, change.revision, key);
        }
    }

    fn note_superseded(&mut self, change: &Change) {
        let (key, at) = (&change.key, change.revision);
        if let Some(previous) = &change.previous {
            let value = Superseded::value(key, at, previous.revision);
            self.superseded.push_back(value);
        }
        if change.value.is_none() {
            self.superseded.push_back(Superseded::gone(key, at));
        }
    }

    /// Drops some versions that are before the floor.
    fn forget_some(&mut self) {
        for _ in 0..FORGET_VERSIONS_MAX {
            let floor = self.files.base.header.revision;
            let Some(superseded) = self.superseded.pop_front_if(|one| one.at <= floor) else {
                return;
            };
            self.state.forget(superseded.key, superseded.revision);
        }
    }

    /// Lets readers find the file that the log goes on in.
    fn follow_log(&mut self) {
        let active = self.log.active();
        let known = self.files.segments.back();
        if known.is_none_or(|segment| segment.sequence != active.sequence) {
            let mut segments = self.files.segments.clone();
            segments.push_back(Arc::clone(active));
            let base = Arc::clone(&self.files.base);
            self.files = Arc::new(Files { base, segments });
        }
    }

    /// Moves the floor to a base that is durable. Returns what is no longer needed.
    pub(crate) fn rebase(&mut self, base: Arc<Base>) -> Arc<Files> {
        let first = base.header.log_sequence;
        self.log.dropped_through(base.header.revision);
        let segments = self.files.segments.iter();
        let segments = segments
            .filter(|one| one.sequence >= first)
            .cloned()
            .collect();
        let files = Arc::new(Files { base, segments });
        let before = std::mem::replace(&mut self.files, files);
        self.forget_some();
        before
    }

    /// The floor that should be by now.
    pub(crate) fn due(&self, keep: Keep, versions_max: usize, now: u64) -> Option<Revision> {
        let forgetting = self.superseded.front();
        if forgetting.is_some_and(|one| one.at <= self.files.base.header.revision) {
            return None;
        }
        if self.superseded.len() > versions_max {
            return self.log.oldest_half();
        }
        self.log.due(keep, now)
    }

    /// Ends writing; gives back the room that was not used.
    pub(crate) fn close(&mut self) {
        let reason = "it has been closed".to_owned();
        if self.failed.replace(reason).is_none()
            && let Err(error) = self.log.close()
        {
            tracing::warn!(%error, "the log was closed without being cut to its length");
        }
    }

    fn judge(&mut self, error: AppendError) -> CommitError {
        match error {
            AppendError::Full(error) => CommitError::Full {
                reason: error.to_string(),
            },
            AppendError::NotNow(error) => CommitError::Unavailable {
                reason: error.to_string(),
            },
            AppendError::Broken(error) => {
                tracing::error!(%error, "the log cannot be written any more; reading goes on");
                let reason = format!("writing has ended after a failure of the disk: {error}");
                self.failed = Some(reason.clone());
                CommitError::Unknown { reason }
            }
        }
    }
}

impl Accepting {
    fn logged(&self) -> LoggedWrite<'_> {
        let key = self.change.key.as_bytes();
        match &self.change.value {
            None => LoggedWrite::Delete { key },
            Some(value) => LoggedWrite::Put {
                key,
                value,
                end: self.end,
            },
        }
    }
}

/// When a value ends. Rounded up, with the part of a millisecond that `time` has lost: a value
/// never ends early.
fn end_of(time: u64, lifetime: Duration) -> u64 {
    let milliseconds = lifetime.as_nanos().div_ceil(1_000_000);
    let milliseconds = u64::try_from(milliseconds).unwrap_or(u64::MAX);
    time.saturating_add(milliseconds).saturating_add(1)
}

impl Written {
    fn refused(group: Vec<Request>, error: &CommitError) -> Self {
        let group = group.into_iter();
        let answers = group.map(|request| (request.reply, Err(error.clone())));
        Self {
            answers: answers.collect(),
            lifetimes: Lifetimes::None,
        }
    }
}
