//! Watch streams: one JSON event per line, typed.

mod lines;

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use listwatch_api::{ResourceVersion, Status};
use serde::Deserialize;
use serde_json::Value;

use self::lines::Lines;
use super::{
    Client, Collection, Freshness, RequestError, WatchError, collection::push_query,
    connection::chain,
};

/// What of a collection to watch.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Only objects with these labels, such as `app=web,tier!=test`.
    pub label_selector: Option<String>,
    /// Only objects with these fields, such as `metadata.name=web`.
    pub field_selector: Option<String>,
    /// Where to begin.
    pub start: WatchStart,
    /// Whether to be told of progress.
    pub bookmarks: Bookmarks,
    /// After how long, in whole seconds, the server ends the stream; its own choice otherwise.
    pub timeout: Option<Duration>,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// With the changes after this version.
    After(ResourceVersion),
    /// With the state as [`WatchEvent::Added`] events, then its changes.
    State(Freshness),
}

/// Whether a watcher wants to be told of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bookmarks {
    /// Yes.
    Wanted,
    /// No.
    Unwanted,
}

/// What a stream carries.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The object exists and was not seen before.
    Added(Value),
    /// The object changed.
    Modified(Value),
    /// The object is gone or no longer selected; this is its last state.
    Deleted(Value),
    /// Everything up to a version has been sent.
    Bookmark(Bookmark),
}

/// A version to go on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bookmark {
    /// Everything up to this version has been sent.
    Progress(String),
    /// The state has been sent; it is that of this version.
    InitialEventsEnd(String),
}

/// Events as they come. Dropping it cuts the connection.
#[derive(Debug)]
pub struct WatchStream {
    source: Source,
    lines: Lines,
}

#[derive(Debug)]
enum Source {
    Open(Incoming),
    Ended,
}

impl Client {
    /// Opens a watch. The stream may still bring [`WatchError::Expired`] as its first event.
    pub async fn watch(
        &self,
        collection: &Collection,
        options: &WatchOptions,
    ) -> Result<WatchStream, RequestError> {
        let body = self.open(&options.path(collection)).await?;
        Ok(WatchStream {
            source: Source::Open(body),
            lines: Lines::default(),
        })
    }
}

impl WatchOptions {
    fn path(&self, collection: &Collection) -> String {
        let yes = || Some("true".to_owned());
        let (resource_version, version_match, initial_events) = match self.start {
            WatchStart::After(version) => (Some(version.to_string()), None, None),
            WatchStart::State(freshness) => {
                let (resource_version, _) = freshness.parameters();
                (resource_version, Some("NotOlderThan".to_owned()), yes())
            }
        };
        let bookmarks = match self.bookmarks {
            Bookmarks::Wanted => yes(),
            Bookmarks::Unwanted => None,
        };
        let mut path = collection.path();
        push_query(
            &mut path,
            [
                ("watch", yes()),
                ("labelSelector", self.label_selector.clone()),
                ("fieldSelector", self.field_selector.clone()),
                ("resourceVersion", resource_version),
                ("resourceVersionMatch", version_match),
                ("sendInitialEvents", initial_events),
                ("allowWatchBookmarks", bookmarks),
                (
                    "timeoutSeconds",
                    self.timeout.map(|timeout| timeout.as_secs().to_string()),
                ),
            ],
        );
        path
    }
}

impl WatchStream {
    /// The next event; `None` when the server has ended the stream in good order. After an error
    /// nothing more comes.
    ///
    /// Cancel safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        let event = self.next_event().await;
        if !matches!(event, Some(Ok(_))) {
            self.source = Source::Ended;
            self.lines = Lines::default();
        }
        event
    }

    async fn next_event(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(line.and_then(|line| parse(&line)));
            }
            let Source::Open(body) = &mut self.source else {
                return None;
            };
            match body.frame().await {
                Some(Ok(frame)) => self.lines.push(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => {
                    let reason = chain(&error);
                    return Some(Err(WatchError::Disconnected { reason }));
                }
                None if self.lines.is_empty() => return None,
                None => {
                    let reason = "the stream ended within an event".to_owned();
                    return Some(Err(WatchError::Disconnected { reason }));
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    event_type: String,
    object: Value,
}

fn parse(line: &[u8]) -> Result<WatchEvent, WatchError> {
    let unreadable = |reason: String| WatchError::Unreadable { reason };
    let Line { event_type, object } =
        serde_json::from_slice(line).map_err(|error| unreadable(error.to_string()))?;
    match event_type.as_str() {
        "ADDED" => Ok(WatchEvent::Added(object)),
        "MODIFIED" => Ok(WatchEvent::Modified(object)),
        "DELETED" => Ok(WatchEvent::Deleted(object)),
        "BOOKMARK" => bookmark(&object)
            .map(WatchEvent::Bookmark)
            .ok_or_else(|| unreadable(format!("a bookmark without resourceVersion: {object}"))),
        "ERROR" => {
            let status: Status =
                serde_json::from_value(object).map_err(|error| unreadable(error.to_string()))?;
            Err(WatchError::from_status(status))
        }
        other => Err(unreadable(format!("an event of type {other:?}"))),
    }
}

fn bookmark(object: &Value) -> Option<Bookmark> {
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str()?.to_owned();
    let end = metadata["annotations"]["k8s.io/initial-events-end"] == "true";
    Some(if end {
        Bookmark::InitialEventsEnd(version)
    } else {
        Bookmark::Progress(version)
    })
}

#[cfg(test)]
mod tests;
