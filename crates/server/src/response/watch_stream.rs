//! A watch from its first frame to its last.
//!
//! First the state, where it was asked for, straight from a snapshot; then events as they come;
//! bookmarks in between and at the end. Frames that are ready together leave together.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use listwatch_api::{EventType, Status};
use listwatch_store::Revision;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    body::Piece,
    format::{Bookmark, Format},
    table::ColumnDefinitions,
};
use crate::{
    clock::Clock,
    lifecycle::{DrainSignal, DrainWait},
    metrics::WatchMetrics,
    watch_cache::{
        EncodingId, Interest, Snapshot, WatchBatch, WatchError, WatchEvent, Watcher,
        resource_version,
    },
};

/// Bytes of frames that leave together. A watcher that does not read holds this much and no more.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a client asked of a watch.
pub(crate) struct WatchPlan {
    pub(crate) format: Format,
    pub(crate) bookmarks: Bookmarks,
    pub(crate) bookmark_interval: Duration,
    pub(crate) deadline: Instant,
    pub(crate) clock: Clock,
}

impl WatchPlan {
    /// When a stream has something to do again, whatever happens.
    fn wakes_at(&self, next_bookmark: Instant) -> Instant {
        match self.bookmarks {
            Bookmarks::Off => self.deadline,
            Bookmarks::On | Bookmarks::OnWithInitialEnd => next_bookmark.min(self.deadline),
        }
    }
}

/// Where a stream begins.
pub(crate) struct Beginning {
    /// The state to send first.
    pub(crate) snapshot: Option<Snapshot>,
    /// The revision after which events are wanted.
    pub(crate) after: Revision,
    /// Follows them.
    pub(crate) watcher: Watcher,
}

/// Whether a client wants to know how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bookmarks {
    /// No.
    Off,
    /// Yes.
    On,
    /// Yes, and also when the state has been sent completely.
    OnWithInitialEnd,
}

/// Where a stream is.
enum Stage {
    /// The state is being sent; `next` is the key to go on from.
    Initial { snapshot: Snapshot, next: Vec<u8> },
    /// Events are sent as they come.
    Live,
    /// The last frame has been sent.
    Ended,
}

/// The frames of one watch.
pub(crate) struct WatchStream {
    plan: WatchPlan,
    interest: Interest,
    stage: Stage,
    watcher: Watcher,
    signal: DrainSignal,
    draining: DrainWait,
    /// Wakes the stream at the next bookmark, or at its end.
    alarm: Pin<Box<Sleep>>,
    metrics: WatchMetrics,
    columns: ColumnDefinitions,
    /// The revision that the client was last told of by a bookmark, or began at.
    told: Revision,
    /// The revision of the last event that was sent.
    sent: Revision,
    silence: Silence,
}

/// Whether a stream has carried anything yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    Unbroken,
    Broken,
}

impl WatchStream {
    /// A stream that sends the snapshot, if there is one, and then what the watcher sees.
    pub(crate) fn new(
        plan: WatchPlan,
        Beginning {
            snapshot,
            after: told,
            watcher,
        }: Beginning,
        interest: Interest,
        (signal, metrics): (DrainSignal, WatchMetrics),
    ) -> Self {
        let next_bookmark = Instant::now() + plan.bookmark_interval;
        let wakes_at = plan.wakes_at(next_bookmark);
        let stage = match snapshot {
            Some(snapshot) => Stage::Initial {
                snapshot,
                next: Vec::new(),
            },
            None => Stage::Live,
        };
        let columns = ColumnDefinitions::Included;
        Self {
            plan,
            interest,
            stage,
            watcher,
            draining: signal.wait(),
            signal,
            alarm: Box::pin(sleep_until(wakes_at)),
            metrics,
            columns,
            told,
            sent: Revision::ZERO,
            silence: Silence::Unbroken,
        }
    }

