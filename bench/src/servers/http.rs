//! As much of HTTP/1.1 as it takes to find where an answer ends. Owns no socket.

use anyhow::{Context, Result, bail, ensure};

/// The longest head that is waited for.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Its code.
    pub(crate) status: u16,
    /// What comes after it.
    pub(crate) body: Body,
    /// How many bytes the head takes.
    pub(crate) length: usize,
}

/// The part of a body that is still to come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// This many bytes.
    Length(usize),
    /// Chunks, each behind its size.
    Chunked(Chunk),
}

/// Where in a chunked body the next byte belongs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// To a size, of which this much has been read.
    Size(usize),
    /// To what may follow a size.
    AfterSize(usize),
    /// To the content, of which this much is missing.
    Content(usize),
    /// To the line end behind the content.
    AfterContent,
    /// To the empty line behind the last chunk.
    Last,
    /// To the next answer.
    Done,
}

impl Head {
    /// The head, once all of it is there.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
            ensure!(bytes.len() < HEAD_BYTES_MAX, "an endless head");
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes[..end])?.to_ascii_lowercase();
        let status = text.strip_prefix("http/1.1 ").and_then(|it| it.get(..3));
        let status = status.with_context(|| format!("no HTTP/1.1: {text}"))?;
        let status = status.parse()?;
        Ok(Some(Self {
            status,
            body: body(&text, status)?,
            length: end + 4,
        }))
    }
}

fn body(head: &str, status: u16) -> Result<Body> {
    let field = |name| head.lines().find_map(|line| line.strip_prefix(name));
    if let Some(length) = field("content-length:") {
        return Ok(Body::Length(length.trim().parse()?));
    }
    if field("transfer-encoding:").is_some_and(|coding| coding.trim() == "chunked") {
        return Ok(Body::Chunked(Chunk::Size(0)));
    }
    ensure!(status == 204, "an answer without a length: {head}");
    Ok(Body::Length(0))
}

impl Body {
    /// Hands the content in these bytes to `each`; what is behind the body is not looked at.
    pub(crate) fn feed(&mut self, bytes: &[u8], each: impl FnMut(&[u8])) -> Result<()> {
        match self {
            Self::Length(missing) => {
                let mut each = each;
                let here = bytes.len().min(*missing);
                each(&bytes[..here]);
                *missing -= here;
                Ok(())
            }
            Self::Chunked(chunk) => chunk.feed(bytes, each),
        }
    }

    /// Whether all of it has come.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Done))
    }
}

impl Chunk {
    fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<()> {
        while let Some((first, rest)) = bytes.split_first() {
            match self {
                Self::Content(missing) => {
                    let here = bytes.len().min(*missing);
                    each(&bytes[..here]);
                    bytes = &bytes[here..];
                    *missing -= here;
                    if *missing == 0 {
                        *self = Self::AfterContent;
                    }
                    continue;
                }
                Self::Done => return Ok(()),
                Self::Size(size) => *self = size_digit(*size, *first)?,
                Self::AfterSize(size) if *first == b'\n' => {
                    *self = match *size {
                        0 => Self::Last,
                        size => Self::Content(size),
                    };
                }
                Self::AfterContent if *first == b'\n' => *self = Self::Size(0),
                Self::Last if *first == b'\n' => *self = Self::Done,
                Self::AfterSize(_) | Self::AfterContent | Self::Last => {}
            }
            bytes = rest;
        }
        Ok(())
    }
}

fn size_digit(size: usize, letter: u8) -> Result<Chunk> {
    let Some(digit) = (letter as char).to_digit(16) else {
        if !matches!(letter, b'\r' | b';' | b' ') {
            bail!("{:?} in the size of a chunk", letter as char);
        }
        return Ok(Chunk::AfterSize(size));
    };
    let size = size.checked_mul(16).context("an endless chunk")?;
    Ok(Chunk::Size(size + digit as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(body: &mut Body, pieces: &[&[u8]]) -> Vec<u8> {
        let mut content = Vec::new();
        for piece in pieces {
            body.feed(piece, |part| content.extend_from_slice(part))
                .unwrap();
        }
        content
    }

    #[test]
    fn a_head_is_waited_for_until_it_is_whole() {
        let answer = b"HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\nhello";
        assert_eq!(Head::parse(&answer[..30]).unwrap(), None);
        let head = Head::parse(answer).unwrap().unwrap();
        assert_eq!((head.status, head.body), (201, Body::Length(12)));
        assert_eq!(&answer[head.length..], b"hello");
    }

    #[test]
    fn what_is_no_http_is_refused() {
        assert!(Head::parse(b"SSH-2.0-OpenSSH\r\n\r\n").is_err());
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn chunks_are_joined_however_the_bytes_are_cut() {
        let wire = b"5\r\nhello\r\n1;note=x\r\n,\r\n00a\r\n0123456789\r\n0\r\n\r\n";
        for cut in 0..wire.len() {
            let mut body = Body::Chunked(Chunk::Size(0));
            let (head, tail) = wire.split_at(cut);
            assert_eq!(collect(&mut body, &[head]).len(), content_before(cut));
            assert!(!body.is_done());
            collect(&mut body, &[tail]);
            assert!(body.is_done());
        }
        let mut body = Body::Chunked(Chunk::Size(0));
        assert_eq!(collect(&mut body, &[wire]), b"hello,0123456789");
    }

    fn content_before(cut: usize) -> usize {
        let wire = b"5\r\nhello\r\n1;note=x\r\n,\r\n00a\r\n0123456789\r\n0\r\n\r\n";
        let ranges = [3..8, 20..21, 28..38];
        (0..cut.min(wire.len()))
            .filter(|at| ranges.iter().any(|range| range.contains(at)))
            .count()
    }

    #[test]
    fn a_body_of_known_length_ends_there() {
        let mut body = Body::Length(5);
        assert_eq!(collect(&mut body, &[b"he", b"llo and more"]), b"hello");
        assert!(body.is_done());
    }

    #[test]
    fn a_size_that_is_no_number_is_refused() {
        let mut body = Body::Chunked(Chunk::Size(0));
        assert!(body.feed(b"xyz\r\n", |_| ()).is_err());
    }
}
