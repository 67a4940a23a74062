//! What an answer of the server means in a history.

use std::time::Duration;

use crate::client::{Bookmark, Deleted, RequestError, WatchError, WatchEvent};
use anyhow::anyhow;
use listwatch_api::ResourceVersion;
use serde_json::Value;

use crate::history::{
    Answerer, Ending, Frame, ListEnd, ObjectVersion, Page, Refusal, WriteOutcome, parse_version,
};

/// What a server answers that cannot serve now: while it stops, or without its store. Nothing was
/// written.
const UNAVAILABLE: u16 = 503;

pub(crate) fn object(answer: Value) -> anyhow::Result<ObjectVersion> {
    ObjectVersion::from_json(answer).map_err(|reason| anyhow!(reason))
}

pub(crate) fn version(text: &str) -> anyhow::Result<ResourceVersion> {
    parse_version(text).map_err(|reason| anyhow!(reason))
}

pub(crate) fn page(page: crate::client::Page, answerer: Answerer) -> anyhow::Result<Page> {
    let items = page.items.into_iter().map(object);
    Ok(Page {
        at: version(&page.resource_version)?,
        items: items.collect::<anyhow::Result<_>>()?,
        remaining: page.remaining_item_count,
        answerer,
    })
}

pub(crate) fn frame(event: WatchEvent) -> anyhow::Result<Frame> {
    Ok(match event {
        WatchEvent::Added(answer) => Frame::Added(object(answer)?),
        WatchEvent::Modified(answer) => Frame::Modified(object(answer)?),
        WatchEvent::Deleted(answer) => Frame::Deleted(object(answer)?),
        WatchEvent::Bookmark(Bookmark::Progress(text)) => Frame::Bookmark(version(&text)?),
        WatchEvent::Bookmark(Bookmark::InitialEventsEnd(text)) => {
            Frame::InitialEventsEnd(version(&text)?)
        }
    })
}

/// What came of a write; `None` when it was never sent.
pub(crate) fn write_outcome(
    answer: Result<Value, RequestError>,
) -> anyhow::Result<Option<WriteOutcome>> {
    match answer {
        Ok(answer) => Ok(Some(WriteOutcome::Stored(object(answer)?))),
        Err(error) => Ok(failed_write(error)),
    }
}

/// What came of a delete; `None` when it was never sent.
pub(crate) fn delete_outcome(
    answer: Result<Deleted, RequestError>,
) -> anyhow::Result<Option<WriteOutcome>> {
    match answer {
        Ok(Deleted::Gone(status)) => {
            let uid = status
                .details
                .map(|details| details.uid)
                .unwrap_or_default();
            Ok(Some(WriteOutcome::Deleted { uid }))
        }
        Ok(Deleted::Marked(answer)) => Err(anyhow!("deleted only in part: {answer}")),
        Err(error) => Ok(failed_write(error)),
    }
}

fn failed_write(error: RequestError) -> Option<WriteOutcome> {
    let refused = |refusal| Some(WriteOutcome::Refused(refusal));
    match error {
        RequestError::Unreachable { .. } => None,
        RequestError::ServerFault(status) if status.http_code() == UNAVAILABLE => {
            refused(Refusal::Busy)
        }
        RequestError::Disconnected { .. }
        | RequestError::ServerFault(_)
        | RequestError::Unreadable { .. } => Some(WriteOutcome::Unknown),
        RequestError::Conflict(_) => refused(Refusal::Conflict),
        RequestError::AlreadyExists(_) => refused(Refusal::AlreadyExists),
        RequestError::NotFound(_) => refused(Refusal::NotFound),
        RequestError::TooManyRequests { .. } => refused(Refusal::Busy),
        RequestError::Expired(status)
        | RequestError::NotYetReached { status, .. }
        | RequestError::Refused(status) => refused(Refusal::Other(status.message)),
    }
}

pub(crate) fn list_end(error: &RequestError) -> ListEnd {
    match error {
        RequestError::Unreachable { .. } | RequestError::Disconnected { .. } => ListEnd::CutShort,
        RequestError::Expired(_) => ListEnd::Expired,
        RequestError::TooManyRequests { .. } => ListEnd::Busy,
        RequestError::ServerFault(status) if status.http_code() == UNAVAILABLE => ListEnd::Busy,
        // The versions asked for had been shown to somebody, so the server must have them.
        other => ListEnd::Refused(other.to_string()),
    }
}

/// How a watch ended that was not even opened; `None` when it was never sent.
pub(crate) fn refused_watch(error: RequestError) -> Option<Ending> {
    match error {
        RequestError::Unreachable { .. } => None,
        RequestError::Disconnected { .. } => Some(Ending::Lost),
        RequestError::Expired(_) => Some(Ending::Expired),
        RequestError::TooManyRequests { .. } => Some(Ending::Busy),
        RequestError::ServerFault(status) if status.http_code() == UNAVAILABLE => {
            Some(Ending::Busy)
        }
        other => Some(Ending::Refused(other.to_string())),
    }
}

pub(crate) fn ended_watch(error: WatchError) -> Ending {
    match error {
        WatchError::Expired(_) => Ending::Expired,
        WatchError::TooManyRequests { .. } => Ending::Busy,
        WatchError::Disconnected { .. } => Ending::Lost,
        WatchError::Failed(status) if status.http_code() == UNAVAILABLE => Ending::Busy,
        WatchError::Failed(status) => Ending::Refused(status.message),
        WatchError::Unreadable { reason } => Ending::Refused(reason),
    }
}

/// How long a client waits before it asks a busy server again.
pub(crate) const BUSY_PAUSE: Duration = Duration::from_millis(50);
