//! One event of a watch.

use bytes::Bytes;
use serde::Deserialize;

use super::{
    cursor::{Cursor, Next, unescape},
    header::{Header, Malformed},
    label_pool::LabelPool,
    status::Status,
};
use crate::{RawEvent, SourceError, Version, lister_watcher::Bookmark};

/// What one frame of a watch says.
#[derive(Debug)]
pub enum WatchFrame {
    /// Something to pass on; the stream goes on.
    Event(RawEvent),
    /// The server has ended the watch.
    Failed(SourceError),
}

/// Reads one frame: `{"type":…,"object":…}`, with nothing after it but white space.
pub fn read_frame(frame: Bytes, labels: &mut LabelPool) -> WatchFrame {
    match understand(&frame, labels) {
        Ok(understood) => understood,
        Err(malformed) => WatchFrame::Event(RawEvent::Unreadable(malformed.into_unreadable(frame))),
    }
}

fn understand(frame: &Bytes, labels: &mut LabelPool) -> Result<WatchFrame, Malformed> {
    let mut cursor = Cursor::new(frame);
    let mut event_type = None;
    let mut object = None;
    let mut next = cursor.open(b'{', b'}')?;
    while next == Next::Another {
        match &*cursor.name()? {
            b"type" => event_type = Some(unescape(cursor.string()?)?),
            b"object" => {
                cursor.peek();
                let begin = cursor.position();
                let header = Header::read(&mut cursor)?;
                object = Some((header, frame.slice(begin..cursor.position())));
            }
            _ => cursor.skip()?,
        }
        next = cursor.more(b'}')?;
    }
    if cursor.peek().is_some() {
        return Err(Malformed::new("something follows the event"));
    }
    let event_type = event_type.ok_or(Malformed::new("the event has no type"))?;
    let (header, body) = object.ok_or(Malformed::new("the event has no object"))?;
    let event = match &*event_type {
        "ADDED" => RawEvent::Added(header.object(&body, labels)?),
        "MODIFIED" => RawEvent::Modified(header.object(&body, labels)?),
        "DELETED" => RawEvent::Deleted(header.object(&body, labels)?),
        "BOOKMARK" => RawEvent::Bookmark(bookmark(&header, &body)?),
        "ERROR" => return Ok(WatchFrame::Failed(failure(&body))),
        _ => return Err(Malformed::new("the type of the event is unknown")),
    };
    Ok(WatchFrame::Event(event))
}

fn bookmark(header: &Header<'_>, body: &[u8]) -> Result<Bookmark, Malformed> {
    let version = Version::parse(&header.version);
    let version = version.ok_or(Malformed::new("the bookmark has no version"))?;
    let annotated: Annotated =
        serde_json::from_slice(body).map_err(|_| Malformed::new("the bookmark is not JSON"))?;
    let annotations = annotated.metadata.annotations.unwrap_or_default();
    match annotations.initial_events_end.as_deref() {
        Some("true") => Ok(Bookmark::InitialEventsEnd(version)),
        Some(_) | None => Ok(Bookmark::Progress(version)),
    }
}

fn failure(body: &[u8]) -> SourceError {
    match serde_json::from_slice::<Status>(body) {
        Ok(status) => status.into_error(),
        Err(error) => SourceError::Unreadable {
            reason: format!("the error of the watch is no status: {error}"),
        },
    }
}

#[derive(Deserialize)]
struct Annotated {
    metadata: AnnotatedMetadata,
}

#[derive(Deserialize)]
struct AnnotatedMetadata {
    annotations: Option<Annotations>,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

#[cfg(test)]
mod tests;
