//! The one log of what changed, and how far each handler has read it.
//!
//! Owns the entries and the positions. Never calls a handler, and keeps no entry that no cursor
//! will ask for.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Bound, tally::Tally};
use crate::{Change, Snapshot, delta_queue::BATCH_DELTAS_MAX};

/// Changes that a coalescing handler may be behind before it goes on with the difference between
/// what it saw and the present: two whole batches, so a burst alone does not coalesce.
pub const COALESCE_CHANGES_MAX: u64 = 2 * BATCH_DELTAS_MAX as u64;

/// Changes of the kind that hold a whole state of the cache which may wait for one handler. At the
/// bound a blocking handler holds up the source, and any other goes on with the difference.
const WHOLE_STATES_MAX: u64 = 4;

/// What changed, oldest first, for cursors of different pace.
///
/// ```text
/// entries        a  b  c  d  e          the end is 5
/// fast cursor                  ^ 5      waits
/// slow cursor       ^ 1                 takes b c d e: what stands before b is forgotten
/// ```
pub(super) struct Log<T> {
    state: Mutex<State<T>>,
    empty: Snapshot<T>,
    drained: Arc<Notify>,
}

struct State<T> {
    entries: VecDeque<Change<T>>,
    present: Present<T>,
    readers: BTreeMap<ReaderId, Reader>,
    next_id: ReaderId,
    life: Life,
}

/// The state of the cache at the end of the log.
pub(super) struct Present<T> {
    pub(super) snapshot: Snapshot<T>,
    pub(super) sync: Sync,
    end: Position,
}

/// Whether the first list has been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    Waiting,
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Open,
    Closed,
}

type ReaderId = u64;

/// How many changes there were before, and how many of them hold a whole state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    changes: u64,
    whole_states: u64,
}

struct Reader {
    bound: Bound,
    taken: Position,
    acknowledged: Position,
    ticket: Arc<Ticket>,
}

/// What a cursor, its registration and the log share.
pub(super) struct Ticket {
    pub(super) tally: Tally,
    ended: AtomicBool,
    wake: Notify,
    drained: Arc<Notify>,
}

/// A place in the log. Dropping it gives the place up.
pub(super) struct Seat<T> {
    log: Arc<Log<T>>,
    id: ReaderId,
    pub(super) ticket: Arc<Ticket>,
}

/// How much to take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    /// What suits the bound.
    Some,
    /// Everything, and the state that it leads to.
    All,
}

/// What a cursor gets.
pub(super) enum Taken<T> {
    /// The next changes, perhaps none, and where they lead if that is the present.
    Changes(Vec<Change<T>>, Option<Present<T>>),
    /// Changes were skipped, this many: go on from the present.
    Skipped(u64, Present<T>),
    /// The cursor was removed, or the log closed.
    Ended,
}

