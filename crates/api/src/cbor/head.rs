//! What every item begins with: its type, and a number or that there is none.

use super::number::half;
use super::{CborError, SELF_DESCRIBED};

/// The eight types of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Major {
    Unsigned,
    Negative,
    Bytes,
    Text,
    Array,
    Map,
    Tag,
    Simple,
}

const MAJORS: [Major; 8] = [
    Major::Unsigned,
    Major::Negative,
    Major::Bytes,
    Major::Text,
    Major::Array,
    Major::Map,
    Major::Tag,
    Major::Simple,
];

impl Major {
    /// The type of the item that begins with this byte.
    pub(super) fn of(first: u8) -> Self {
        MAJORS[usize::from(first >> 5)]
    }

    /// The word with which clients written in Go name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "positive integer",
            Self::Negative => "negative integer",
            Self::Bytes => "byte string",
            Self::Text => "UTF-8 text string",
            Self::Array => "array",
            Self::Map => "map",
            Self::Tag => "tag",
            Self::Simple => "primitives",
        }
    }

    fn bits(self) -> u8 {
        (self as u8) << 5
    }
}

/// What ends an item without a length.
pub(super) const BREAK: u8 = 0xff;

/// The beginning of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Head {
    pub(super) major: Major,
    pub(super) argument: Argument,
}

/// What a head says beside the type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Argument {
    /// A number, a length, the number of a tag or of a simple value.
    Number(u64),
    /// A number with a fraction.
    Float(f64),
    /// That a [`BREAK`] comes at the end.
    Indefinite,
}

/// Bytes that are read from their beginning.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) position: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// The next byte, which stays there.
    pub(super) fn peek(&self) -> Result<u8, CborError> {
        self.bytes.get(self.position).copied().ok_or_else(cut_off)
    }

    /// Takes the end of an item without a length, if it is next.
    pub(super) fn take_break(&mut self) -> Result<bool, CborError> {
        let is_end = self.peek()? == BREAK;
        self.position += usize::from(is_end);
        Ok(is_end)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], CborError> {
        let rest = &self.bytes[self.position..];
        let taken = rest.get(..length).ok_or_else(cut_off)?;
        self.position += length;
        Ok(taken)
    }

    /// Takes the head that is next.
    pub(super) fn head(&mut self) -> Result<Head, CborError> {
        let first = self.peek()?;
        self.position += 1;
        let (major, information) = (Major::of(first), first & 0x1f);
        let argument = match information {
            0..=23 => Argument::Number(information.into()),
            24..=27 => self.argument(major, 1 << (information - 24))?,
            31 if matches!(
                major,
                Major::Bytes | Major::Text | Major::Array | Major::Map
            ) =>
            {
                Argument::Indefinite
            }
            31 if major == Major::Simple => {
                return Err(CborError::malformed(UNEXPECTED_BREAK));
            }
            _ => {
                let name = major.name();
                return Err(CborError::malformed(format!(
                    "cbor: invalid additional information {information} for type {name}"
                )));
            }
        };
        Ok(Head { major, argument })
    }

    fn argument(&mut self, major: Major, length: usize) -> Result<Argument, CborError> {
        let bytes = self.take(length)?;
        let number = bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let float = match (major, bytes) {
            (Major::Simple, [0..32]) => {
                return Err(CborError::malformed(format!(
                    "cbor: invalid simple value {number} for type primitives"
                )));
            }
            (Major::Simple, [high, low]) => half(u16::from_be_bytes([*high, *low])),
            (Major::Simple, [a, b, c, d]) => f32::from_be_bytes([*a, *b, *c, *d]).into(),
            (Major::Simple, [_, _, ..]) => f64::from_bits(number),
            _ => return Ok(Argument::Number(number)),
        };
        if float.is_finite() {
            return Ok(Argument::Float(float));
        }
        let what = match float.is_nan() {
            true => "floating-point NaN",
            false => "floating-point infinity",
        };
        let refusal = CborError::not_accepted(Major::Simple, what);
        Err(CborError::malformed(refusal))
    }
}

pub(super) const UNEXPECTED_BREAK: &str = "cbor: unexpected \"break\" code";

fn cut_off() -> CborError {
    CborError::malformed("unexpected EOF")
}

/// Writes the shortest head with this number.
pub(super) fn put_head(major: Major, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let (information, length) = match number {
        0..24 => (bytes[7], 0),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    out.push(major.bits() | information);
    out.extend_from_slice(&bytes[8 - length..]);
}

/// Writes a text, which Kubernetes writes as bytes.
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    put_head(Major::Bytes, text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Writes what tells a document of CBOR from others.
pub(super) fn put_self_described(out: &mut Vec<u8>) {
    out.extend_from_slice(&SELF_DESCRIBED);
}
