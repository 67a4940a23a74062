//! What can go wrong, by what the caller can do about it.

use std::time::Duration;

use listwatch_api::{Reason, Status, status::CAUSE_RESOURCE_VERSION_TOO_LARGE};

/// How long to wait where the server did not say.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(1);

/// Why a request gave no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RequestError {
    /// The server was never reached, so nothing has happened. Try again later.
    #[error("the server could not be reached: {reason}")]
    Unreachable {
        /// What happened, for people.
        reason: String,
    },
    /// The connection was lost before the answer. A write may have happened: read to find out.
    #[error("the connection was lost before the answer: {reason}")]
    Disconnected {
        /// What happened, for people.
        reason: String,
    },
    /// The version or the continue token is too old. List again; `0.metadata` may carry a token to
    /// go on with.
    #[error("{0}")]
    Expired(Box<Status>),
    /// The server has not got as far as this version. Wait and ask again.
    #[error("{status}")]
    NotYetReached {
        /// How long to wait.
        retry_after: Duration,
        /// What the server said.
        status: Box<Status>,
    },
    /// The server is busy and has done nothing. Wait and ask again.
    #[error("{status}")]
    TooManyRequests {
        /// How long to wait.
        retry_after: Duration,
        /// What the server said.
        status: Box<Status>,
    },
    /// The object has changed. Read it, decide again, and write again.
    #[error("{0}")]
    Conflict(Box<Status>),
    /// An object of that name is there already.
    #[error("{0}")]
    AlreadyExists(Box<Status>),
    /// There is no such object, or no such resource.
    #[error("{0}")]
    NotFound(Box<Status>),
    /// The server failed. A write may have happened: read to find out.
    #[error("{0}")]
    ServerFault(Box<Status>),
    /// The server refuses the request as it is. The same again will be refused again.
    #[error("{0}")]
    Refused(Box<Status>),
    /// The answer is not one that the protocol knows.
    #[error("the answer could not be read: {reason}")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
}

/// Why a stream ended early. Without one it ended in good order: go on from the last version.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WatchError {
    /// The server no longer knows what came next. List again.
    #[error("{0}")]
    Expired(Box<Status>),
    /// The server has no time. Wait, then go on from the last version.
    #[error("{status}")]
    TooManyRequests {
        /// How long to wait.
        retry_after: Duration,
        /// What the server said.
        status: Box<Status>,
    },
    /// The connection was lost. Go on from the last version.
    #[error("the connection was lost: {reason}")]
    Disconnected {
        /// What happened, for people.
        reason: String,
    },
    /// The server ended the stream for another reason. List again.
    #[error("{0}")]
    Failed(Box<Status>),
    /// The stream carried something that the protocol does not know. List again.
    #[error("the stream could not be read: {reason}")]
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
}

impl RequestError {
    pub(crate) fn from_status(status: Status, retry_after: Option<Duration>) -> Self {
        let retry_after = wait(&status, retry_after);
        let status = Box::new(status);
        match (status.http_code(), &status.reason) {
            (410, _) => Self::Expired(status),
            (429, _) => Self::TooManyRequests {
                retry_after,
                status,
            },
            (409, Some(Reason::AlreadyExists)) => Self::AlreadyExists(status),
            (409, _) => Self::Conflict(status),
            (404, _) => Self::NotFound(status),
            (504, _) if status.has_cause(CAUSE_RESOURCE_VERSION_TOO_LARGE) => Self::NotYetReached {
                retry_after,
                status,
            },
            (500.., _) => Self::ServerFault(status),
            _ => Self::Refused(status),
        }
    }
}

impl WatchError {
    pub(crate) fn from_status(status: Status) -> Self {
        let retry_after = wait(&status, None);
        let status = Box::new(status);
        match status.http_code() {
            410 => Self::Expired(status),
            429 => Self::TooManyRequests {
                retry_after,
                status,
            },
            _ => Self::Failed(status),
        }
    }
}

fn wait(status: &Status, header: Option<Duration>) -> Duration {
    let in_body = status.retry_after_seconds().map(u64::from);
    header
        .or(in_body.map(Duration::from_secs))
        .unwrap_or(RETRY_AFTER_DEFAULT)
}

#[cfg(test)]
mod tests {
    use listwatch_api::StatusCause;

    use super::*;

    fn failure(code: u16, reason: Reason) -> Status {
        Status::failure(code, Some(reason), "why")
    }

    #[test]
    fn a_refusal_becomes_what_the_caller_can_do() {
        let judge = |status| RequestError::from_status(status, None);
        assert!(matches!(
            judge(failure(410, Reason::Expired)),
            RequestError::Expired(_)
        ));
        assert!(matches!(
            judge(failure(409, Reason::Conflict)),
            RequestError::Conflict(_)
        ));
        let exists = judge(failure(409, Reason::AlreadyExists));
        assert!(matches!(exists, RequestError::AlreadyExists(_)));
        assert!(matches!(
            judge(failure(404, Reason::NotFound)),
            RequestError::NotFound(_)
        ));
        assert!(matches!(
            judge(failure(422, Reason::Invalid)),
            RequestError::Refused(_)
        ));
        assert!(matches!(
            judge(failure(504, Reason::Timeout)),
            RequestError::ServerFault(_)
        ));
    }

    #[test]
    fn a_version_from_the_future_is_not_a_fault_of_the_server() {
        let cause = StatusCause::new(CAUSE_RESOURCE_VERSION_TOO_LARGE, "why", "");
        let status = failure(504, Reason::Timeout).with_cause(cause);
        let error = RequestError::from_status(status, None);
        assert!(matches!(error, RequestError::NotYetReached { .. }));
    }

    #[test]
    fn the_wait_is_what_the_server_says_first_in_its_header() {
        let wait =
            |header| match RequestError::from_status(failure(429, Reason::TooManyRequests), header)
            {
                RequestError::TooManyRequests { retry_after, .. } => retry_after,
                other => panic!("{other}"),
            };
        assert_eq!(wait(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(wait(None), RETRY_AFTER_DEFAULT);
    }
}
