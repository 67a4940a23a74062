//! Finds places in canonical JSON in one pass, without building anything.
//!
//! It trusts nothing: any bytes give places in valid JSON or an error, in time linear in their
//! number and in space that only the given paths decide.

use std::ops::Range;

use super::stored::{LayoutError, MemberPath};

/// Arrays and objects inside one another in a member, at the most; what `serde_json` accepts
/// around which the object itself stands. Beyond it the object is refused.
const DEPTH_MAX: u32 = 126;
/// Selectable fields of one kind, at the most: one bit each. Further ones are never found.
pub(super) const FIELDS_MAX: usize = 64;

/// Where the interesting parts of one object are.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The begin of `"metadata"`.
    pub(super) header_end: usize,
    /// Where a resourceVersion belongs.
    pub(super) version_at: usize,
    /// Behind the brace that closes the metadata.
    pub(super) metadata_end: usize,
    /// The texts of keys and values of the labels.
    pub(super) labels: Vec<(Range<usize>, Range<usize>)>,
    /// The texts of the fields asked for.
    pub(super) fields: Vec<Option<Range<usize>>>,
}

/// Finds the places in the object, and the values of these fields.
pub(super) fn scan(bytes: &[u8], paths: &[MemberPath]) -> Result<Places, LayoutError> {
    let text = std::str::from_utf8(bytes);
    text.map_err(|error| LayoutError::NotCanonical {
        offset: error.valid_up_to(),
    })?;
    let paths = &paths[..paths.len().min(FIELDS_MAX)];
    let mut scanner = Scanner {
        bytes,
        at: 0,
        paths,
        places: Places {
            fields: vec![None; paths.len()],
            ..Places::default()
        },
    };
    scanner.object()?;
    match scanner.at == bytes.len() {
        true => Ok(scanner.places),
        false => Err(scanner.unexpected()),
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    paths: &'a [MemberPath],
    places: Places,
}

/// The fields, one bit each, whose paths lead through the place where the scanner is.
type Candidates = u64;

impl Scanner<'_> {
    fn object(&mut self) -> Result<(), LayoutError> {
        let all = Candidates::MAX;
        self.expect(b'{')?;
        let mut found = false;
        loop {
            let begin = self.at;
            let name = self.name()?;
            let candidates = self.descend(all, 0, &name);
            match &self.bytes[name] {
                b"metadata" if !found => {
                    found = true;
                    self.places.header_end = begin;
                    self.metadata(candidates)?;
                }
                b"kind" | b"apiVersion" => self.value(candidates, 1)?,
                _ if found => self.value(candidates, 1)?,
                _ => return Err(LayoutError::MetadataNotFirst),
            }
            if self.ends(b'}')? {
                break;
            }
        }
        match found {
            true => Ok(()),
            false => Err(LayoutError::MetadataNotFirst),
        }
    }

    fn metadata(&mut self, candidates: Candidates) -> Result<(), LayoutError> {
        self.expect(b'{')?;
        self.places.version_at = self.at;
        if !self.skip_if(b'}') {
            loop {
                let name = self.name()?;
                let candidates = self.descend(candidates, 1, &name);
                match &self.bytes[name] {
                    b"uid" => {
                        self.value(candidates, 2)?;
                        self.places.version_at = self.at;
                    }
                    b"labels" if self.peek() == Some(b'{') => self.labels()?,
                    // The store's revision is it, and takes its place.
                    b"resourceVersion" => return Err(self.unexpected()),
                    _ => self.value(candidates, 2)?,
                }
                if self.ends(b'}')? {
                    break;
                }
            }
        }
        self.places.metadata_end = self.at;
        Ok(())
    }

    fn labels(&mut self) -> Result<(), LayoutError> {
        self.expect(b'{')?;
        if self.skip_if(b'}') {
            return Ok(());
        }
        loop {
            let key = self.name()?;
            let value = self.text()?;
            self.places.labels.push((key, value));
            if self.ends(b'}')? {
                return Ok(());
            }
        }
    }

    /// Passes a value, and notes the fields found in it. Recurses only as deep as a path is long.
    fn value(&mut self, candidates: Candidates, depth: usize) -> Result<(), LayoutError> {
        if candidates == 0 {
            return self.skip().map(|_| ());
        }
        if self.peek() == Some(b'{') {
            return self.members(candidates, depth);
        }
        let range = self.skip()?;
        if matches!(self.bytes[range.start], b'[' | b'n') {
            return Ok(());
        }
        let text = match self.bytes[range.start] {
            b'"' => range.start + 1..range.end - 1,
            _ => range,
        };
        for (index, path) in self.paths.iter().enumerate() {
            if candidates & (1 << index) != 0 && path.len() == depth {
                self.places.fields[index] = Some(text.clone());
            }
        }
        Ok(())
    }

    fn members(&mut self, candidates: Candidates, depth: usize) -> Result<(), LayoutError> {
        self.expect(b'{')?;
        if self.skip_if(b'}') {
            return Ok(());
        }
        loop {
            let name = self.name()?;
            let candidates = self.descend(candidates, depth, &name);
            self.value(candidates, depth + 1)?;
            if self.ends(b'}')? {
                return Ok(());
            }
        }
    }

    /// Those of the candidates whose path goes on with this name.
    fn descend(&self, candidates: Candidates, depth: usize, name: &Range<usize>) -> Candidates {
        let mut left = 0;
        if candidates != 0 {
            for (index, path) in self.paths.iter().enumerate() {
                let goes_on = path.member(depth) == Some(&self.bytes[name.clone()]);
                left |= u64::from(goes_on) << index;
            }
        }
        candidates & left
    }

    /// Passes a value of any kind and tells its range.
    fn skip(&mut self) -> Result<Range<usize>, LayoutError> {
        let begin = self.at;
        match self.peek() {
            Some(b'"') => self.text().map(|_| ()),
            Some(b'{' | b'[') => self.skip_nested(),
            _ => self.skip_literal(),
        }?;
        Ok(begin..self.at)
    }

    fn skip_nested(&mut self) -> Result<(), LayoutError> {
        let mut nesting = Nesting::default();
        loop {
            match self.peek() {
                Some(b'"') => self.text().map(|_| ())?,
                Some(b'{') => {
                    self.open(&mut nesting, b'{')?;
                    if !self.skip_if(b'}') {
                        self.name()?;
                        continue;
                    }
                    nesting.close();
                }
                Some(b'[') => {
                    self.open(&mut nesting, b'[')?;
                    if !self.skip_if(b']') {
                        continue;
                    }
                    nesting.close();
                }
                _ => self.skip_literal()?,
            }
            if self.skip_closings(&mut nesting)? {
                return Ok(());
            }
        }
    }

    fn open(&mut self, nesting: &mut Nesting, bracket: u8) -> Result<(), LayoutError> {
        nesting.open(bracket)?;
        self.at += 1;
        Ok(())
    }

    /// After a value: whether nothing is open any more. Else another value follows.
    fn skip_closings(&mut self, nesting: &mut Nesting) -> Result<bool, LayoutError> {
        while nesting.depth > 0 {
            match (self.peek(), nesting.innermost()) {
                (Some(b','), b'{') => {
                    self.at += 1;
                    return self.name().map(|_| false);
                }
                (Some(b','), _) => {
                    self.at += 1;
                    return Ok(false);
                }
                (Some(b'}'), b'{') | (Some(b']'), b'[') => {
                    self.at += 1;
                    nesting.close();
                }
                _ => return Err(self.unexpected()),
            }
        }
        Ok(true)
    }

    fn skip_literal(&mut self) -> Result<(), LayoutError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
            .count();
        match &rest[..length] {
            b"true" | b"false" | b"null" => {}
            number if is_number(number) && is_finite(number) => {}
            _ => return Err(self.unexpected()),
        }
        self.at += length;
        Ok(())
    }

    /// Passes `"name":` and tells where the name is.
    fn name(&mut self) -> Result<Range<usize>, LayoutError> {
        let name = self.text()?;
        self.expect(b':')?;
        Ok(name)
    }

    /// Passes a string and tells where its inside is. Objects are mostly strings: a call for each
    /// would cost a tenth of the scan.
    #[inline(always)]
    fn text(&mut self) -> Result<Range<usize>, LayoutError> {
        self.expect(b'"')?;
        let begin = self.at;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(length) = find_special(rest) else {
                self.at = self.bytes.len();
                return Err(self.unexpected());
            };
            self.at += length;
            if rest[length] == b'"' {
                self.at += 1;
                return Ok(begin..self.at - 1);
            }
            self.escape()?;
        }
    }

    /// Passes what a backslash begins, inside a string.
    #[cold]
    fn escape(&mut self) -> Result<(), LayoutError> {
        match self.bytes[self.at..] {
            [
                b'\\',
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                ..,
            ] => self.at += 2,
            [b'\\', b'u', ref digits @ ..] if is_character(digits) => self.at += 6,
            _ => return Err(self.unexpected()),
        }
        Ok(())
    }

    /// After a member: whether the container ends here, or goes on after a comma.
    fn ends(&mut self, bracket: u8) -> Result<bool, LayoutError> {
        if self.skip_if(bracket) {
            return Ok(true);
        }
        self.expect(b',').map(|()| false)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<(), LayoutError> {
        match self.skip_if(byte) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    #[cold]
    fn unexpected(&self) -> LayoutError {
        LayoutError::NotCanonical {
            offset: self.at.min(self.bytes.len()),
        }
    }
}

/// The brackets that are open around a place.
#[derive(Default)]
struct Nesting {
    /// One bit for each, the innermost lowest: set for an object.
    open: u128,
    depth: u32,
}

impl Nesting {
    fn open(&mut self, bracket: u8) -> Result<(), LayoutError> {
        if self.depth == DEPTH_MAX {
            return Err(LayoutError::TooDeep);
        }
        self.depth += 1;
        self.open = self.open << 1 | u128::from(bracket == b'{');
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.open >>= 1;
    }

    /// The bracket that was opened last.
    fn innermost(&self) -> u8 {
        match self.open & 1 {
            1 => b'{',
            _ => b'[',
        }
    }
}

/// Whether four digits of an escape begin this and name a character by themselves.
fn is_character(digits: &[u8]) -> bool {
    let is_surrogate = matches!(
        digits,
        [b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..]
    );
    !is_surrogate
        && digits
            .get(..4)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Whether the text is a number by the rules of JSON.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => false,
    }
}

/// Whether a number is one that every parser can hold.
fn is_finite(number: &[u8]) -> bool {
    /// Numbers of so many digits, without an exponent, are always finite.
    const DIGITS_FINITE: usize = 300;
    let is_plain = number.len() <= DIGITS_FINITE && !number.iter().any(u8::is_ascii_alphabetic);
    is_plain
        || std::str::from_utf8(number)
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
            .is_some_and(f64::is_finite)
}

/// Where the first quote, backslash or control character is, looked for in eight bytes at a time:
/// values are mostly text.
pub(super) fn find_special(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ repeated(b'"'))
            | zero_bytes(word ^ repeated(b'\\'))
            | control_bytes(word);
        if found != 0 {
            return Some(index * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let special = rest.iter().position(special);
    special.map(|index| words.len() * 8 + index)
}

pub(super) const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Has the highest bit set in the lowest byte that is zero, and in no byte below it.
pub(super) const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeated(1)) & !word & repeated(0x80)
}

/// The same for the lowest byte below a space.
pub(super) const fn control_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeated(0x20)) & !word & repeated(0x80)
}
