//! What goes wrong for a reflector. It goes on by itself; this is for people and counters.

use std::time::Duration;

use thiserror::Error;

use crate::{SourceError, Version};

/// The longest wait that a source can ask for. Beyond it, it is asked again all the same.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);

/// What went wrong.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReflectorError {
    /// A list failed.
    #[error("cannot list: {0}")]
    List(#[source] SourceError),
    /// The state could not be read from the beginning of a watch.
    #[error("cannot stream the state: {0}")]
    StreamingList(#[source] SourceError),
    /// A watch failed.
    #[error("cannot watch: {0}")]
    Watch(#[source] SourceError),
    /// A watch was closed at once without having told anything.
    #[error("the watch was closed at once and told nothing")]
    ShortWatch,
    /// The watch that streams the state was closed before the state was complete.
    #[error("the watch was closed before the state was complete")]
    CutStream,
    /// A watch told nothing for too long.
    #[error("the watch told nothing for {silent_for:?}")]
    SilentWatch {
        /// How long it was waited for.
        silent_for: Duration,
    },
    /// A list came without a version, so that nothing can be watched from there.
    #[error("the list has no version to watch from")]
    NoVersion,
    /// The state that was streamed is not the state that a list shows.
    #[error("the streamed state of version {version} differs from its list ({differences})")]
    Inconsistent {
        /// The version of both.
        version: Version,
        /// How many keys are on one side only, or have another version there.
        differences: usize,
    },
}

/// Why everything was fetched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelistCause {
    /// The source no longer keeps the version.
    Expired,
    /// The source does not have the version yet.
    TooLarge,
    /// The watch was too short.
    ShortWatch,
    /// A list had no version.
    NoVersion,
    /// The streamed state was wrong.
    Inconsistent,
    /// The source failed otherwise.
    Failed,
}

impl RelistCause {
    /// Its name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::TooLarge => "too_large",
            Self::ShortWatch => "short_watch",
            Self::NoVersion => "no_version",
            Self::Inconsistent => "inconsistent",
            Self::Failed => "failed",
        }
    }
}

impl ReflectorError {
    /// When the source wants to be asked again, if it said so.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let asked = match self.source_error()? {
            SourceError::TooManyRequests { retry_after, .. }
            | SourceError::TooLarge { retry_after, .. } => *retry_after,
            SourceError::Expired { .. }
            | SourceError::ConnectionRefused { .. }
            | SourceError::Disconnected { .. }
            | SourceError::Denied { .. }
            | SourceError::Internal { .. }
            | SourceError::Refused { .. }
            | SourceError::Unreadable { .. } => None,
        };
        asked.map(|asked| asked.min(RETRY_AFTER_MAX))
    }

    pub(super) fn cause(&self) -> RelistCause {
        match (self, self.source_error()) {
            (_, Some(SourceError::Expired { .. })) => RelistCause::Expired,
            (_, Some(SourceError::TooLarge { .. })) => RelistCause::TooLarge,
            (Self::ShortWatch | Self::CutStream, _) => RelistCause::ShortWatch,
            (Self::NoVersion, _) => RelistCause::NoVersion,
            (Self::Inconsistent { .. }, _) => RelistCause::Inconsistent,
            (
                Self::List(_) | Self::StreamingList(_) | Self::Watch(_) | Self::SilentWatch { .. },
                _,
            ) => RelistCause::Failed,
        }
    }

    fn source_error(&self) -> Option<&SourceError> {
        match self {
            Self::List(error) | Self::StreamingList(error) | Self::Watch(error) => Some(error),
            Self::ShortWatch
            | Self::CutStream
            | Self::SilentWatch { .. }
            | Self::NoVersion
            | Self::Inconsistent { .. } => None,
        }
    }
}
