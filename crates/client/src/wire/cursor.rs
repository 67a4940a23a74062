//! Steps through JSON token by token.

use std::borrow::Cow;

use memchr::memchr2;

use super::{header::Malformed, structure::Nesting};

/// A place in JSON text.
///
/// What it passes over without being asked for it is only skipped: brackets are counted and strings
/// are closed, and nothing else is checked.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Whether an array or object has more in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another member or element begins.
    Another,
    /// The closing bracket was passed.
    Closed,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where it stands.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The bytes from an earlier position to here.
    pub(crate) fn since(&self, begin: usize) -> &'a [u8] {
        &self.bytes[begin..self.at]
    }

    /// The first byte of the next token; the cursor stands on it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Passes over this byte.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(Malformed::new("another token was expected")),
            None => Err(Malformed::TRUNCATED),
        }
    }

    /// Passes over an opening bracket.
    #[inline]
    pub(crate) fn open(&mut self, open: u8, close: u8) -> Result<Next, Malformed> {
        self.expect(open)?;
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(Next::Closed)
            }
            Some(_) => Ok(Next::Another),
            None => Err(Malformed::TRUNCATED),
        }
    }

    /// Passes over what follows a member or an element: a comma or the closing bracket.
    #[inline]
    pub(crate) fn more(&mut self, close: u8) -> Result<Next, Malformed> {
        let next = match self.peek() {
            Some(byte) if byte == close => Next::Closed,
            Some(b',') => Next::Another,
            Some(_) => return Err(Malformed::new("neither a comma nor the end of a value")),
            None => return Err(Malformed::TRUNCATED),
        };
        self.at += 1;
        Ok(next)
    }

    /// The name of a member; the cursor is behind the colon.
    #[inline]
    pub(crate) fn name(&mut self) -> Result<Cow<'a, [u8]>, Malformed> {
        let written = self.string()?;
        self.expect(b':')?;
        match written.contains(&b'\\') {
            false => Ok(Cow::Borrowed(written)),
            true => Ok(Cow::Owned(unescape(written)?.into_owned().into_bytes())),
        }
    }

    /// A string without its quotes, as it is written.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Malformed> {
        self.expect(b'"')?;
        let begin = self.at;
        loop {
            let rest = &self.bytes[self.at..];
            let found = memchr2(b'"', b'\\', rest).ok_or(Malformed::TRUNCATED)?;
            if rest[found] == b'"' {
                self.at += found + 1;
                return Ok(&self.bytes[begin..self.at - 1]);
            }
            self.at = (self.at + found + 2).min(self.bytes.len());
        }
    }

    /// Passes over one value of any kind.
    pub(crate) fn skip(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'{' | b'[') => {
                let end = Nesting::default().advance(&self.bytes[self.at..]);
                self.at += end.ok_or(Malformed::TRUNCATED)?;
                Ok(())
            }
            Some(b'"') => self.string().map(drop),
            Some(_) => self.word(),
            None => Err(Malformed::TRUNCATED),
        }
    }

    /// Passes over a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<(), Malformed> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|byte| !is_part(byte)) {
            Some(0) => Err(Malformed::new("a value is missing")),
            Some(end) => {
                self.at += end;
                Ok(())
            }
            None => Err(Malformed::TRUNCATED),
        }
    }
}

/// What a string says, given as it is written without its quotes.
pub(crate) fn unescape(written: &[u8]) -> Result<Cow<'_, str>, Malformed> {
    if !written.contains(&b'\\') {
        let text = std::str::from_utf8(written).map_err(|_| Malformed::new("not UTF-8"))?;
        return Ok(Cow::Borrowed(text));
    }
    let quoted = [b"\"", written, b"\""].concat();
    let text = serde_json::from_slice(&quoted).map_err(|_| Malformed::new("a bad string"))?;
    Ok(Cow::Owned(text))
}
