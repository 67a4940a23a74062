//! Whether bytes are CBOR, and where an item ends; nothing is made of them yet.

use super::head::{Argument, Head, Input, Major, UNEXPECTED_BREAK};
use super::{CborError, DEPTH_MAX, VALUES_MAX};

/// Elements that a list may announce.
const ELEMENTS_MAX: usize = 2_147_483_647;
/// Entries that a map may announce.
const PAIRS_MAX: usize = 2_097_152;

const BIG_NUMBER_TAGS: [u64; 2] = [2, 3];

/// The length of the item that the bytes begin with.
pub fn item_length(bytes: &[u8]) -> Result<usize, CborError> {
    let mut scanner = Scanner {
        input: Input::new(bytes),
        values_left: VALUES_MAX,
    };
    scanner.item(0)?;
    Ok(scanner.input.position)
}

/// Refuses bytes that are not exactly one item.
pub(super) fn one_item(bytes: &[u8]) -> Result<(), CborError> {
    if bytes.is_empty() {
        return Err(CborError::malformed("EOF"));
    }
    let length = item_length(bytes)?;
    match bytes.len() - length {
        0 => Ok(()),
        more => Err(CborError::malformed(format!(
            "cbor: {more} bytes of extraneous data starting at index {length}"
        ))),
    }
}

struct Scanner<'a> {
    input: Input<'a>,
    values_left: usize,
}

impl Scanner<'_> {
    fn item(&mut self, depth: usize) -> Result<(), CborError> {
        let Head { major, argument } = self.input.head()?;
        self.count_value()?;
        match (major, argument) {
            (Major::Bytes | Major::Text, Argument::Number(length)) => {
                let overflow = "causing integer overflow";
                let length = length_of(major, length, overflow)?;
                self.input.take(length).map(drop)
            }
            (Major::Bytes | Major::Text, _) => self.chunks(major, depth),
            (Major::Array, Argument::Number(length)) => {
                let overflow = "it would cause integer overflow";
                let length = length_of(major, length, overflow)?;
                refuse_more(length, ELEMENTS_MAX, "elements", "array")?;
                self.items(length, deeper(depth)?)
            }
            (Major::Map, Argument::Number(length)) => {
                let overflow = "it would cause integer overflow";
                let length = length_of(major, length, overflow)?;
                refuse_more(length, PAIRS_MAX, "key-value pairs", "map")?;
                self.items(2 * length, deeper(depth)?)
            }
            (Major::Array | Major::Map, _) => self.until_break(major, deeper(depth)?),
            (Major::Tag, Argument::Number(tag)) => self.tagged(tag, depth),
            _ => Ok(()),
        }
    }

    fn count_value(&mut self) -> Result<(), CborError> {
        match self.values_left.checked_sub(1) {
            Some(left) => self.values_left = left,
            None => {
                return Err(CborError::malformed(format!(
                    "cbor: exceeded max number of values {VALUES_MAX}"
                )));
            }
        }
        Ok(())
    }

    fn items(&mut self, count: usize, depth: usize) -> Result<(), CborError> {
        (0..count).try_for_each(|_| self.item(depth))
    }

    fn until_break(&mut self, major: Major, depth: usize) -> Result<(), CborError> {
        let mut count = 0_usize;
        while !self.input.take_break()? {
            self.item(depth)?;
            count += 1;
        }
        match major == Major::Map && !count.is_multiple_of(2) {
            true => Err(CborError::malformed(UNEXPECTED_BREAK)),
            false => Ok(()),
        }
    }

    /// The parts of a text without a length, each of which has one.
    fn chunks(&mut self, major: Major, depth: usize) -> Result<(), CborError> {
        while !self.input.take_break()? {
            let first = self.input.peek()?;
            let (found, wanted) = (Major::of(first), major.name());
            if found != major {
                let found = found.name();
                return Err(CborError::malformed(format!(
                    "cbor: wrong element type {found} for indefinite-length {wanted}"
                )));
            }
            if first & 0x1f == 0x1f {
                return Err(CborError::malformed(format!(
                    "cbor: indefinite-length {wanted} chunk is not definite-length"
                )));
            }
            self.item(depth)?;
        }
        Ok(())
    }

    fn tagged(&mut self, tag: u64, depth: usize) -> Result<(), CborError> {
        let content = Major::of(self.input.peek()?);
        if BIG_NUMBER_TAGS.contains(&tag) {
            let refusal = CborError::not_accepted(Major::Tag, "bignum");
            return Err(CborError::malformed(refusal));
        }
        match content {
            Major::Tag => self.item(deeper(depth)?),
            _ => self.item(depth),
        }
    }
}

fn deeper(depth: usize) -> Result<usize, CborError> {
    match depth < DEPTH_MAX {
        true => Ok(depth + 1),
        false => Err(CborError::malformed(format!(
            "cbor: exceeded max nested level {DEPTH_MAX}"
        ))),
    }
}

/// A length that could be one; whether the bytes are there is seen when they are taken.
fn length_of(major: Major, length: u64, overflow: &str) -> Result<usize, CborError> {
    let fitting = i64::try_from(length).ok();
    let fitting = fitting.and_then(|length| usize::try_from(length).ok());
    fitting.ok_or_else(|| {
        let name = major.name();
        CborError::malformed(format!(
            "cbor: {name} length {length} is too large, {overflow}"
        ))
    })
}

fn refuse_more(length: usize, max: usize, of: &str, within: &str) -> Result<(), CborError> {
    match length > max {
        true => Err(CborError::malformed(format!(
            "cbor: exceeded max number of {of} {max} for CBOR {within}"
        ))),
        false => Ok(()),
    }
}
