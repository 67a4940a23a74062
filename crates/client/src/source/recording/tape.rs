//! Where a recorder writes: one line after the other, up to a bound.

use std::{
    fmt,
    io::{self, Write},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

use super::format::{FORMAT, Finished, Header, LastLine, Line, What, microseconds};
use crate::{InitialEvents, SourceError};

/// The smallest recording: the first line and the last fit into it. A smaller bound counts as this.
pub const RECORDING_BYTES_MIN: u64 = 256;

/// What is kept free for the last line.
const LAST_LINE_BYTES_MAX: u64 = 64;

/// How a recording is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingState {
    /// It goes on.
    Recording {
        /// Its length so far.
        bytes: u64,
    },
    /// It has ended as it should.
    Complete {
        /// Its length.
        bytes: u64,
    },
    /// It has ended at its bound.
    Full {
        /// Its length.
        bytes: u64,
    },
    /// It could not be written. What was written before may end in the middle of a line.
    Failed {
        /// What the writer said.
        reason: String,
    },
}

/// The lines that have been written, and the clock that they are told by.
pub(super) struct Tape {
    begun: Instant,
    bytes_max: u64,
    state: Mutex<State>,
}

struct State {
    writer: Box<dyn Write + Send>,
    recording: RecordingState,
    requests: u64,
}

/// One request on the tape. Dropped before its end, it says so.
pub(super) struct RequestTrack {
    number: u64,
    /// None after the end.
    tape: Option<Arc<Tape>>,
}

impl Tape {
    pub(super) fn new(
        writer: Box<dyn Write + Send>,
        bytes_max: u64,
        initial_events: InitialEvents,
    ) -> Self {
        let bytes_max = bytes_max.max(RECORDING_BYTES_MIN);
        let mut state = State {
            writer,
            recording: RecordingState::Recording { bytes: 0 },
            requests: 0,
        };
        let header = Header {
            listwatch_recording: FORMAT,
            initial_events,
        };
        state.write(&header, bytes_max);
        Self {
            begun: Instant::now(),
            bytes_max,
            state: Mutex::new(state),
        }
    }

    /// Notes that a request begins.
    pub(super) fn begin(self: &Arc<Self>, what: What) -> RequestTrack {
        let mut state = self.state.lock();
        state.requests += 1;
        let number = state.requests;
        self.write(&mut state, number, || what);
        RequestTrack {
            number,
            tape: Some(Arc::clone(self)),
        }
    }

    pub(super) fn state(&self) -> RecordingState {
        self.state.lock().recording.clone()
    }

    /// Writes the last line. Nothing is recorded any more.
    pub(super) fn finish(&self) -> RecordingState {
        let mut state = self.state.lock();
        state.finish(Finished::Complete);
        state.recording.clone()
    }

    fn write(&self, state: &mut State, request: u64, what: impl FnOnce() -> What) {
        if !matches!(state.recording, RecordingState::Recording { .. }) {
            return;
        }
        let line = Line {
            at_us: microseconds(self.begun.elapsed()),
            request,
            what: what(),
        };
        state.write(&line, self.bytes_max);
    }
}

impl State {
    fn write(&mut self, line: &impl Serialize, bytes_max: u64) {
        let RecordingState::Recording { bytes } = self.recording else {
            return;
        };
        let mut text = serde_json::to_vec(line).expect("lines have texts for keys");
        text.push(b'\n');
        let bytes = bytes + text.len() as u64;
        if bytes + LAST_LINE_BYTES_MAX > bytes_max {
            tracing::warn!(bytes_max, "the recording is full and ends");
            return self.finish(Finished::Full { bytes_max });
        }
        self.recording = match self.writer.write_all(&text) {
            Ok(()) => RecordingState::Recording { bytes },
            Err(error) => failed(&error),
        };
    }

    fn finish(&mut self, finished: Finished) {
        let RecordingState::Recording { bytes } = self.recording else {
            return;
        };
        let mut text = serde_json::to_vec(&LastLine { finished }).expect("it has texts for keys");
        text.push(b'\n');
        let bytes = bytes + text.len() as u64;
        let written = self.writer.write_all(&text);
        self.recording = match (written.and_then(|()| self.writer.flush()), finished) {
            (Ok(()), Finished::Complete) => RecordingState::Complete { bytes },
            (Ok(()), Finished::Full { .. }) => RecordingState::Full { bytes },
            (Err(error), _) => failed(&error),
        };
    }
}

fn failed(error: &io::Error) -> RecordingState {
    tracing::warn!(%error, "the recording cannot be written and ends");
    RecordingState::Failed {
        reason: error.to_string(),
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.finish();
    }
}

impl RequestTrack {
    /// Notes something after which more may come.
    pub(super) fn note(&self, what: impl FnOnce() -> What) {
        if let Some(tape) = &self.tape {
            tape.write(&mut tape.state.lock(), self.number, what);
        }
    }

    /// Notes the end.
    pub(super) fn end(&mut self, what: impl FnOnce() -> What) {
        self.note(what);
        self.tape = None;
    }

    /// Notes an error, which is the end.
    pub(super) fn fail(&mut self, error: &SourceError) {
        self.end(|| What::Failed(error.clone()));
    }
}

impl Drop for RequestTrack {
    fn drop(&mut self) {
        self.end(|| What::Dropped);
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state().fmt(formatter)
    }
}
