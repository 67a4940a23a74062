//! The handle on one handler: has it seen the beginning, how is it doing, and away with it.

use std::{fmt, sync::Arc};

use thiserror::Error;
use tokio::sync::watch;

use super::{HandlerStatus, log::Ticket};

/// A handler that was added to an informer.
///
/// Dropping it changes nothing: the handler stays until [`Registration::remove`], or until the
/// informer stops. Clones are about the same handler.
#[derive(Clone)]
pub struct Registration {
    ticket: Arc<Ticket>,
    stage: watch::Receiver<Stage>,
}

/// How far a handler has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not been told all that was there at its beginning.
    Syncing,
    /// It has.
    Live,
    /// It ended before it had.
    EndedEarly,
    /// It ended after.
    Ended,
}

/// The handler was removed, or its informer stopped, before it had seen the initial state.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the handler was removed before it had seen the initial state")]
pub struct HandlerRemoved;

impl Registration {
    pub(super) fn new(ticket: Arc<Ticket>, stage: watch::Receiver<Stage>) -> Self {
        Self { ticket, stage }
    }

    /// Whether the informer has synced and this handler has taken in all that was there then.
    pub fn has_synced(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Live | Stage::Ended)
    }

    /// Waits until the handler has taken in the initial state.
    pub async fn synced(&self) -> Result<(), HandlerRemoved> {
        let mut stage = self.stage.clone();
        let reached = stage.wait_for(|stage| *stage != Stage::Syncing).await;
        match reached.map(|stage| *stage) {
            Ok(Stage::Live | Stage::Ended) => Ok(()),
            Ok(Stage::Syncing | Stage::EndedEarly) | Err(_) => Err(HandlerRemoved),
        }
    }

    /// Removes the handler. What waits for it is dropped; a call that is under way ends by itself.
    /// Removing it again, or after the informer stopped, changes nothing. May be called from
    /// within the handler.
    pub fn remove(&self) {
        self.ticket.end();
    }

    /// Waits until the handler has been removed, its last call has returned and it was dropped.
    pub async fn removed(&self) {
        let mut stage = self.stage.clone();
        // An error says that the other end is gone, which is what we wait for.
        let _ = stage.wait_for(|stage| stage.has_ended()).await;
    }

    /// Removes the handler and waits for its end.
    pub async fn shut_down(&self) {
        self.remove();
        self.removed().await;
    }

    /// What the handler has done and has to do.
    pub fn status(&self) -> HandlerStatus {
        self.ticket.tally.status()
    }
}

impl Stage {
    pub(super) fn end(&mut self) {
        *self = match self {
            Self::Syncing | Self::EndedEarly => Self::EndedEarly,
            Self::Live | Self::Ended => Self::Ended,
        };
    }

    fn has_ended(self) -> bool {
        matches!(self, Self::EndedEarly | Self::Ended)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Registration")
            .field("stage", &*self.stage.borrow())
            .field("status", &self.status())
            .finish()
    }
}
