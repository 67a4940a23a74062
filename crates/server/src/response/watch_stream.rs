//! A watch from its first frame to its last.
//!
//! First the state, where it was asked for, straight from a snapshot; then events as they come;
//! bookmarks in between and at the end. Frames that are ready together leave together.

mod converted;

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use listwatch_api::{EventType, Status};
use listwatch_store::Revision;
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) use converted::ConvertedWatch;

use super::{
    body::Piece,
    format::{Bookmark, Format},
    table::ColumnDefinitions,
};
use crate::{
    clock::Clock,
    lifecycle::{DrainSignal, DrainWait, Phase},
    metrics::WatchMetrics,
    watch_cache::{
        CachedObject, EncodingId, Interest, Snapshot, WatchBatch, WatchError, WatchEvent, Watcher,
        resource_version,
    },
};

/// Bytes of frames that leave together. A watcher that does not read holds this much and no more.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a client asked of a watch.
pub(crate) struct WatchPlan {
    pub(crate) format: Format,
    /// Who converts what is stored in another version; `None` where nobody is asked.
    pub(crate) conversion: Option<Box<ConvertedWatch>>,
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
    interruptions: Interruptions,
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
            interruptions: Interruptions::new(signal, wakes_at),
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
                    let frames = match self.plan.conversion {
                        None => self.initial_frames(),
                        Some(_) => Box::pin(self.converted_initial_frames()).await,
                    };
                    if let Some(frames) = frames {
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
            let columns = std::mem::replace(&mut self.columns, ColumnDefinitions::Omitted);
            self.plan
                .format
                .state_frame(object, (columns, now), &mut buffer);
            events += 1;
            if buffer.len() >= CHUNK_BYTES {
                let mut after = object.key().as_bytes().to_vec();
                after.push(0);
                break Some(after);
            }
        };
        drop(rest);
        self.sent_initial(events, went_on, buffer)
    }

    /// Goes on with the state at a key, or after the last object with events.
    fn sent_initial(
        &mut self,
        events: u64,
        went_on: Option<Vec<u8>>,
        mut buffer: Vec<u8>,
    ) -> Option<Bytes> {
        self.metrics.initial(events);
        self.metrics.sent(events, buffer.len() as u64);
        let Stage::Initial { snapshot, next } = &mut self.stage else {
            return None;
        };
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
            if self.has_pending() {
                match Box::pin(self.pending_frames()).await {
                    Pending::Frames(frames) => return Some(frames),
                    Pending::Nothing => {}
                    Pending::End => return None,
                }
            }
            let frames = match self.woken().await {
                Woken::Events(Ok(batch)) if self.plan.conversion.is_some() => {
                    self.put_off(batch);
                    continue;
                }
                Woken::Events(Ok(batch)) => {
                    let last = batch.events.last().map(|event| event.event.revision());
                    self.sent = last.unwrap_or(self.sent);
                    self.event_frames(&batch)
                }
                Woken::Events(Err(error)) => Some(self.failed(&error)),
                Woken::Time if self.interruptions.next_at() < self.plan.deadline => {
                    self.due_bookmark()
                }
                Woken::Time | Woken::End => return self.last_bookmark(),
            };
            if frames.is_some() {
                return frames;
            }
        }
    }

    async fn woken(&mut self) -> Woken {
        let mut events = pin!(self.watcher.next(CHUNK_BYTES));
        poll_fn(|context| {
            // They do not wait for a watcher that is never silent.
            if let Some(due) = self.interruptions.due() {
                return Poll::Ready(due);
            }
            match events.as_mut().poll(context) {
                Poll::Ready(batch) => Poll::Ready(Woken::Events(batch)),
                Poll::Pending => self.interruptions.poll(context),
            }
        })
        .await
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
            let shown = (event.event_type, &**event.event.content(event.event_type));
            let at = (event.event.revision(), ColumnDefinitions::Omitted);
            self.append_frame(shown, at, &mut buffer);
            buffer.into()
        })
    }

    /// Rows tell how old an object is, so that each watch makes its own.
    fn rows(&mut self, events: &[WatchEvent]) -> Bytes {
        let mut buffer = Vec::new();
        for event in events {
            let columns = std::mem::replace(&mut self.columns, ColumnDefinitions::Omitted);
            let shown = (event.event_type, &**event.event.content(event.event_type));
            self.append_frame(shown, (event.event.revision(), columns), &mut buffer);
        }
        buffer.into()
    }

    fn append_frame(
        &self,
        (event_type, object): (EventType, &CachedObject),
        (revision, columns): (Revision, ColumnDefinitions),
        buffer: &mut Vec<u8>,
    ) {
        let version = resource_version(revision);
        let now = self.plan.clock.now();
        let shown = (object.stored(), version);
        self.plan
            .format
            .frame(event_type, shown, (columns, now), buffer);
    }

    /// A bookmark, if it tells the client anything that it does not know. In the middle of a
    /// difference it would go back behind events that have been sent.
    fn due_bookmark(&mut self) -> Option<Piece> {
        let next_bookmark = Instant::now() + self.plan.bookmark_interval;
        let wakes_at = self.plan.wakes_at(next_bookmark);
        self.interruptions.postpone(wakes_at);
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
        self.metrics.expired();
        self.end_with(&Status::from(error.clone()))
    }

    fn end_with(&mut self, status: &Status) -> Piece {
        self.stage = Stage::Ended;
        Piece::Whole(self.plan.format.error_frame(status))
    }
}

