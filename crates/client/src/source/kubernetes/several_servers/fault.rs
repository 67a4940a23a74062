//! What is wrong with a server, as far as another could do better.

use std::{fmt, time::Duration};

use http::{Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper_util::client::legacy;
use kube::client::Body;

use super::super::failure::{chain, reasons};
use crate::{SourceError, wire::Status};

/// Bytes of a refusal that are read to see what it is about.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// Why another server is asked.
#[derive(Debug)]
pub(super) enum Fault {
    /// No connection was made, so that nothing was sent.
    Unreached { reason: String },
    /// The connection broke before an answer.
    Broken { reason: String },
    /// No answer began in time.
    Silent { waited: Duration },
    /// The server says that it cannot answer now.
    Unavailable,
    /// The server has not heard yet of the version that was asked for.
    Behind,
}

impl Fault {
    /// Whether the server cannot have done what it was asked to.
    pub(super) fn is_before_anything_was_sent(&self) -> bool {
        match self {
            Self::Unreached { .. } => true,
            Self::Broken { .. } | Self::Silent { .. } | Self::Unavailable | Self::Behind => false,
        }
    }

    /// Its name in metrics.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Unreached { .. } => "unreached",
            Self::Broken { .. } => "broken",
            Self::Silent { .. } => "silent",
            Self::Unavailable => "unavailable",
            Self::Behind => "behind",
        }
    }

    /// What an error says about the server; `None` if it is about the request.
    pub(super) fn of_error(error: &kube::Error) -> Option<Self> {
        let sending = chain(error).find_map(|error| error.downcast_ref::<legacy::Error>())?;
        let reason = reasons(error);
        Some(match sending.is_connect() {
            true => Self::Unreached { reason },
            false => Self::Broken { reason },
        })
    }
}

/// What the answer to a write says about the server.
pub(super) fn of_answer_to_write(response: &Response<Body>) -> Option<Fault> {
    let is_unavailable = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    is_unavailable.then_some(Fault::Unavailable)
}

/// What the answer to a read says about the server, and the answer as it was.
pub(super) async fn of_answer_to_read(response: Response<Body>) -> (Response<Body>, Option<Fault>) {
    match response.status() {
        StatusCode::SERVICE_UNAVAILABLE => (response, Some(Fault::Unavailable)),
        StatusCode::GATEWAY_TIMEOUT => of_timeout(response).await,
        _ => (response, None),
    }
}

/// A server that is behind says so in the body. Whatever else took too long, takes long elsewhere.
async fn of_timeout(response: Response<Body>) -> (Response<Body>, Option<Fault>) {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, REFUSAL_BYTES_MAX).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let status = serde_json::from_slice::<Status>(&body).ok();
    let is_behind = status.is_some_and(|mut status| {
        status.code = Some(head.status.as_u16());
        matches!(status.into_error(), SourceError::TooLarge { .. })
    });
    let response = Response::from_parts(head, Body::from(body));
    (response, is_behind.then_some(Fault::Behind))
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreached { reason } => write!(formatter, "cannot connect: {reason}"),
            Self::Broken { reason } => write!(formatter, "connection lost: {reason}"),
            Self::Silent { waited } => write!(formatter, "no answer for {waited:?}"),
            Self::Unavailable => formatter.write_str("it cannot answer now (503)"),
            Self::Behind => formatter.write_str("it is behind the version asked for"),
        }
    }
}
