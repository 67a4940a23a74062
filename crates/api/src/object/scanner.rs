//! Finds places in canonical JSON in one pass, without building anything.
//!
//! It trusts nothing: any bytes give places or an error, in time linear in their number and in
//! space that only the given paths decide.

use std::ops::Range;

use super::stored::{LayoutError, MemberPath};

/// Arrays and objects inside one another, at the most; what `serde_json` accepts. Beyond it the
/// object is refused.
const DEPTH_MAX: u32 = 128;
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
        // One bit for each open bracket, the innermost lowest: set for an object.
        let mut open: u128 = 0;
        let mut depth = 0;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.text()?;
                    continue;
                }
                Some(bracket @ (b'{' | b'[')) => {
                    if depth == DEPTH_MAX {
                        return Err(LayoutError::TooDeep);
                    }
                    depth += 1;
                    open = open << 1 | u128::from(bracket == b'{');
                }
                Some(bracket @ (b'}' | b']')) => {
                    if (open & 1 == 1) != (bracket == b'}') {
                        return Err(self.unexpected());
                    }
                    depth -= 1;
                    open >>= 1;
                }
                Some(_) => {}
                None => return Err(self.unexpected()),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_literal(&mut self) -> Result<(), LayoutError> {
        let length = self.bytes[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
            .count();
        self.at += length;
        match length {
            0 => Err(self.unexpected()),
            _ => Ok(()),
        }
    }

    /// Passes `"name":` and tells where the name is.
    fn name(&mut self) -> Result<Range<usize>, LayoutError> {
        let name = self.text()?;
        self.expect(b':')?;
        Ok(name)
    }

    /// Passes a string and tells where its inside is.
    fn text(&mut self) -> Result<Range<usize>, LayoutError> {
        self.expect(b'"')?;
        let begin = self.at;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(length) = find_quote_or_backslash(rest) else {
                self.at = self.bytes.len();
                return Err(self.unexpected());
            };
            self.at += length;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Ok(begin..self.at - 1);
            }
            self.at += 2;
        }
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

    fn unexpected(&self) -> LayoutError {
        LayoutError::NotCanonical {
            offset: self.at.min(self.bytes.len()),
        }
    }
}

/// Where the first of the two is, looked for in eight bytes at a time: values are mostly text.
fn find_quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ repeated(b'"')) | zero_bytes(word ^ repeated(b'\\'));
        if found != 0 {
            return Some(index * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    special.map(|index| words.len() * 8 + index)
}

const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Has the highest bit set in the lowest byte that is zero, and in no byte below it.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeated(1)) & !word & repeated(0x80)
}
