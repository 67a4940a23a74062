//! Bytes to lines.

use bytes::{Bytes, BytesMut};

use super::WatchError;

/// The longest event that is taken: well above the largest object that a server stores. A longer
/// one ends the stream.
const LINE_BYTES_MAX: usize = 64 << 20;

/// Bytes that came, cut into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
}

impl Lines {
    /// Takes what came.
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.buffer.extend_from_slice(&bytes);
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next whole line, without its end; `None` when more has to come first.
    pub(super) fn next(&mut self) -> Option<Result<Bytes, WatchError>> {
        let end = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        match end {
            Some(end) => {
                let line = self.buffer.split_to(self.searched + end + 1).freeze();
                self.searched = 0;
                Some(Ok(line.slice(..line.len() - 1)))
            }
            None if self.buffer.len() > LINE_BYTES_MAX => Some(Err(WatchError::Unreadable {
                reason: format!("an event of more than {LINE_BYTES_MAX} bytes"),
            })),
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(lines: &mut Lines) -> Vec<Bytes> {
        std::iter::from_fn(|| lines.next())
            .map(|line| line.unwrap())
            .collect()
    }

    #[test]
    fn lines_are_put_together_however_they_are_cut() {
        let mut lines = Lines::default();
        lines.push(Bytes::from("on"));
        assert!(lines.next().is_none());
        lines.push(Bytes::from("e\ntwo\nth"));
        assert_eq!(drain(&mut lines), ["one", "two"]);
        assert!(!lines.is_empty());
        lines.push(Bytes::from("ree\n"));
        assert_eq!(drain(&mut lines), ["three"]);
        assert!(lines.is_empty());
    }

    #[test]
    fn a_line_without_end_is_refused_at_the_bound() {
        let mut lines = Lines::default();
        lines.push(Bytes::from(vec![b'x'; LINE_BYTES_MAX + 1]));
        assert!(matches!(
            lines.next(),
            Some(Err(WatchError::Unreadable { .. }))
        ));
    }
}
