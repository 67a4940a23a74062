//! One watch: a cursor, never a queue.

use std::sync::Arc;

use listwatch_api::EventType;
use listwatch_store::{ChangesError, Revision};

use super::{
    bell::{Bell, Ring},
    event::Event,
    fanout::{GroupId, Membership},
    history::Since,
    interest::{Interest, Judge},
    journal::{Journal, Lifecycle},
    kind_cache::KindShared,
    store_cursor::StoreCursor,
};

/// Events of the history that are looked at in one go, at the most, before others get their turn.
const SCAN_EVENTS_MAX: u64 = 512;

/// Follows what one interest selects. It holds no events: one that is not read costs nothing.
pub struct Watcher {
    kind: Arc<KindShared>,
    group: GroupId,
    judge: Arc<Judge>,
    bell: Arc<Bell>,
    state: WatcherState,
    /// Where its client says that it stands.
    began: Revision,
    /// Everything wanted up to here has been delivered.
    position: Revision,
}

/// Where a watcher reads.
enum WatcherState {
    /// In the log of its group, from the entry `cursor` on. Has read everything that was told by
    /// the ring `heard`.
    Live { cursor: u64, heard: Option<Ring> },
    /// Behind that log: in the past, after its position, until it meets the present.
    CatchingUp(Source),
    /// Behind everything. It is told so and gets nothing more.
    Expired { oldest: Revision },
}

/// Where the past is read.
enum Source {
    /// In the history of the kind.
    Memory,
    /// In the store, when the history does not reach back far enough.
    Store(StoreCursor),
}

/// Where the next events of a watcher come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatcherStage {
    /// From what its group has at hand.
    Live,
    /// From the history in memory, which it looks through by itself.
    CatchingUp,
    /// From the store.
    ReadingStore,
    /// From nowhere: they have been forgotten.
    Expired,
}

/// One event as one interest sees it.
#[derive(Clone, Debug)]
pub struct WatchEvent {
    /// What it is to the watcher.
    pub event_type: EventType,
    /// What happened, shared by all watchers.
    pub event: Arc<Event>,
}

/// What a watcher delivers at a time.
#[derive(Clone, Debug)]
pub struct WatchBatch {
    /// At least one event, in order. Those of one commit are never split.
    pub events: Vec<WatchEvent>,
    /// With these events, everything up to here has been delivered.
    pub through: Revision,
}

/// Why a watch ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// What comes next has been forgotten. List again.
    #[error("too old resource version: {requested} ({oldest})")]
    Expired {
        /// Where the watcher stands.
        requested: Revision,
        /// The oldest revision that can be followed from.
        oldest: Revision,
    },
    /// The kind is no longer served.
    #[error("the kind is no longer served")]
    Removed,
    /// The store cannot be read now. Watch again from the same place.
    #[error("the store cannot be followed: {reason}")]
    Unavailable {
        /// What happened, for a person.
        reason: String,
    },
}

/// What to do next.
enum Step {
    Deliver(WatchBatch),
    Continue,
    ReadStore,
    Wait,
}

impl Watcher {
    pub(super) fn new(kind: Arc<KindShared>, interest: &Interest, after: Revision) -> Self {
        let mut journal = kind.journal.write();
        let Membership { group, judge, bell } = journal.fanout.join(interest);
        let state = match after < journal.history.newest() || journal.has_missed(after) {
            true => WatcherState::CatchingUp(Source::Memory),
            false => WatcherState::live(journal.fanout.group(group).end()),
        };
        drop(journal);
        Self {
            kind,
            group,
            judge,
            bell,
            state,
            began: after,
            position: after,
        }
    }

    /// Waits for events and takes them, up to about `budget_bytes` of their objects.
    ///
    /// Cancel safe: a dropped future loses nothing.
    pub async fn next(&mut self, budget_bytes: usize) -> Result<WatchBatch, WatchError> {
        loop {
            let ring = self.bell.newest();
            match self.step(ring, budget_bytes)? {
                Step::Deliver(batch) => return Ok(batch),
                Step::Continue => tokio::task::yield_now().await,
                Step::ReadStore => self.read_store().await?,
                Step::Wait => self.bell.after(ring).await,
            }
        }
    }

