//! What the scripted server sends.

use std::{array, mem, sync::Arc};

use listwatch::{
    RawEvent, SourceError,
    lister_watcher::{BoxFuture, EventStream, ListPart, ListStream},
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::error_of;
use crate::script::StreamEnd;

/// One page of a list, all there from the beginning.
pub(super) struct Page {
    parts: array::IntoIter<ListPart, 2>,
}

impl Page {
    pub(super) fn new(parts: [ListPart; 2]) -> Self {
        Self {
            parts: parts.into_iter(),
        }
    }
}

impl ListStream for Page {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        let part = self.parts.next().expect("nobody asks after the end");
        Box::pin(async { Ok(part) })
    }
}

/// The server's end of a watch. It holds no more than what one script says.
#[derive(Default)]
pub(super) struct Stream {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    events: Vec<RawEvent>,
    phase: Phase,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// The end of the initial events is held back.
    Held,
    Ended(StreamEnd),
}

impl Stream {
    pub(super) fn send(&self, event: RawEvent) {
        let mut state = self.state.lock();
        match state.phase {
            Phase::Open | Phase::Held => state.events.push(event),
            Phase::Ended(_) => {}
        }
        self.changed.notify_one();
    }

    pub(super) fn end(&self, end: StreamEnd) {
        self.state.lock().phase = Phase::Ended(end);
        self.changed.notify_one();
    }

    pub(super) fn hold(&self) {
        self.state.lock().phase = Phase::Held;
    }

    /// Lets the initial events end; says whether that was held back.
    pub(super) fn release(&self) -> bool {
        let mut state = self.state.lock();
        let is_held = state.phase == Phase::Held;
        if is_held {
            state.phase = Phase::Open;
        }
        is_held
    }

    fn take(&self) -> Option<Option<Result<Vec<RawEvent>, SourceError>>> {
        let mut state = self.state.lock();
        if !state.events.is_empty() {
            return Some(Some(Ok(mem::take(&mut state.events))));
        }
        match state.phase {
            Phase::Open | Phase::Held => None,
            Phase::Ended(StreamEnd::GoodOrder) => Some(None),
            Phase::Ended(StreamEnd::Disconnected) => {
                let reason = String::from("as the script says");
                Some(Some(Err(SourceError::Disconnected { reason })))
            }
            Phase::Ended(StreamEnd::Error(fault)) => Some(Some(Err(error_of(fault)))),
        }
    }
}

/// The informer's end of a watch.
pub(super) struct Receiver {
    stream: Arc<Stream>,
}

impl Receiver {
    pub(super) fn new(stream: Arc<Stream>) -> Self {
        Self { stream }
    }
}

impl EventStream for Receiver {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async {
            loop {
                if let Some(next) = self.stream.take() {
                    return next;
                }
                self.stream.changed.notified().await;
            }
        })
    }
}
