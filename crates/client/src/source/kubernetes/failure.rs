//! What went wrong, by what to do next.

use std::{error::Error, io};

use http::{Response, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;

use crate::{SourceError, wire::Status};

/// Bytes of an error's body that are read; a longer one is not looked at.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Characters of a text that is no `Status`, such as a proxy's page, that are passed on.
const TEXT_CHARACTERS_MAX: usize = 200;

/// A request that was not answered, or an answer that broke off.
pub(super) fn of_connection(error: &kube::Error) -> SourceError {
    let reason = reasons(error);
    match error {
        kube::Error::Auth(_) => SourceError::Denied {
            code: 401,
            message: reason,
        },
        _ if is_refused(error) => SourceError::ConnectionRefused { reason },
        _ => SourceError::Disconnected { reason },
    }
}

/// An answer that is no success. A `Retry-After` header counts where the body says nothing.
pub(super) async fn of_answer(response: Response<Body>) -> SourceError {
    let code = response.status().as_u16();
    let seconds = response.headers().get(header::RETRY_AFTER);
    let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
    let body = Limited::new(response.into_body(), BODY_BYTES_MAX);
    let body = body.collect().await.map(|body| body.to_bytes());
    let body = body.unwrap_or_default();
    let mut status = serde_json::from_slice(&body).unwrap_or_else(|_| Status {
        message: Some(beginning(&body)),
        ..Status::default()
    });
    status.code = Some(code);
    let details = status.details.get_or_insert_default();
    details.retry_after_seconds = details.retry_after_seconds.or(seconds);
    status.into_error()
}

fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    text.trim().chars().take(TEXT_CHARACTERS_MAX).collect()
}

/// The error and what caused it, outermost first.
pub(super) fn chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn is_refused(error: &kube::Error) -> bool {
    chain(error).any(|error| {
        let error = error.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// Most errors repeat the text of their cause: what is said already is not said again.
pub(super) fn reasons(error: &kube::Error) -> String {
    chain(error).fold(String::new(), |said, error| {
        let text = error.to_string();
        match said.contains(&text) {
            true => said,
            false if said.is_empty() => text,
            false => format!("{said}: {text}"),
        }
    })
}