    /// The revision up to which everything wanted has been delivered. While nothing is waiting to
    /// be read this is how far the cache has come, so that a bookmark can tell it at any time.
    pub fn position(&mut self) -> Revision {
        if let WatcherState::Live { cursor, .. } = self.state {
            let applied = self.kind.origin.applied.get();
            let journal = self.kind.journal.read();
            if self.claims_missed(&journal) {
                self.state = WatcherState::CatchingUp(Source::Memory);
            } else if journal.fanout.group(self.group).end() == cursor {
                self.position = self.position.max(applied);
            }
        }
        self.resumable()
    }

    /// Whether the revision it began after has happened.
    pub fn has_begun(&self) -> bool {
        self.position <= self.kind.origin.applied.get()
    }

    /// Where it would read now.
    pub fn stage(&self) -> WatcherStage {
        let journal = self.kind.journal.read();
        let at_hand = |cursor: u64| {
            let group = journal.fanout.group(self.group);
            let next = group.from(cursor).next();
            let is_kept = next.is_none_or(|logged| journal.history.get(logged.place).is_some());
            cursor >= group.first() && is_kept
        };
        match &self.state {
            WatcherState::Live { cursor, .. } if at_hand(*cursor) => WatcherStage::Live,
            WatcherState::Live { .. } | WatcherState::CatchingUp(Source::Memory) => {
                match self.past(&journal) {
                    Since::Places(_) => WatcherStage::CatchingUp,
                    Since::Forgotten => WatcherStage::ReadingStore,
                }
            }
            WatcherState::CatchingUp(Source::Store(_)) => WatcherStage::ReadingStore,
            WatcherState::Expired { .. } => WatcherStage::Expired,
        }
    }

    fn step(&mut self, ring: Ring, budget_bytes: usize) -> Result<Step, WatchError> {
        let batch = Batch::new(budget_bytes);
        match self.state {
            WatcherState::Live { heard, .. } if heard == Some(ring) => Ok(Step::Wait),
            WatcherState::Live { cursor, .. } => self.read_log((cursor, ring), batch),
            WatcherState::CatchingUp(Source::Memory) => Ok(self.read_history(batch)),
            WatcherState::CatchingUp(Source::Store(_)) => Ok(self.read_pending(batch)),
            WatcherState::Expired { oldest } => Err(WatchError::Expired {
                requested: self.position,
                oldest,
            }),
        }
    }

    fn read_log(
        &mut self,
        (cursor, ring): (u64, Ring),
        mut batch: Batch,
    ) -> Result<Step, WatchError> {
        let applied = self.kind.origin.applied.get();
        let journal = self.kind.journal.read();
        let group = journal.fanout.group(self.group);
        if cursor < group.first() || self.claims_missed(&journal) {
            self.state = WatcherState::CatchingUp(Source::Memory);
            return Ok(Step::Continue);
        }
        let mut next = cursor;
        for logged in group.from(cursor) {
            if batch.ends_before(logged.revision) {
                break;
            }
            // A watcher that began in the future waits for it.
            if logged.revision > self.position {
                let Some(event) = journal.history.get(logged.place) else {
                    self.position = self.position.max(before(logged.revision));
                    self.state = WatcherState::CatchingUp(Source::Memory);
                    return Ok(batch.deliver(self.position, Step::Continue));
                };
                batch.push(logged.event_type, event);
            }
            next += 1;
        }
        let is_drained = next == group.end();
        let drained = is_drained.then_some(applied);
        self.position = self
            .position
            .max(batch.last)
            .max(drained.unwrap_or_default());
        let is_removed = journal.lifecycle == Lifecycle::Removed;
        if is_removed && batch.events.is_empty() {
            return Err(WatchError::Removed);
        }
        self.state = WatcherState::Live {
            cursor: next,
            heard: (is_drained && !is_removed).then_some(ring),
        };
        Ok(batch.deliver(self.position, Step::Wait))
    }

    fn read_history(&mut self, mut batch: Batch) -> Step {
        let applied = self.kind.origin.applied.get();
        let journal = self.kind.journal.read();
        let Since::Places(places) = self.past(&journal) else {
            let cursor = StoreCursor::new(self.position);
            self.state = WatcherState::CatchingUp(Source::Store(cursor));
            return Step::ReadStore;
        };
        let pause = places.start + SCAN_EVENTS_MAX;
        let mut passed = Revision::ZERO;
        for place in places {
            let event = journal
                .history
                .get(place)
                .expect("the place is in the history");
            let revision = event.revision();
            if revision != passed && (batch.ends_before(revision) || place >= pause) {
                self.position = passed;
                return batch.deliver(passed, Step::Continue);
            }
            passed = revision;
            if let Some(event_type) = self.judge.event_type(event) {
                batch.push(event_type, event);
            }
        }
        self.state = WatcherState::live(journal.fanout.group(self.group).end());
        self.position = self.position.max(passed).max(applied);
        batch.deliver(self.position, Step::Continue)
    }