    /// The next frames, once there are any; `None` after the last. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Piece> {
        let frames = self.frames().await;
        if frames.is_some() {
            self.silence = Silence::Broken;
        }
        frames
    }

    async fn frames(&mut self) -> Option<Piece> {
        loop {
            match &self.stage {
                Stage::Initial { .. } => {
                    if let Some(frames) = self.initial_frames() {
                        return Some(Piece::Whole(frames));
                    }
                }
                Stage::Live => return self.live().await,
                Stage::Ended => return None,
            }
        }
    }

    /// Frames of the state. After the last of them comes the bookmark that says so.
    fn initial_frames(&mut self) -> Option<Bytes> {
        let Stage::Initial { snapshot, next } = &mut self.stage else {
            return None;
        };
        let mut buffer = Vec::new();
        let (mut events, now) = (0, self.plan.clock.now());
        let mut rest = snapshot.select(&self.interest, next);
        let went_on = loop {
            let Some(object) = rest.next() else {
                break None;
            };
            let version = resource_version(object.revision());
            let columns = std::mem::replace(&mut self.columns, ColumnDefinitions::Omitted);
            let stored = (object.stored(), version);
            self.plan
                .format
                .frame(EventType::Added, stored, (columns, now), &mut buffer);
            events += 1;
            if buffer.len() >= CHUNK_BYTES {
                let mut after = object.key().as_bytes().to_vec();
                after.push(0);
                break Some(after);
            }
        };
        drop(rest);
        self.metrics.initial(events);
        self.metrics.sent(events, buffer.len() as u64);
        match went_on {
            Some(key) => *next = key,
            None => {
                let revision = snapshot.revision();
                self.stage = Stage::Live;
                self.told = revision;
                if self.plan.bookmarks == Bookmarks::OnWithInitialEnd {
                    self.bookmark(revision, Bookmark::InitialEventsEnd, &mut buffer);
                }
            }
        }
        (!buffer.is_empty()).then(|| buffer.into())
    }

    /// Waits for events, for the time to send a bookmark, or for the end.
    async fn live(&mut self) -> Option<Piece> {
        loop {
            // What is due comes before events that do not end.
            let due = self.due();
            let woken = match due {
                Some(woken) => woken,
                None => tokio::select! {
                    biased;
                    batch = self.watcher.next(CHUNK_BYTES) => Woken::Events(batch),
                    () = &mut self.draining => Woken::End,
                    () = self.alarm.as_mut() => Woken::Time,
                },
            };
            let frames = match woken {
                Woken::Events(Ok(batch)) => {
                    let last = batch.events.last().map(|event| event.event.revision());
                    self.sent = last.unwrap_or(self.sent);
                    self.event_frames(&batch)
                }
                Woken::Events(Err(error)) => Some(self.failed(&error)),
                Woken::Time if self.alarm.deadline() < self.plan.deadline => self.due_bookmark(),
                Woken::Time | Woken::End => return self.last_bookmark(),
            };
            if frames.is_some() {
                return frames;
            }
        }
    }

    /// What must not wait for the watcher to be silent.
    fn due(&mut self) -> Option<Woken> {
        if self.signal.is_draining() {
            return Some(Woken::End);
        }
        (Instant::now() >= self.alarm.deadline()).then_some(Woken::Time)
    }

    /// The frames of events, shared with every other watch that wants the same.
    fn event_frames(&mut self, batch: &WatchBatch) -> Option<Piece> {
        let frames = match (self.plan.format.encoding(), batch.events.as_slice()) {
            (Some(encoding), [event]) => Piece::Whole(self.frame(event, encoding)),
            (Some(encoding), events) => {
                let frames = events.iter().map(|event| self.frame(event, encoding));
                Piece::Scattered(frames.collect())
            }
            (None, events) => Piece::Whole(self.rows(events)),
        };
        let bytes = frames.len();
        self.metrics.sent(batch.events.len() as u64, bytes as u64);
        (bytes > 0).then_some(frames)
    }

    fn frame(&self, event: &WatchEvent, encoding: EncodingId) -> Bytes {
        event.event.frame(event.event_type, encoding, || {
            let mut buffer = Vec::new();
            self.append_frame(event, ColumnDefinitions::Omitted, &mut buffer);
            buffer.into()
        })
    }

    /// Rows tell how old an object is, so that each watch makes its own.
    fn rows(&mut self, events: &[WatchEvent]) -> Bytes {
        let mut buffer = Vec::new();
        for event in events {
            let columns = std::mem::replace(&mut self.columns, ColumnDefinitions::Omitted);
            self.append_frame(event, columns, &mut buffer);
        }
        buffer.into()
    }

    fn append_frame(&self, event: &WatchEvent, columns: ColumnDefinitions, buffer: &mut Vec<u8>) {
        let WatchEvent { event_type, event } = event;
        let object = event.content(*event_type).stored();
        let version = resource_version(event.revision());
        let now = self.plan.clock.now();
        self.plan
            .format
            .frame(*event_type, (object, version), (columns, now), buffer);
    }

    /// A bookmark, if it tells the client anything that it does not know. In the middle of a
    /// difference it would go back behind events that have been sent.
    fn due_bookmark(&mut self) -> Option<Piece> {
        let next_bookmark = Instant::now() + self.plan.bookmark_interval;
        let wakes_at = self.plan.wakes_at(next_bookmark);
        self.alarm.as_mut().reset(wakes_at);
        let position = self.watcher.position();
        let tells_nothing = position <= self.told || position < self.sent;
        if self.plan.bookmarks == Bookmarks::Off || tells_nothing {
            return None;
        }
        let mut buffer = Vec::new();
        self.bookmark(position, Bookmark::Progress, &mut buffer);
        Some(Piece::Whole(buffer.into()))
    }

    /// The bookmark before the end. Where nothing else came, it says at least that.
    fn last_bookmark(&mut self) -> Option<Piece> {
        self.stage = Stage::Ended;
        let is_silent = self.silence == Silence::Unbroken && self.watcher.has_begun();
        if self.plan.bookmarks == Bookmarks::Off || !is_silent {
            return self.due_bookmark();
        }
        let mut buffer = Vec::new();
        let position = self.watcher.position();
        self.bookmark(position, Bookmark::Progress, &mut buffer);
        Some(Piece::Whole(buffer.into()))
    }

    fn bookmark(&mut self, revision: Revision, bookmark: Bookmark, buffer: &mut Vec<u8>) {
        self.told = revision;
        let columns = std::mem::replace(&mut self.columns, ColumnDefinitions::Omitted);
        let row = (columns, self.plan.clock.now());
        self.plan
            .format
            .bookmark(bookmark, resource_version(revision), row, buffer);
    }

    /// The last frame of a watch that cannot go on: why, so that the client knows what to do.
    fn failed(&mut self, error: &WatchError) -> Piece {
        self.stage = Stage::Ended;
        self.metrics.expired();
        Piece::Whole(error_frame(&Status::from(error.clone())))
    }
}

enum Woken {
    Events(Result<WatchBatch, WatchError>),
    Time,
    End,
}

/// The frame that ends a stream with a `Status`.
pub(crate) fn error_frame(status: &Status) -> Bytes {
    let status = serde_json::to_string(status).expect("a Status is JSON");
    format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n").into()
}
