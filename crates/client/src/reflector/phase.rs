//! The phases of a reflector, and which of them follows a failed watch.

use std::time::Duration;

use super::{connection::Connection, patience::Patience};
use crate::SourceError;

/// What a reflector is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not running yet, or about to choose how to fetch the whole state.
    Starting,
    /// Reading the whole state from the beginning of a watch.
    StreamingList,
    /// Reading the whole state from a list.
    Listing,
    /// Asking for a watch.
    Connecting,
    /// Reading a watch.
    Watching,
    /// Waiting after an error.
    BackingOff,
    /// Ended: told to stop, dropped, or its queue was closed.
    Stopped,
}

/// A phase with what it works on.
pub(super) enum Step {
    /// Chooses how to fetch the whole state.
    Filling,
    /// Fetches it as the beginning of a watch. `cuts` streams have ended too early so far.
    StreamingList { cuts: u32 },
    /// Fetches it as a list.
    Listing,
    /// Asks for a watch from the last version.
    Connecting,
    /// Follows a watch.
    Watching(Connection),
    /// Waits.
    BackingOff { delay: Duration, next: Next },
}

/// What comes after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Filling,
    StreamingList { cuts: u32 },
    Listing,
    Connecting,
}

impl Step {
    pub(super) fn phase(&self) -> Phase {
        match self {
            Self::Filling => Phase::Starting,
            Self::StreamingList { .. } => Phase::StreamingList,
            Self::Listing => Phase::Listing,
            Self::Connecting => Phase::Connecting,
            Self::Watching(_) => Phase::Watching,
            Self::BackingOff { .. } => Phase::BackingOff,
        }
    }
}

impl From<Next> for Step {
    fn from(next: Next) -> Self {
        match next {
            Next::Filling => Self::Filling,
            Next::StreamingList { cuts } => Self::StreamingList { cuts },
            Next::Listing => Self::Listing,
            Next::Connecting => Self::Connecting,
        }
    }
}

/// Whether the version is still good to watch from, or everything has to be fetched again.
///
/// A source that cannot be reached, or is busy, has said nothing about the version.
pub(super) fn after_failed_watch(error: &SourceError, patience: &mut Patience) -> Next {
    match error {
        SourceError::TooManyRequests { .. }
        | SourceError::ConnectionRefused { .. }
        | SourceError::Disconnected { .. } => Next::Connecting,
        SourceError::Internal { .. } => patience.after_internal_error(),
        SourceError::Expired { .. }
        | SourceError::TooLarge { .. }
        | SourceError::Denied { .. }
        | SourceError::Refused { .. }
        | SourceError::Unreadable { .. } => Next::Filling,
    }
}
