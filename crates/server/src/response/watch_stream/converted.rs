//! Events whose objects a webhook converts before they are sent, and by which they are judged.
//!
//! What waits for a webhook is held here until it has been sent, so that a stream can be dropped
//! and taken up again at any time. A webhook that fails ends the stream.

use std::sync::Arc;

use bytes::Bytes;
use listwatch_api::{EventType, Status};
use listwatch_store::Revision;
use tokio::time::{Instant, sleep_until};

use super::{Pending, Stage, WatchStream};
use crate::{
    custom::{Conversions, Unconverted},
    lifecycle::DrainSignal,
    registry::Definition,
    response::{body::Piece, table::ColumnDefinitions},
    watch_cache::{CachedObject, EncodingId, Event, Judge, WatchBatch, WatchEvent},
};

/// Objects of a state that are converted together.
const INITIAL_TOGETHER: usize = 500;

/// Bytes of a state that are converted together, unless a single object has more.
const INITIAL_BYTES_MAX: usize = 1024 * 1024;

/// A watch in a version into which a webhook converts.
pub(crate) struct ConvertedWatch {
    conversions: Arc<Conversions>,
    definition: Arc<Definition>,
    /// What is wanted of the converted objects, where that is not known before.
    judge: Option<Judge>,
    /// Events that have been taken and not been sent.
    pending: Option<WatchBatch>,
}

impl ConvertedWatch {
    /// A watch on objects of this kind and version, judged when they are converted if at all.
    pub(crate) fn new(
        conversions: &Arc<Conversions>,
        definition: &Arc<Definition>,
        judge: Option<Judge>,
    ) -> Self {
        Self {
            conversions: Arc::clone(conversions),
            definition: Arc::clone(definition),
            judge,
            pending: None,
        }
    }

    fn wants(&self, object: &CachedObject) -> bool {
        self.judge
            .as_ref()
            .is_none_or(|judge| judge.selects(object))
    }

    /// Objects in the version of this watch; `None` if it ends before they are.
    async fn converted(
        &self,
        mut end: End,
        objects: Vec<Arc<CachedObject>>,
    ) -> Option<Result<Vec<Arc<CachedObject>>, Unconverted>> {
        tokio::select! {
            biased;
            converted = self.conversions.objects(&self.definition, objects) => Some(converted),
            () = end.drain.draining() => None,
            () = sleep_until(end.deadline) => None,
        }
    }

    /// What is to be sent of the events that are held.
    async fn shown(
        &self,
        end: End,
        encoding: Option<EncodingId>,
    ) -> Option<Result<Vec<Shown>, Unconverted>> {
        let events = self.pending.iter().flat_map(|batch| &batch.events);
        let events: Vec<&WatchEvent> = events.collect();
        match &self.judge {
            Some(judge) => self.judged(end, judge, &events).await,
            None => self.framed(end, encoding, &events).await,
        }
    }

    /// The events with their objects converted, but for those whose frames are there already.
    async fn framed(
        &self,
        end: End,
        encoding: Option<EncodingId>,
        events: &[&WatchEvent],
    ) -> Option<Result<Vec<Shown>, Unconverted>> {
        let known: Vec<Option<Bytes>> = events
            .iter()
            .map(|event| event.event.known_frame(event.event_type, encoding?))
            .collect();
        let unknown = events
            .iter()
            .zip(&known)
            .filter(|(_, frame)| frame.is_none());
        let objects = unknown.map(|(event, _)| Arc::clone(event.event.content(event.event_type)));
        let converted = match self.converted(end, objects.collect()).await? {
            Ok(converted) => converted,
            Err(failure) => return Some(Err(failure)),
        };
        let mut converted = converted.into_iter();
        let shown = events.iter().zip(known).map(|(event, frame)| Shown {
            event_type: event.event_type,
            event: Arc::clone(&event.event),
            content: match frame {
                Some(frame) => Content::Frame(frame),
                None => Content::Object(converted.next().expect("each was converted")),
            },
        });
        Some(Ok(shown.collect()))
    }

    /// Those of the events that are wanted, by the converted objects before and after.
    async fn judged(
        &self,
        end: End,
        judge: &Judge,
        events: &[&WatchEvent],
    ) -> Option<Result<Vec<Shown>, Unconverted>> {
        let states = events.iter().flat_map(|event| {
            let states = [event.event.previous(), event.event.object()];
            states.into_iter().flatten().cloned()
        });
        let converted = match self.converted(end, states.collect()).await? {
            Ok(converted) => converted,
            Err(failure) => return Some(Err(failure)),
        };
        let mut converted = converted.into_iter();
        let mut shown = Vec::new();
        for WatchEvent { event, .. } in events {
            let before = event.previous().and_then(|_| converted.next());
            let after = event.object().and_then(|_| converted.next());
            let event_type = judge.transition([before.as_deref(), after.as_deref()]);
            let content = match event_type {
                Some(EventType::Deleted) => before,
                Some(_) => after,
                None => None,
            };
            shown.extend(event_type.zip(content).map(|(event_type, object)| Shown {
                event_type,
                event: Arc::clone(event),
                content: Content::Object(object),
            }));
        }
        Some(Ok(shown))
    }
}