impl<T> Log<T> {
    pub(super) fn new(empty: Snapshot<T>) -> Arc<Self> {
        let present = Present {
            snapshot: empty.clone(),
            sync: Sync::Waiting,
            end: Position::default(),
        };
        let state = State {
            entries: VecDeque::new(),
            present,
            readers: BTreeMap::new(),
            next_id: 0,
            life: Life::Open,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            empty,
            drained: Arc::new(Notify::new()),
        })
    }

    /// Waits until all who may hold up the source have room, and says so; or that the log is
    /// closed.
    pub(super) async fn has_room(&self) -> bool {
        loop {
            {
                let state = self.state.lock();
                if state.life == Life::Closed {
                    return false;
                }
                let end = state.present.end;
                if state.readers.values().all(|reader| reader.has_room(end)) {
                    return true;
                }
            }
            self.drained.notified().await;
        }
    }

    /// Adds what led to this snapshot, and wakes every cursor once. Says whether the first list
    /// is there now.
    pub(super) fn append(&self, changes: Vec<Change<T>>, snapshot: Snapshot<T>) -> Sync {
        let mut state = self.state.lock();
        let replaced = changes
            .iter()
            .any(|change| matches!(change, Change::Replaced { .. }));
        if replaced {
            state.present.sync = Sync::Done;
        }
        state.push(changes);
        let before = std::mem::replace(&mut state.present.snapshot, snapshot);
        let forgotten = state.trim();
        for reader in state.readers.values() {
            reader.count_pending(state.present.end);
            reader.ticket.wake.notify_one();
        }
        let sync = state.present.sync;
        // What is freed here may be a whole state: nobody should wait for that.
        drop(state);
        drop((before, forgotten));
        sync
    }

    /// A place at the end of the log, with the state there; `None` when the log is closed.
    pub(super) fn join(
        self: &Arc<Self>,
        bound: Bound,
        tally: Tally,
    ) -> Option<(Seat<T>, Present<T>)> {
        let mut state = self.state.lock();
        if state.life == Life::Closed {
            return None;
        }
        let ticket = Arc::new(Ticket {
            tally,
            ended: AtomicBool::new(false),
            wake: Notify::new(),
            drained: Arc::clone(&self.drained),
        });
        let id = state.next_id;
        state.next_id += 1;
        let end = state.present.end;
        let reader = Reader {
            bound,
            taken: end,
            acknowledged: end,
            ticket: Arc::clone(&ticket),
        };
        state.readers.insert(id, reader);
        let seat = Seat {
            log: Arc::clone(self),
            id,
            ticket,
        };
        Some((seat, state.present.clone()))
    }

    /// Nothing more is told to anybody.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.life = Life::Closed;
        let entries = std::mem::take(&mut state.entries);
        for reader in state.readers.values() {
            reader.ticket.end();
        }
        drop(state);
        drop(entries);
        self.drained.notify_one();
    }

    fn leave(&self, id: ReaderId) {
        let mut state = self.state.lock();
        state.readers.remove(&id);
        let forgotten = state.trim();
        drop(state);
        drop(forgotten);
        self.drained.notify_one();
    }

    /// How many changes are kept for cursors that have not taken them.
    pub(super) fn len(&self) -> usize {
        self.state.lock().entries.len()
    }
}

impl<T> State<T> {
    fn push(&mut self, changes: Vec<Change<T>>) {
        for change in changes {
            self.present.end.advance(&change);
            if !self.readers.is_empty() {
                self.entries.push_back(change);
            }
        }
    }

    /// Takes out what nobody will ask for.
    fn trim(&mut self) -> Vec<Change<T>> {
        let end = self.present.end;
        let readers = self.readers.values();
        let needed = readers.map(|reader| reader.needs_after(end)).min();
        let needed = needed.unwrap_or(end.changes);
        let count = self.index_after(needed);
        self.entries.drain(..count).collect()
    }

    fn index_after(&self, changes: u64) -> usize {
        let kept = self.present.end.changes - self.entries.len() as u64;
        usize::try_from(changes.saturating_sub(kept)).unwrap_or(usize::MAX)
    }

    fn take(&mut self, id: ReaderId, amount: Amount) -> Taken<T> {
        let Some(reader) = self.readers.get(&id) else {
            return Taken::Ended;
        };
        if reader.ticket.has_ended() {
            return Taken::Ended;
        }
        let (from, bound) = (reader.taken, reader.bound);
        let end = self.present.end;
        let taken = if reader.is_lost(end) {
            Taken::Skipped(end.changes - from.changes, self.present.clone())
        } else {
            let first = self.index_after(from.changes);
            let most = match (amount, bound) {
                (Amount::Some, Bound::Block(most)) => most.div_ceil(2).max(1),
                (Amount::All, _) | (_, Bound::Coalesce | Bound::Drop(_)) => self.entries.len(),
            };
            let last = self.entries.len().min(first.saturating_add(most));
            let changes = self.entries.range(first..last);
            let changes = changes.map(copy).collect();
            let present = (last == self.entries.len()).then(|| self.present.clone());
            Taken::Changes(changes, present)
        };
        let to = match &taken {
            Taken::Changes(changes, None) => from.after(changes),
            Taken::Changes(_, Some(_)) | Taken::Skipped(..) | Taken::Ended => end,
        };
        if let Some(reader) = self.readers.get_mut(&id) {
            reader.acknowledged = from;
            reader.taken = to;
            reader.count_pending(end);
        }
        taken
    }
}

