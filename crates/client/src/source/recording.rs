//! What a source said, kept with its errors and its timing, to be said again.
//!
//! [`Recorder`] stands between a source and whoever asks it; [`Replay`] stands in for the source.
//! `docs/recording-format.md` describes what lies between the two. A recording holds everything
//! that was said, secrets included.

mod format;
mod reader;
mod recorder;
mod replay;
mod tape;
#[cfg(test)]
mod tests;

pub use self::{
    reader::RecordingError,
    recorder::Recorder,
    replay::{AfterEnd, Replay, Speed},
    tape::{RECORDING_BYTES_MIN, RecordingState},
};
