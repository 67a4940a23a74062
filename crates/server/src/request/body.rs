//! The body of a request, and its reading.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use listwatch_api::Status;
use tokio::time::timeout;

/// Bytes of one request body. A longer one is refused before it is read to its end.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// What a request carries.
pub(crate) enum RequestBody {
    /// It comes over a connection.
    Incoming(Incoming),
    /// It is here, from a client in the same process.
    Whole(Bytes),
}

impl From<Incoming> for RequestBody {
    fn from(body: Incoming) -> Self {
        Self::Incoming(body)
    }
}

/// Reads a body to its end, within its bounds in bytes and time.
pub(crate) async fn read_body(body: RequestBody) -> Result<Bytes, Status> {
    let body = match body {
        RequestBody::Incoming(body) => body,
        RequestBody::Whole(bytes) if bytes.len() > BODY_BYTES_MAX => return Err(too_large()),
        RequestBody::Whole(bytes) => return Ok(bytes),
    };
    timeout(BODY_TIMEOUT, collect(body))
        .await
        .unwrap_or_else(|_| {
            Err(Status::timeout(
                "the body of the request did not arrive",
                None,
            ))
        })
}

async fn collect(mut body: Incoming) -> Result<Bytes, Status> {
    // Most bodies come in one piece, which is taken as it is.
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Status::bad_request(format!("the body could not be read: {error}")))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + joined.len() + data.len() > BODY_BYTES_MAX {
            return Err(too_large());
        }
        if first.is_empty() && joined.is_empty() {
            first = data;
            continue;
        }
        joined.extend_from_slice(&std::mem::take(&mut first));
        joined.extend_from_slice(&data);
    }
    Ok(if joined.is_empty() {
        first
    } else {
        joined.freeze()
    })
}

fn too_large() -> Status {
    Status::request_entity_too_large(&format!("limit is {BODY_BYTES_MAX}"))
}