impl Position {
    fn advance<T>(&mut self, change: &Change<T>) {
        self.changes += 1;
        if let Change::Replaced { .. } | Change::Resync(_) = change {
            self.whole_states += 1;
        }
    }

    fn after<T>(mut self, changes: &[Change<T>]) -> Self {
        changes.iter().for_each(|change| self.advance(change));
        self
    }
}

impl Reader {
    /// Whether a batch may be appended as far as this reader is concerned.
    fn has_room(&self, end: Position) -> bool {
        let Bound::Block(most) = self.bound else {
            return true;
        };
        let changes = end.changes - self.acknowledged.changes;
        let whole_states = end.whole_states - self.acknowledged.whole_states;
        let room = changes < most.max(1) as u64 && whole_states < WHOLE_STATES_MAX;
        room || self.ticket.has_ended()
    }

    /// How far behind it may fall before it goes on from the present.
    fn changes_behind_max(&self) -> Option<u64> {
        match self.bound {
            Bound::Block(_) => None,
            Bound::Coalesce => Some(COALESCE_CHANGES_MAX),
            Bound::Drop(most) => Some(most.max(1) as u64),
        }
    }

    fn is_lost(&self, end: Position) -> bool {
        self.changes_behind_max().is_some_and(|most| {
            end.changes - self.taken.changes > most
                || end.whole_states - self.taken.whole_states > WHOLE_STATES_MAX
        })
    }

    fn needs_after(&self, end: Position) -> u64 {
        match self.is_lost(end) || self.ticket.has_ended() {
            true => end.changes,
            false => self.taken.changes,
        }
    }

    fn count_pending(&self, end: Position) {
        let pending = end.changes - self.acknowledged.changes;
        self.ticket.tally.set_pending(pending);
    }
}

impl Ticket {
    /// Nothing more is told to this cursor.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.wake.notify_one();
        self.drained.notify_one();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Until something was appended, or this cursor ended.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl<T> Seat<T> {
    /// The state in which there is nothing.
    pub(super) fn empty(&self) -> &Snapshot<T> {
        &self.log.empty
    }

    /// Acknowledges what was taken before, and takes what comes next.
    pub(super) fn take(&self, amount: Amount) -> Taken<T> {
        let mut state = self.log.state.lock();
        let taken = state.take(self.id, amount);
        let forgotten = state.trim();
        drop(state);
        drop(forgotten);
        self.log.drained.notify_one();
        taken
    }
}

impl<T> Drop for Seat<T> {
    fn drop(&mut self) {
        self.ticket.end();
        self.log.leave(self.id);
    }
}

impl<T> Clone for Present<T> {
    fn clone(&self) -> Self {
        Self {
            snapshot: self.snapshot.clone(),
            sync: self.sync,
            end: self.end,
        }
    }
}

fn copy<T>(change: &Change<T>) -> Change<T> {
    match change {
        Change::Added(object) => Change::Added(Arc::clone(object)),
        Change::Updated { old, new } => Change::Updated {
            old: Arc::clone(old),
            new: Arc::clone(new),
        },
        Change::Deleted(deleted) => Change::Deleted(deleted.clone()),
        Change::Replaced { before, after } => Change::Replaced {
            before: before.clone(),
            after: after.clone(),
        },
        Change::Resync(snapshot) => Change::Resync(snapshot.clone()),
        Change::Bookmark(version) => Change::Bookmark(version.clone()),
    }
}
