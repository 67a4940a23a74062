//! What others can see of a reflector: its status, its metrics, its log lines.

use std::time::Duration;

use metrics::{Counter, Histogram};
use tokio::{sync::watch, time::Instant};

use super::{
    error::{ReflectorError, RelistCause},
    phase::Phase,
    position::Position,
};
use crate::{RawEvent, RawObject, SourceError, Version, lister_watcher::Unreadable};

/// What a reflector is doing and how far it has got.
#[derive(Clone, Debug)]
pub struct ReflectorStatus {
    /// What it is doing.
    pub phase: Phase,
    /// The version up to which everything has been pushed into the queue; `None` before the first
    /// fill.
    pub version: Option<Version>,
    /// When the source last said anything: a state, an event or a bookmark.
    pub last_heard: Option<Instant>,
    /// What has happened so far.
    pub counts: Counts,
}

/// What has happened since a reflector began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests for a list; each page is one.
    pub lists: u64,
    /// Requests for a watch.
    pub watches: u64,
    /// Times that everything had to be fetched again; repeated tries of one fetch are not counted.
    pub relists: u64,
    /// Events, bookmarks among them.
    pub events: u64,
    /// Objects that could not be decoded, as often as they came.
    pub set_aside: u64,
    /// Everything that went wrong.
    pub errors: u64,
}

/// Tells the world. Its end tells that the reflector has stopped.
pub(super) struct Reporter {
    name: String,
    status: watch::Sender<ReflectorStatus>,
    lists: Counter,
    list_duration: Histogram,
    watches: Counter,
    events: Counter,
    set_aside: Counter,
    bytes: Counter,
}

impl ReflectorStatus {
    /// Whether a watch is open now.
    pub fn is_watching(&self) -> bool {
        self.phase == Phase::Watching
    }
}

impl Reporter {
    pub(super) fn new(name: &str) -> Self {
        let status = ReflectorStatus {
            phase: Phase::Starting,
            version: None,
            last_heard: None,
            counts: Counts::default(),
        };
        let labels = [("reflector", name.to_owned())];
        let counter = |metric: &'static str| metrics::counter!(metric, &labels);
        Self {
            name: name.to_owned(),
            status: watch::Sender::new(status),
            lists: counter("listwatch_reflector_lists_total"),
            list_duration: metrics::histogram!(
                "listwatch_reflector_list_duration_seconds",
                &labels
            ),
            watches: counter("listwatch_reflector_watches_total"),
            events: counter("listwatch_reflector_events_total"),
            set_aside: counter("listwatch_reflector_set_aside_total"),
            bytes: counter("listwatch_reflector_bytes_total"),
        }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<ReflectorStatus> {
        self.status.subscribe()
    }

    pub(super) fn enter(&self, phase: Phase) {
        tracing::debug!(?phase);
        self.status.send_modify(|status| status.phase = phase);
    }

    pub(super) fn heard(&self, position: &Position) {
        self.status.send_modify(|status| {
            status.version = position.version().cloned();
            status.last_heard = Some(Instant::now());
        });
    }

    pub(super) fn lists_begun(&self, pages: u64) {
        self.lists.increment(pages);
        self.count(|counts| counts.lists += pages);
    }

    pub(super) fn listed(&self, duration: Duration) {
        self.list_duration.record(duration);
    }

    pub(super) fn watch_begun(&self) {
        self.watches.increment(1);
        self.count(|counts| counts.watches += 1);
    }

    pub(super) fn received(&self, events: &[RawEvent]) {
        let number = events.len() as u64;
        self.events.increment(number);
        self.bytes.increment(events.iter().map(event_bytes).sum());
        self.count(|counts| counts.events += number);
    }

    pub(super) fn received_items(&self, items: &[Result<RawObject, Unreadable>]) {
        let bytes = items.iter().map(|item| match item {
            Ok(raw) => raw.body.len() as u64,
            Err(unreadable) => unreadable.raw.len() as u64,
        });
        self.bytes.increment(bytes.sum());
    }

    pub(super) fn set_aside(&self) {
        self.set_aside.increment(1);
        self.count(|counts| counts.set_aside += 1);
    }

    pub(super) fn relist(&self, cause: RelistCause) {
        let labels = [
            ("reflector", self.name.clone()),
            ("cause", cause.as_str().to_owned()),
        ];
        metrics::counter!("listwatch_reflector_relists_total", &labels).increment(1);
        self.count(|counts| counts.relists += 1);
    }

    pub(super) fn failed(&self, error: &ReflectorError) {
        self.count(|counts| counts.errors += 1);
        match error {
            ReflectorError::Watch(
                SourceError::Expired { .. } | SourceError::Disconnected { .. },
            )
            | ReflectorError::StreamingList(SourceError::Refused { .. }) => {
                tracing::info!("{error}");
            }
            ReflectorError::List(_)
            | ReflectorError::StreamingList(_)
            | ReflectorError::Watch(_)
            | ReflectorError::ShortWatch
            | ReflectorError::CutStream
            | ReflectorError::SilentWatch { .. }
            | ReflectorError::NoVersion
            | ReflectorError::Inconsistent { .. } => tracing::warn!("{error}"),
        }
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        self.status.send_if_modified(|status| {
            change(&mut status.counts);
            false
        });
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.enter(Phase::Stopped);
    }
}

fn event_bytes(event: &RawEvent) -> u64 {
    match event {
        RawEvent::Added(raw) | RawEvent::Modified(raw) | RawEvent::Deleted(raw) => {
            raw.body.len() as u64
        }
        RawEvent::Unreadable(unreadable) => unreadable.raw.len() as u64,
        RawEvent::Bookmark(_) => 0,
    }
}
