//! Lines out of pieces that are cut anywhere.

/// Keeps the beginning of a line whose end has not come.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Hands each line that ends in this piece to `each`, without its end.
    pub(crate) fn feed(&mut self, mut piece: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            if self.begun.is_empty() {
                each(&piece[..end]);
            } else {
                self.begun.extend_from_slice(&piece[..end]);
                each(&self.begun);
                self.begun.clear();
            }
            piece = &piece[end + 1..];
        }
        self.begun.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"one\ntwo two\n\nthree\nrest";
        for cut in 0..=text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for piece in [&text[..cut], &text[cut..]] {
                lines.feed(piece, |line| found.push(line.to_vec()));
            }
            assert_eq!(found, [&b"one"[..], b"two two", b"", b"three"]);
        }
    }
}