    fn read_pending(&mut self, mut batch: Batch) -> Step {
        let WatcherState::CatchingUp(Source::Store(cursor)) = &mut self.state else {
            return Step::Continue;
        };
        let fits = |batch: &Batch, event: &WatchEvent| !batch.ends_before(event.event.revision());
        while let Some(event) = cursor.pending.pop_front_if(|event| fits(&batch, event)) {
            batch.push(event.event_type, &event.event);
        }
        self.position = match cursor.pending.is_empty() {
            true => cursor.through,
            false => batch.last,
        };
        let journal = self.kind.journal.read();
        let is_in_memory =
            journal.history.floor() <= self.position && !journal.has_missed(self.position);
        if cursor.pending.is_empty() && is_in_memory {
            self.state = WatcherState::CatchingUp(Source::Memory);
            return batch.deliver(self.position, Step::Continue);
        }
        batch.deliver(self.position, Step::ReadStore)
    }

    /// Reads on in the store, when nothing is pending.
    async fn read_store(&mut self) -> Result<(), WatchError> {
        let WatcherState::CatchingUp(Source::Store(cursor)) = &mut self.state else {
            return Ok(());
        };
        match cursor.read(&self.kind, &self.judge).await {
            Ok(()) => Ok(()),
            Err(ChangesError::Compacted { oldest, .. }) => {
                self.state = WatcherState::Expired { oldest };
                Ok(())
            }
            Err(ChangesError::Unavailable { reason }) => Err(WatchError::Unavailable { reason }),
        }
    }

    /// Where in memory the events after its position are.
    fn past(&self, journal: &Journal) -> Since {
        match self.claims_missed(journal) {
            true => Since::Forgotten,
            false => journal.history.after(self.position),
        }
    }

    /// Whether it says to stand where the cache has never been. What it has not heard of may have
    /// been told before that place, so that only the store can tell.
    fn claims_missed(&self, journal: &Journal) -> bool {
        self.position == self.began && journal.has_missed(self.position)
    }

    /// Where it may tell its client that everything has been delivered. In the middle of what was
    /// missed, deletions have been told before their time.
    fn resumable(&self) -> Revision {
        match self.state {
            WatcherState::CatchingUp(Source::Store(_)) => self.position,
            _ if self.position == self.began => self.position,
            _ => self.kind.journal.read().before_missed(self.position),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.kind
            .journal
            .write()
            .fanout
            .leave(self.group, &self.bell);
    }
}

impl WatcherState {
    /// Live from this entry of the log on, of which it has heard nothing.
    fn live(cursor: u64) -> Self {
        let heard = None;
        Self::Live { cursor, heard }
    }
}

/// Events that are gathered for one delivery.
struct Batch {
    events: Vec<WatchEvent>,
    bytes_left: usize,
    /// The revision of the newest of them.
    last: Revision,
}

impl Batch {
    fn new(budget_bytes: usize) -> Self {
        Self {
            events: Vec::new(),
            bytes_left: budget_bytes,
            last: Revision::ZERO,
        }
    }

    /// Whether the batch is full, and an event of this revision does not belong to its last commit.
    fn ends_before(&self, revision: Revision) -> bool {
        self.bytes_left == 0 && !self.events.is_empty() && revision != self.last
    }

    fn push(&mut self, event_type: EventType, event: &Arc<Event>) {
        let bytes = event.content(event_type).stored().appended_len();
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.last = event.revision();
        self.events.push(WatchEvent {
            event_type,
            event: Arc::clone(event),
        });
    }

    fn deliver(self, through: Revision, otherwise: Step) -> Step {
        match self.events.is_empty() {
            true => otherwise,
            false => Step::Deliver(WatchBatch {
                events: self.events,
                through,
            }),
        }
    }
}

fn before(revision: Revision) -> Revision {
    Revision::new(revision.get().saturating_sub(1))
}