/// What ends a stream whether or not its objects are converted.
struct End {
    drain: DrainSignal,
    deadline: Instant,
}

/// An event that is to be sent.
struct Shown {
    event_type: EventType,
    event: Arc<Event>,
    content: Content,
}

enum Content {
    /// Its frame, which somebody made before.
    Frame(Bytes),
    /// The object in it.
    Object(Arc<CachedObject>),
}

impl WatchStream {
    pub(super) fn has_pending(&self) -> bool {
        let conversion = self.plan.conversion.as_ref();
        conversion.is_some_and(|it| it.pending.is_some())
    }

    fn end(&self) -> End {
        End {
            drain: self.interruptions.signal.clone(),
            deadline: self.plan.deadline,
        }
    }

    /// Holds events until they are converted.
    pub(super) fn put_off(&mut self, batch: WatchBatch) {
        if let Some(conversion) = &mut self.plan.conversion {
            conversion.pending = Some(batch);
        }
    }

    /// Frames of some of the state. After the last of them comes the bookmark that says so.
    pub(super) async fn converted_initial_frames(&mut self) -> Option<Bytes> {
        let end = self.end();
        let (Stage::Initial { snapshot, next }, Some(conversion)) =
            (&self.stage, &self.plan.conversion)
        else {
            return None;
        };
        let mut bytes = 0;
        let some = snapshot.select(&self.interest, next).take(INITIAL_TOGETHER);
        let some = some.take_while(|object| {
            let is_within = bytes < INITIAL_BYTES_MAX;
            bytes += object.stored().value().len();
            is_within
        });
        let some: Vec<Arc<CachedObject>> = some.cloned().collect();
        let went_on = some.last().map(|last| {
            let mut after = last.key().as_bytes().to_vec();
            after.push(0);
            after
        });
        let shown = match conversion.converted(end, some).await {
            Some(Ok(shown)) => shown,
            Some(Err(failure)) => {
                let frame = self.end_with(&Status::from(failure));
                return Some(frame.into_bytes());
            }
            None => {
                self.stage = Stage::Ended;
                return None;
            }
        };
        let (mut buffer, mut events, now) = (Vec::new(), 0, self.plan.clock.now());
        for object in &shown {
            if !self.plan.conversion.as_ref()?.wants(object) {
                continue;
            }
            let columns = std::mem::replace(&mut self.columns, ColumnDefinitions::Omitted);
            let format = &self.plan.format;
            format.state_frame(object, (columns, now), &mut buffer);
            events += 1;
        }
        self.sent_initial(events, went_on, buffer)
    }

    /// The frames of the events that are held.
    pub(super) async fn pending_frames(&mut self) -> Pending {
        let (end, encoding) = (self.end(), self.plan.format.encoding());
        let Some(conversion) = &self.plan.conversion else {
            return Pending::Nothing;
        };
        let pending = conversion.pending.as_ref();
        let last = pending.and_then(|batch| batch.events.last());
        let last = last.map(|event| event.event.revision());
        let shown = conversion.shown(end, encoding).await;
        let shown = match shown {
            Some(Ok(shown)) => shown,
            Some(Err(failure)) => {
                self.let_go();
                return Pending::Frames(self.end_with(&Status::from(failure)));
            }
            None => {
                self.stage = Stage::Ended;
                return Pending::End;
            }
        };
        self.let_go();
        self.sent = last.unwrap_or(self.sent);
        self.shown_frames(shown)
    }

    fn let_go(&mut self) {
        if let Some(conversion) = &mut self.plan.conversion {
            conversion.pending = None;
        }
    }

    fn shown_frames(&mut self, shown: Vec<Shown>) -> Pending {
        if shown.is_empty() {
            return Pending::Nothing;
        }
        let events = shown.len() as u64;
        let frames = match self.plan.format.encoding() {
            Some(encoding) => {
                let frames = shown
                    .into_iter()
                    .map(|event| self.shown_frame(event, encoding));
                Piece::Scattered(frames.collect())
            }
            None => Piece::Whole(self.shown_rows(shown)),
        };
        self.metrics.sent(events, frames.len() as u64);
        Pending::Frames(frames)
    }

    fn shown_frame(&self, shown: Shown, encoding: EncodingId) -> Bytes {
        let Shown {
            event_type,
            event,
            content,
        } = shown;
        match content {
            Content::Frame(frame) => frame,
            Content::Object(object) => event.frame(event_type, encoding, || {
                let at = (event.revision(), ColumnDefinitions::Omitted);
                self.one_frame((event_type, &object), at)
            }),
        }
    }

    fn shown_rows(&mut self, shown: Vec<Shown>) -> Bytes {
        let mut rows = Vec::new();
        for event in shown {
            let columns = std::mem::replace(&mut self.columns, ColumnDefinitions::Omitted);
            if let Content::Object(object) = &event.content {
                let at = (event.event.revision(), columns);
                rows.extend_from_slice(&self.one_frame((event.event_type, object), at));
            }
        }
        rows.into()
    }

    fn one_frame(
        &self,
        shown: (EventType, &CachedObject),
        at: (Revision, ColumnDefinitions),
    ) -> Bytes {
        let mut buffer = Vec::new();
        self.append_frame(shown, at, &mut buffer);
        buffer.into()
    }
}
