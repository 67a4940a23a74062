//! What a watcher needs to read the past from the store, when memory does not reach back so far.

use std::{collections::VecDeque, pin::Pin, sync::Arc};

use listwatch_store::{Change, ChangeBatch, Changes, ChangesError, Follow, Revision};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    event::Event,
    interest::Judge,
    kind_cache::{KindShared, entry},
    watcher::WatchEvent,
};

/// Watchers that read the store at one time. The others wait for their turn, so that a thousand
/// which come back together do not become a thousand cursors on the store.
const READERS_MAX: usize = 16;
/// Cursors that stay open between two turns of their watchers. Further ones are opened anew each
/// time, so that a watcher whose client does not read takes nobody's turn.
const IDLE_CURSORS_MAX: usize = 16;
/// Events from the store that wait in a watcher, at the most. Then the store is asked again.
const PENDING_EVENTS_MAX: usize = 512;

/// Who may read the past of the store.
pub(super) struct PastReaders {
    turns: Arc<Semaphore>,
    idle: Arc<Semaphore>,
}

impl PastReaders {
    pub(super) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(READERS_MAX)),
            idle: Arc::new(Semaphore::new(IDLE_CURSORS_MAX)),
        }
    }
}

/// Reads the store after a revision.
pub(super) struct StoreCursor {
    turn: Turn,
    /// `None` until the store has been asked, and between turns when too many are open.
    open: Option<OpenCursor>,
    /// Wanted events that have been read and not been delivered.
    pub(super) pending: VecDeque<WatchEvent>,
    /// All that was wanted up to here is pending or delivered.
    pub(super) through: Revision,
}

struct OpenCursor {
    changes: Box<dyn Changes>,
    /// The right to stay open when the turn is over.
    idle: Option<OwnedSemaphorePermit>,
}

/// Whether it may read now. Outlives a wait that is dropped, so that nobody loses its place.
enum Turn {
    /// It does not want to.
    Idle,
    /// Others do; it is in the queue.
    Waiting(Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send + Sync>>),
    /// It may.
    Taken {
        _permit: Option<OwnedSemaphorePermit>,
    },
}

impl StoreCursor {
    pub(super) fn new(after: Revision) -> Self {
        Self {
            turn: Turn::Idle,
            open: None,
            pending: VecDeque::new(),
            through: after,
        }
    }

    /// Reads on, when nothing is pending. Cancel safe.
    pub(super) async fn read(
        &mut self,
        kind: &KindShared,
        judge: &Judge,
    ) -> Result<(), ChangesError> {
        let readers = &kind.origin.past_readers;
        self.take_turn(readers).await;
        let read = self.next_batch(kind).await;
        self.turn = Turn::Idle;
        match read {
            Ok(batch) => {
                self.take(batch, kind, judge);
                self.keep_open(readers);
                Ok(())
            }
            Err(error) => {
                self.open = None;
                Err(error)
            }
        }
    }

    async fn take_turn(&mut self, readers: &PastReaders) {
        if let Turn::Idle = self.turn {
            let turns = Arc::clone(&readers.turns);
            let turn = async { turns.acquire_owned().await.ok() };
            self.turn = Turn::Waiting(Box::pin(turn));
        }
        if let Turn::Waiting(turn) = &mut self.turn {
            self.turn = Turn::Taken {
                _permit: turn.await,
            };
        }
    }

    async fn next_batch(&mut self, kind: &KindShared) -> Result<ChangeBatch, ChangesError> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let follow = Follow::new(kind.layout.range(), self.through);
                let changes = kind.origin.store.changes(follow).await?;
                self.open.insert(OpenCursor {
                    changes,
                    idle: None,
                })
            }
        };
        open.changes.next().await
    }

    /// Takes what is wanted of a batch. Of one that is too large, only the first part: the store is
    /// asked for the rest when that has been delivered.
    fn take(&mut self, batch: ChangeBatch, kind: &KindShared, judge: &Judge) {
        let mut passed = self.through;
        for change in batch.changes {
            if change.revision != passed && self.pending.len() >= PENDING_EVENTS_MAX {
                self.through = passed;
                self.open = None;
                return;
            }
            passed = change.revision;
            self.pending.extend(judged(change, kind, judge));
        }
        self.through = batch.through.max(passed);
    }

    fn keep_open(&mut self, readers: &PastReaders) {
        if let Some(open) = &mut self.open
            && open.idle.is_none()
        {
            open.idle = Arc::clone(&readers.idle).try_acquire_owned().ok();
        }
        self.open.take_if(|open| open.idle.is_none());
    }
}

fn judged(change: Change, kind: &KindShared, judge: &Judge) -> Option<WatchEvent> {
    let Change {
        revision,
        key,
        value,
        previous,
    } = change;
    let previous = previous.and_then(|previous| kind.read_object(previous));
    let object = value.and_then(|value| kind.read_object(entry(key, revision, value)));
    let event = Arc::new(Event::new(revision, previous, object)?);
    let event_type = judge.event_type(&event)?;
    Some(WatchEvent { event_type, event })
}
