//! Answers that say no, and what to do about it.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use listwatch_api::{
    Status,
    media_type::{Encoding, Preferences},
};

use super::{accepted::encode, body::Body, cbor_items, messages};
use crate::{
    request::Query,
    watch_cache::{CacheError, WatchError},
};

/// Seconds after which a client may try again that came when there was no room.
const OVERLOADED_RETRY_SECONDS: &str = "1";

/// What a client says about the answers it takes.
pub(crate) fn preferences<'a>(headers: &'a HeaderMap, query: &'a Query) -> Preferences<'a> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    Preferences {
        accept: text(header::ACCEPT),
        user_agent: text(header::USER_AGENT),
        query: query.typed(),
    }
}

/// An answer that is a `Status`.
pub(crate) fn status(status: &Status, headers: &HeaderMap, query: &Query) -> Response<Body> {
    let representation = preferences(headers, query).negotiate_refusal();
    let body = match representation.encoding {
        Encoding::Protobuf => messages::status_document(status),
        Encoding::Cbor => cbor_items::status_document(status),
        Encoding::Json | Encoding::Yaml => {
            let json = serde_json::to_vec(status).expect("a Status is JSON");
            encode(representation, json)
        }
    };
    let mut response = Response::new(Body::Whole(body.into()));
    *response.status_mut() =
        StatusCode::from_u16(status.http_code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static(representation.encoding.content_type());
    headers.insert(header::CONTENT_TYPE, content_type);
    if let Some(seconds) = status.retry_after_seconds() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// An answer that is a code and nothing else.
pub(crate) fn bare(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
}

/// An answer that is a JSON document.
pub(crate) fn json(document: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::Whole(document.into()));
    let content_type = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}

/// The answer for a path at which nothing ever is.
pub(crate) fn not_found_page() -> Response<Body> {
    plain_text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// The answer when there is no room for the request.
pub(crate) fn too_many_requests() -> Response<Body> {
    let text = "Too many requests, please try again later.\n";
    let mut response = plain_text(StatusCode::TOO_MANY_REQUESTS, text);
    let retry = HeaderValue::from_static(OVERLOADED_RETRY_SECONDS);
    response.headers_mut().insert(header::RETRY_AFTER, retry);
    response
}

/// An answer for people.
pub(crate) fn plain_text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::Whole(text.into()));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Why a list at exactly one resourceVersion is not there.
pub(crate) fn exact_list_failed(error: CacheError) -> Status {
    match error {
        CacheError::Expired { .. } => Status::expired_list(),
        CacheError::TooLarge { requested, current } => {
            Status::too_large_resource_version(requested.get(), current.get(), None)
        }
        other => Status::from(other),
    }
}

impl From<CacheError> for Status {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::TooLarge { requested, current } => {
                Self::too_large_resource_version(requested.get(), current.get(), Some(1))
            }
            CacheError::Expired { requested, oldest } => {
                Self::expired_watch(requested.get(), oldest.get())
            }
            CacheError::Overloaded { reason } => Self::too_many_requests(reason, 1),
            CacheError::Unavailable { reason } => Self::service_unavailable(reason),
            CacheError::Overlapping { .. } => Self::internal(&error.to_string()),
        }
    }
}

impl From<WatchError> for Status {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Expired { requested, oldest } => {
                Self::expired_watch(requested.get(), oldest.get())
            }
            WatchError::Removed => Self::unknown_resource(),
            WatchError::Unavailable { reason } => Self::service_unavailable(reason),
        }
    }
}
