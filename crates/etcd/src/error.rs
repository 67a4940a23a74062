//! What can go wrong, by what the caller can do about it.

use std::error::Error as _;

use thiserror::Error;
use tonic::{Code, ConnectError, Status};

/// Why a request failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// No endpoint could be connected to. Nothing was sent: ask again, later.
    #[error("etcd cannot be reached: {reason}")]
    Unreachable {
        /// What the system said.
        reason: String,
    },
    /// No answer, or none that tells the outcome: a broken connection, a timeout, no leader. A read
    /// may be asked again; a write may or may not have happened.
    #[error("no answer from etcd: {reason}")]
    Interrupted {
        /// What the system or etcd said.
        reason: String,
    },
    /// etcd has too much to do, and did nothing: ask again, later.
    #[error("etcd is overloaded: {message}")]
    Overloaded {
        /// etcd's words.
        message: String,
    },
    /// The revision is no longer kept: read the present.
    #[error("the revision has been compacted")]
    Compacted {
        /// The oldest revision still kept, where etcd told.
        oldest: Option<u64>,
    },
    /// The revision is not there yet.
    #[error("the revision is from the future")]
    FutureRevision,
    /// The lease has expired or was revoked.
    #[error("there is no such lease")]
    LeaseNotFound,
    /// The database has reached its quota: a person has to compact, defragment and disarm.
    #[error("the database is full: {message}")]
    NoSpace {
        /// etcd's words.
        message: String,
    },
    /// The credentials are missing, wrong or too weak: a person has to act.
    #[error("etcd denies it: {message}")]
    Denied {
        /// etcd's words.
        message: String,
    },
    /// The request is refused as it is.
    #[error("etcd refuses it: {message}")]
    Refused {
        /// etcd's words.
        message: String,
    },
    /// The answer lacks what the protocol promises.
    #[error("cannot understand etcd's answer: {reason}")]
    Unreadable {
        /// What is missing.
        reason: String,
    },
}

/// What a status means: an error, or that the token has to be fetched anew.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// For the caller.
    Error(Error),
    /// The token has expired, or somebody changed users or roles.
    StaleToken(String),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Error(error) => error,
            Failure::StaleToken(message) => Self::Denied { message },
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        if never_left(&status) {
            return Self::Error(Error::unreachable(&status));
        }
        let message = status.message().to_owned();
        let says = |words: &str| message.contains(words);
        let error = match status.code() {
            Code::OutOfRange if says("has been compacted") => Error::Compacted { oldest: None },
            Code::OutOfRange if says("future revision") => Error::FutureRevision,
            Code::NotFound if says("lease not found") => Error::LeaseNotFound,
            Code::ResourceExhausted if says("space exceeded") => Error::NoSpace { message },
            Code::ResourceExhausted if says("too many requests") => Error::Overloaded { message },
            Code::Unauthenticated => return Self::StaleToken(message),
            Code::InvalidArgument if says("revision of auth store is old") => {
                return Self::StaleToken(message);
            }
            Code::InvalidArgument
                if says("authentication failed") || says("user name is empty") =>
            {
                Error::Denied { message }
            }
            Code::PermissionDenied => Error::Denied { message },
            Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::ResourceExhausted
            | Code::Unimplemented => Error::Refused { message },
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss => Error::interrupted(&status),
        };
        Self::Error(error)
    }
}

impl Error {
    pub(crate) fn unreachable(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::Unreachable {
            reason: chain(error),
        }
    }

    pub(crate) fn interrupted(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::Interrupted {
            reason: chain(error),
        }
    }

    pub(crate) fn missing(what: &str) -> Self {
        Self::Unreadable {
            reason: format!("{what} is missing"),
        }
    }

    /// The error that a watch was cancelled with, of which only the text comes.
    pub(crate) fn cancelled_watch(reason: String) -> Failure {
        if reason.contains("auth token") {
            Failure::StaleToken(reason)
        } else if reason.contains("permission denied") || reason.contains("user name is empty") {
            Failure::Error(Self::Denied { message: reason })
        } else if reason.contains("has been compacted") {
            Failure::Error(Self::Compacted { oldest: None })
        } else {
            Failure::Error(Self::Refused { message: reason })
        }
    }
}

/// Whether the connection could not be made, so that no byte of the request went out.
fn never_left(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// An error with all its causes, for a person.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = match error.downcast_ref::<Status>() {
        Some(status) => status.message().to_owned(),
        None => error.to_string(),
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text = if text.is_empty() {
                words
            } else {
                format!("{text}: {words}")
            };
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: Code, message: &str) -> Error {
        Failure::from(Status::new(code, message)).into()
    }

    #[test]
    fn a_status_becomes_what_the_caller_can_do() {
        let compacted = "etcdserver: mvcc: required revision has been compacted";
        let future = "etcdserver: mvcc: required revision is a future revision";
        let lease = "etcdserver: requested lease not found";
        assert_eq!(
            error(Code::OutOfRange, compacted),
            Error::Compacted { oldest: None }
        );
        assert_eq!(error(Code::OutOfRange, future), Error::FutureRevision);
        assert_eq!(error(Code::NotFound, lease), Error::LeaseNotFound);
        assert!(matches!(
            error(
                Code::ResourceExhausted,
                "etcdserver: mvcc: database space exceeded"
            ),
            Error::NoSpace { .. }
        ));
        assert!(matches!(
            error(Code::ResourceExhausted, "etcdserver: too many requests"),
            Error::Overloaded { .. }
        ));
        assert!(matches!(
            error(Code::InvalidArgument, "etcdserver: request is too large"),
            Error::Refused { .. }
        ));
    }

    #[test]
    fn what_may_have_happened_is_never_called_refused() {
        for message in [
            "leader changed",
            "no leader",
            "request timed out",
            "server stopped",
        ] {
            let reason = format!("etcdserver: {message}");
            let expected = Error::Interrupted {
                reason: reason.clone(),
            };
            assert_eq!(error(Code::Unavailable, &reason), expected);
        }
    }

    #[test]
    fn a_token_is_stale_when_it_expired_and_when_the_rights_changed() {
        for (code, message) in [
            (Code::Unauthenticated, "etcdserver: invalid auth token"),
            (
                Code::InvalidArgument,
                "etcdserver: revision of auth store is old",
            ),
        ] {
            let failure = Failure::from(Status::new(code, message));
            assert_eq!(failure, Failure::StaleToken(message.to_owned()));
        }
    }
}