/// What a stream does whether or not there are events.
struct Interruptions {
    signal: DrainSignal,
    draining: DrainWait,
    /// Wakes the stream at the next bookmark, or at its end.
    alarm: Pin<Box<Sleep>>,
    /// Who is woken by both. While that stays the same they need not be told again.
    woken: Option<Waker>,
}

impl Interruptions {
    fn new(signal: DrainSignal, at: Instant) -> Self {
        Self {
            draining: signal.wait(),
            signal,
            alarm: Box::pin(sleep_until(at)),
            woken: None,
        }
    }

    /// When the next comes by itself.
    fn next_at(&self) -> Instant {
        self.alarm.deadline()
    }

    fn postpone(&mut self, at: Instant) {
        self.alarm.as_mut().reset(at);
        self.woken = None;
    }

    /// What has come.
    fn due(&mut self) -> Option<Woken> {
        match self.signal.news() {
            Some(Phase::Draining) => return Some(Woken::End),
            // Its wait was woken for this and must go on.
            Some(_) => self.woken = None,
            None => {}
        }
        (Instant::now() >= self.next_at()).then_some(Woken::Time)
    }

    /// Waits for what has not come.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Woken> {
        let waker = context.waker();
        if self
            .woken
            .as_ref()
            .is_some_and(|woken| woken.will_wake(waker))
        {
            return Poll::Pending;
        }
        self.woken = None;
        if self.draining.as_mut().poll(context).is_ready() {
            return Poll::Ready(Woken::End);
        }
        if self.alarm.as_mut().poll(context).is_ready() {
            return Poll::Ready(Woken::Time);
        }
        self.woken = Some(waker.clone());
        Poll::Pending
    }
}

/// What came of events that had to be converted.
enum Pending {
    /// The frames of those that are wanted.
    Frames(Piece),
    /// None of them was wanted.
    Nothing,
    /// The stream ended before.
    End,
}

enum Woken {
    Events(Result<WatchBatch, WatchError>),
    Time,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::Lifecycle;

    const LATER: Duration = Duration::from_secs(60);

    /// Waits in a task of its own for what interrupts a stream.
    fn waiting(lifecycle: &Lifecycle) -> tokio::task::JoinHandle<Woken> {
        let signal = lifecycle.drain_signal();
        let mut interruptions = Interruptions::new(signal, Instant::now() + LATER);
        tokio::spawn(async move {
            let wait = poll_fn(|context| match interruptions.due() {
                Some(due) => Poll::Ready(due),
                None => interruptions.poll(context),
            });
            wait.await
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_hears_of_its_end_also_after_another_phase() {
        let lifecycle = Lifecycle::default();
        let waiting = waiting(&lifecycle);
        for phase in [Phase::Serving, Phase::Draining] {
            tokio::task::yield_now().await;
            lifecycle.advance(phase);
        }
        assert!(matches!(waiting.await, Ok(Woken::End)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_events_is_woken_at_its_time() {
        let (lifecycle, begun) = (Lifecycle::default(), Instant::now());
        let waiting = waiting(&lifecycle);
        assert!(matches!(waiting.await, Ok(Woken::Time)));
        assert!(begun.elapsed() >= LATER && begun.elapsed() < LATER * 2);
    }
}
