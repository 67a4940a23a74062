//! One handler's way along the log: what it is told, in order, and when it has seen the beginning.

use std::{sync::Arc, vec};

use tokio::sync::watch;

use super::{
    Bound, Ended,
    log::{Amount, Present, Seat, Sync, Taken, Ticket},
    registration::Stage,
    resync::ResyncTimer,
    telling::Telling,
};
use crate::{Change, Notification, Origin, Snapshot};

/// Turns changes of the cache into what one handler is told.
pub(super) struct Cursor<T> {
    seat: Seat<T>,
    bound: Bound,
    lagged: Option<u64>,
    told: Telling<T>,
    changes: vec::IntoIter<Change<T>>,
    resync: Option<Snapshot<T>>,
    /// The state that the handler has seen once it has been told all that was taken.
    seen: Snapshot<T>,
    beginning: Beginning,
    timer: ResyncTimer,
    stage: watch::Sender<Stage>,
}

/// How far the handler is with the state that it begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// The informer has not listed yet.
    Awaited,
    /// It is being told.
    Told,
    /// The handler knows it.
    Known,
}

impl<T> Cursor<T> {
    /// A cursor that begins with the state at its seat.
    pub(super) fn new(
        (seat, present): (Seat<T>, Present<T>),
        bound: Bound,
        timer: ResyncTimer,
    ) -> Self {
        let mut cursor = Self {
            seat,
            bound,
            lagged: None,
            told: Telling::nothing(),
            changes: Vec::new().into_iter(),
            resync: None,
            beginning: match present.sync {
                Sync::Waiting => Beginning::Awaited,
                Sync::Done => Beginning::Told,
            },
            seen: present.snapshot,
            timer,
            stage: watch::Sender::new(Stage::Syncing),
        };
        cursor.told = Telling::way(cursor.seat.empty(), &cursor.seen, Origin::Initial);
        cursor.settle();
        cursor
    }

    pub(super) fn ticket(&self) -> &Arc<Ticket> {
        &self.seat.ticket
    }

    pub(super) fn stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Waits until there may be something to tell. Loses nothing when dropped.
    pub(super) async fn fill(&mut self) -> Result<(), Ended> {
        if self.seat.ticket.has_ended() {
            return Err(Ended);
        }
        while self.is_exhausted() {
            if self.timer.is_due() {
                self.take(Amount::All)?;
                self.resync = Some(self.seen.clone());
                self.timer.stop();
            } else {
                self.take(Amount::Some)?;
                self.run_timer();
            }
            if self.is_exhausted() {
                tokio::select! {
                    () = self.seat.ticket.woken() => {}
                    () = self.timer.due() => {}
                }
            }
        }
        Ok(())
    }

    /// What the handler is told next; `None` if there is nothing at hand, or the cursor has ended.
    pub(super) fn next(&mut self) -> Option<Notification<T>> {
        if self.seat.ticket.has_ended() {
            return None;
        }
        if let Some(missed) = self.lagged.take() {
            return Some(Notification::Lagged { missed });
        }
        loop {
            if let Some(notification) = self.told.next() {
                return Some(notification);
            }
            self.settle();
            if let Some(change) = self.changes.next() {
                if let Some(notification) = self.open(change) {
                    return Some(notification);
                }
            } else {
                let snapshot = self.resync.take()?;
                self.told = Telling::again(self.seat.empty(), &snapshot);
            }
        }
    }

    /// The handler has taken in what it was told last.
    pub(super) fn settle(&mut self) {
        if self.beginning == Beginning::Told && self.told.is_empty() {
            self.beginning = Beginning::Known;
            self.stage.send_replace(Stage::Live);
        }
    }

    fn run_timer(&mut self) {
        if self.beginning == Beginning::Known {
            self.timer.run();
        }
    }

    fn is_exhausted(&self) -> bool {
        self.lagged.is_none()
            && self.told.is_empty()
            && self.changes.len() == 0
            && self.resync.is_none()
    }

    fn take(&mut self, amount: Amount) -> Result<(), Ended> {
        match self.seat.take(amount) {
            Taken::Changes(changes, present) => {
                self.changes = changes.into_iter();
                if let Some(present) = present {
                    self.seen = present.snapshot;
                }
            }
            Taken::Skipped(missed, present) => self.skip(missed, present),
            Taken::Ended => return Err(Ended),
        }
        Ok(())
    }

    fn skip(&mut self, missed: u64, present: Present<T>) {
        self.seat.ticket.tally.count_missed(missed);
        let origin = self.origin(present.sync);
        self.told = Telling::way(&self.seen, &present.snapshot, origin);
        self.lagged = match self.bound {
            Bound::Drop(_) => Some(missed),
            Bound::Block(_) | Bound::Coalesce => None,
        };
        self.seen = present.snapshot;
        self.settle();
    }

    fn open(&mut self, change: Change<T>) -> Option<Notification<T>> {
        match change {
            Change::Added(object) => Some(Notification::Added {
                object,
                origin: Origin::Later,
            }),
            // The cache keeps the state that it knows, so that one state is one `Arc`.
            Change::Updated { old, new } => {
                (!Arc::ptr_eq(&old, &new)).then_some(Notification::Updated { old, new })
            }
            Change::Deleted(deleted) => Some(Notification::Deleted(deleted)),
            Change::Replaced { before, after } => {
                let origin = self.origin(Sync::Done);
                self.told = Telling::way(&before, &after, origin);
                self.settle();
                None
            }
            Change::Resync(snapshot) => {
                self.told = Telling::again(self.seat.empty(), &snapshot);
                None
            }
            Change::Bookmark(_) => None,
        }
    }

    /// Where objects come from that were found in a whole state. The first is the beginning.
    fn origin(&mut self, sync: Sync) -> Origin {
        match (self.beginning, sync) {
            (Beginning::Awaited, Sync::Done) => {
                self.beginning = Beginning::Told;
                Origin::Initial
            }
            (Beginning::Awaited, Sync::Waiting) | (Beginning::Told | Beginning::Known, _) => {
                Origin::Later
            }
        }
    }
}

impl<T> Drop for Cursor<T> {
    fn drop(&mut self) {
        self.stage.send_modify(Stage::end);
    }
}
