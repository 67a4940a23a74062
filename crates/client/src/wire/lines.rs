//! Cuts a stream of bytes into lines without copying what came in one piece.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

use super::FRAME_BYTES_MAX;
use crate::SourceError;

/// Lines of a stream, as they become complete.
#[derive(Debug, Default)]
pub struct Lines {
    /// The begin of a line whose end has not come.
    begun: BytesMut,
    piece: Bytes,
}

impl Lines {
    /// Takes the next piece of the stream. All lines of the piece before must have been taken.
    pub fn push(&mut self, piece: Bytes) {
        debug_assert!(self.piece.is_empty(), "the lines before have been taken");
        self.piece = piece;
    }

    /// The next complete line, without its end; empty ones are left out.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, SourceError> {
        while let Some(end) = memchr(b'\n', &self.piece) {
            let mut line = self.piece.split_to(end + 1);
            line.truncate(end);
            if !self.begun.is_empty() {
                self.begun.extend_from_slice(&line);
                line = self.begun.split().freeze();
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
        self.begun.extend_from_slice(&self.piece);
        self.piece = Bytes::new();
        match self.begun.len() <= FRAME_BYTES_MAX {
            true => Ok(None),
            false => Err(SourceError::Unreadable {
                reason: format!("an event has more than {FRAME_BYTES_MAX} bytes"),
            }),
        }
    }

    /// Whether the stream may end here: no line has begun.
    pub fn is_complete(&self) -> bool {
        self.begun.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str]) -> (Vec<String>, bool) {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines.push(Bytes::copy_from_slice(piece.as_bytes()));
            while let Some(line) = lines.next_line().unwrap() {
                found.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
        (found, lines.is_complete())
    }

    #[test]
    fn lines_are_the_same_wherever_the_stream_is_cut() {
        let text = "one\n\ntwo\r\n three\n";
        for cut in 0..=text.len() {
            let (first, second) = text.split_at(cut);
            let expected = ["one", "two\r", " three"].map(str::to_owned);
            assert_eq!(lines(&[first, second]), (expected.to_vec(), true));
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_given_out() {
        assert_eq!(lines(&["one\ntw", "o"]), (vec!["one".to_owned()], false));
    }

    #[test]
    fn a_line_longer_than_the_bound_is_refused() {
        let mut lines = Lines::default();
        let piece = Bytes::from(vec![b'x'; FRAME_BYTES_MAX / 4]);
        for _ in 0..4 {
            lines.push(piece.clone());
            assert!(lines.next_line().is_ok());
        }
        lines.push(Bytes::from_static(b"x"));
        assert!(lines.next_line().is_err());
    }
}
