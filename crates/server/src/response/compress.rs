//! gzip, piece by piece.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, header};

/// Compresses pieces as they are sent, at the level where a network is slower than the compressor.
pub(crate) struct Compressor(GzEncoder<Vec<u8>>);

impl Compressor {
    pub(crate) fn new() -> Self {
        Self(GzEncoder::new(Vec::new(), Compression::fast()))
    }

    /// What can be sent after this piece; may be empty.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.0
            .write_all(piece)
            .expect("compressing into memory cannot fail");
        std::mem::take(self.0.get_mut())
    }

    /// One piece as a gzip member of its own, so that nothing is kept between two of them.
    ///
    /// A reader may look for the next member before it hands on the end of this one, so all of the
    /// piece comes before a flush mark.
    pub(crate) fn member(piece: &[u8]) -> Vec<u8> {
        let mut compressor = Self::new();
        let mut member = compressor.push(piece);
        compressor
            .0
            .flush()
            .expect("compressing into memory cannot fail");
        member.extend(compressor.finish());
        member
    }

    /// What remains to be sent.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
            .finish()
            .expect("compressing into memory cannot fail")
    }
}

/// Whether a client takes gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING);
    accepted
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0"));
            matches!(name, "gzip" | "*") && !refused
        })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use http::HeaderValue;

    use super::*;

    #[test]
    fn pieces_decompress_to_what_they_were() {
        let mut compressor = Compressor::new();
        let mut sent = compressor.push(b"hello ");
        sent.extend(compressor.push(b"world"));
        sent.extend(compressor.finish());
        let mut text = String::new();
        flate2::read::GzDecoder::new(sent.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "hello world");
    }

    #[test]
    fn a_member_can_be_read_before_the_next_one_begins() {
        const FLUSH_MARK: [u8; 4] = [0, 0, 0xff, 0xff];
        let member = Compressor::member(b"hello world");
        let mut text = String::new();
        flate2::read::GzDecoder::new(member.as_slice())
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "hello world");
        assert!(member.windows(4).any(|bytes| bytes == FLUSH_MARK));
    }

    #[test]
    fn gzip_is_taken_when_named_and_not_refused() {
        let accepts = |text| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            accepts_gzip(&headers)
        };
        assert!(accepts("gzip") && accepts("br, gzip;q=0.5") && accepts("*"));
        assert!(!accepts("identity") && !accepts("gzip;q=0") && !accepts("br"));
    }
}
