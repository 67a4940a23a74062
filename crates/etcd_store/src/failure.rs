//! etcd's errors in the store's words.

use listwatch_etcd::Error;
use listwatch_store::{ChangesError, CommitError, ReadError};

/// Why a read failed, where it is not about revisions.
pub(crate) fn read_error(error: Error) -> ReadError {
    let reason = error.to_string();
    match error {
        Error::Overloaded { .. } => ReadError::Overloaded { reason },
        _ => ReadError::Unavailable { reason },
    }
}

/// Why a transaction failed.
pub(crate) fn commit_error(error: Error) -> CommitError {
    let reason = error.to_string();
    match error {
        Error::Overloaded { .. } => CommitError::Overloaded { reason },
        Error::NoSpace { .. } => CommitError::Full { reason },
        Error::Refused { .. } => CommitError::Invalid { reason },
        Error::Interrupted { .. } | Error::Unreadable { .. } => CommitError::Unknown { reason },
        Error::Unreachable { .. }
        | Error::Compacted { .. }
        | Error::FutureRevision
        | Error::LeaseNotFound
        | Error::Denied { .. } => CommitError::Unavailable { reason },
    }
}

/// Why a watch ended, where it is not about revisions.
pub(crate) fn changes_error(error: &Error) -> ChangesError {
    ChangesError::Unavailable {
        reason: error.to_string(),
    }
}
