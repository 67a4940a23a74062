//! From bytes to the JSON value that stands for the same object.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::head::{Argument, Head, Input, Major};
use super::{CborError, scan};
use crate::go_text;
use crate::json;
use crate::timestamp;

/// The seconds from the first year that a time can be written with to the last.
const WRITABLE_SECONDS: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;
const NANOSECONDS_PER_SECOND: f64 = 1e9;
/// The least number that no signed number of 64 bits is.
const SECONDS_END: f64 = 9_223_372_036_854_775_808.0;

const DATE_TAG: u64 = 0;
const EPOCH_TAG: u64 = 1;
const FALSE: u64 = 20;
const TRUE: u64 = 21;
const NULL: u64 = 22;

/// Reads exactly one item.
///
/// Bytes are texts, and those that a tag says to be written in another way become that text. Other
/// tags say nothing. A field that stands twice is refused, whoever asks.
pub fn decode(bytes: &[u8]) -> Result<Value, CborError> {
    scan::one_item(bytes)?;
    let mut decoder = Decoder {
        input: Input::new(bytes),
    };
    decoder.value(Writing::AsItIs)
}

/// Reads exactly one item that is an object, or null; `go_type` is what it is to become in the
/// words of a refusal.
pub fn decode_object(bytes: &[u8], go_type: &str) -> Result<Value, CborError> {
    let value = decode(bytes)?;
    if matches!(value, Value::Object(_) | Value::Null) {
        return Ok(value);
    }
    let mut input = Input::new(bytes);
    let mut head = input.head()?;
    while head.major == Major::Tag {
        head = input.head()?;
    }
    let found = head.major.name();
    Err(CborError::malformed(format!(
        "cbor: cannot unmarshal {found} into Go value of type {go_type}"
    )))
}

/// How bytes are written as text (RFC 8949, 3.4.5.2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    AsItIs,
    Base64Url,
    Base64,
    Base16,
}

impl Writing {
    /// What a tag says of the bytes inside it; `None` when it speaks of something else.
    fn of_tag(tag: u64) -> Option<Self> {
        match tag {
            21 => Some(Self::Base64Url),
            22 => Some(Self::Base64),
            23 => Some(Self::Base16),
            _ => None,
        }
    }

    fn text(self, bytes: Vec<u8>) -> String {
        match self {
            // Go's JSON writes the same sign for what is no character.
            Self::AsItIs => String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            Self::Base64Url => URL_SAFE_NO_PAD.encode(bytes),
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base16 => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// Reads what was scanned before, so that lengths, depth and numbers are as they should be.
struct Decoder<'a> {
    input: Input<'a>,
}

impl Decoder<'_> {
    fn value(&mut self, writing: Writing) -> Result<Value, CborError> {
        let head = self.input.head()?;
        let Argument::Number(number) = head.argument else {
            return self.numberless(head, writing);
        };
        match head.major {
            Major::Unsigned => match i64::try_from(number) {
                Ok(number) => Ok(number.into()),
                Err(_) => Err(overflowing(head.major, "int64", &number.to_string())),
            },
            Major::Negative => match i64::try_from(number) {
                Ok(number) => Ok((-1 - number).into()),
                Err(_) => Err(overflowing(head.major, "int64", &negative(number))),
            },
            Major::Bytes | Major::Text | Major::Array | Major::Map => self.container(head, writing),
            Major::Tag => self.tagged(number, writing),
            Major::Simple => match number {
                FALSE => Ok(false.into()),
                TRUE => Ok(true.into()),
                NULL => Ok(Value::Null),
                _ => {
                    let what = format!("simple value {number} is not recognized");
                    let refusal = CborError::not_accepted(head.major, &what);
                    Err(CborError::unacceptable(refusal))
                }
            },
        }
    }

    fn numberless(&mut self, head: Head, writing: Writing) -> Result<Value, CborError> {
        match head.argument {
            Argument::Float(number) => Ok(json::number(number)),
            _ => self.container(head, writing),
        }
    }

    fn container(&mut self, head: Head, writing: Writing) -> Result<Value, CborError> {
        match head.major {
            Major::Array => self.list(head.argument, writing).map(Value::Array),
            Major::Map => self.map(head.argument, writing).map(Value::Object),
            _ => self.text(head, writing).map(Value::String),
        }
    }

    /// Whether the item with this argument goes on after this many parts.
    fn goes_on(&mut self, argument: Argument, taken: usize) -> Result<bool, CborError> {
        match argument {
            Argument::Number(count) => Ok((taken as u64) < count),
            _ => Ok(!self.input.take_break()?),
        }
    }

    fn list(&mut self, argument: Argument, writing: Writing) -> Result<Vec<Value>, CborError> {
        let mut elements = Vec::new();
        while self.goes_on(argument, elements.len())? {
            elements.push(self.value(writing)?);
        }
        Ok(elements)
    }

    fn map(
        &mut self,
        argument: Argument,
        writing: Writing,
    ) -> Result<Map<String, Value>, CborError> {
        let mut members = Map::new();
        while self.goes_on(argument, members.len())? {
            let name = self.name(writing)?;
            let value = self.value(writing)?;
            let place = members.len();
            if let serde_json::map::Entry::Vacant(entry) = members.entry(name.as_str()) {
                entry.insert(value);
                continue;
            }
            let name = go_text::quote(&name);
            return Err(CborError::unacceptable(format!(
                "cbor: found duplicate map key {name} at map element index {place}"
            )));
        }
        Ok(members)
    }

    /// The name of a member, which is a text, or nothing for the empty one.
    fn name(&mut self, mut writing: Writing) -> Result<String, CborError> {
        loop {
            let head = self.input.head()?;
            match (head.major, head.argument) {
                (Major::Tag, Argument::Number(tag)) => {
                    writing = Writing::of_tag(tag).unwrap_or(writing);
                }
                (Major::Bytes | Major::Text, _) => return self.text(head, writing),
                (Major::Simple, Argument::Number(NULL)) => return Ok(String::new()),
                (other, _) => {
                    let found = other.name();
                    return Err(CborError::unacceptable(format!(
                        "cbor: cannot unmarshal {found} into Go value of type string"
                    )));
                }
            }
        }
    }

    fn text(&mut self, head: Head, writing: Writing) -> Result<String, CborError> {
        let mut bytes = Vec::new();
        match head.argument {
            Argument::Number(length) => self.chunk(head.major, length, &mut bytes)?,
            _ => {
                while !self.input.take_break()? {
                    if let Argument::Number(length) = self.input.head()?.argument {
                        self.chunk(head.major, length, &mut bytes)?;
                    }
                }
            }
        }
        Ok(match head.major {
            Major::Text => Writing::AsItIs.text(bytes),
            _ => writing.text(bytes),
        })
    }

    fn chunk(&mut self, major: Major, length: u64, bytes: &mut Vec<u8>) -> Result<(), CborError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let chunk = self.input.take(length)?;
        if major == Major::Text && std::str::from_utf8(chunk).is_err() {
            return Err(CborError::unacceptable("cbor: invalid UTF-8 string"));
        }
        bytes.extend_from_slice(chunk);
        Ok(())
    }

    fn tagged(&mut self, tag: u64, writing: Writing) -> Result<Value, CborError> {
        let first = self.input.peek()?;
        let content = Major::of(first);
        let is_number =
            matches!(content, Major::Unsigned | Major::Negative) || matches!(first, 0xf9..=0xfb);
        let wanted = match tag {
            DATE_TAG if content == Major::Text => return self.date(),
            DATE_TAG => "text string",
            EPOCH_TAG if is_number => return self.epoch(),
            EPOCH_TAG => "integer or floating-point number",
            _ => return self.value(Writing::of_tag(tag).unwrap_or(writing)),
        };
        let found = content.name();
        Err(CborError::unacceptable(format!(
            "cbor: tag number {tag} must be followed by {wanted}, got {found}"
        )))
    }

    /// A time as text, which stays the text that it is.
    fn date(&mut self) -> Result<Value, CborError> {
        let head = self.input.head()?;
        let text = self.text(head, Writing::AsItIs)?;
        match timestamp::parse_seconds(&text) {
            Ok(_) => Ok(text.into()),
            Err(error) => Err(CborError::unacceptable(format!(
                "cbor: cannot set {text} for time.Time: {error}"
            ))),
        }
    }

    /// A time as seconds, written as text.
    fn epoch(&mut self) -> Result<Value, CborError> {
        let Head { major, argument } = self.input.head()?;
        let overflow = |number: &str| overflowing(major, "time.Time", number);
        let (seconds, nanos) = match argument {
            Argument::Float(time) if time.abs() >= SECONDS_END => {
                return Err(overflow(&go_text::float(time)));
            }
            #[expect(clippy::cast_possible_truncation, reason = "it was compared before")]
            Argument::Float(time) => (
                time.trunc() as i64,
                (time.fract() * NANOSECONDS_PER_SECOND) as i32,
            ),
            Argument::Number(number) => match (i64::try_from(number), major) {
                (Ok(number), Major::Negative) => (-1 - number, 0),
                (Ok(number), _) => (number, 0),
                (Err(_), Major::Negative) => return Err(overflow(&negative(number))),
                (Err(_), _) => return Err(overflow(&number.to_string())),
            },
            Argument::Indefinite => (0, 0),
        };
        let writable = Some(seconds).filter(|seconds| WRITABLE_SECONDS.contains(seconds));
        let time = writable.and_then(|seconds| Timestamp::new(seconds, nanos).ok());
        match time {
            Some(time) => Ok(time.to_string().into()),
            None => Err(CborError::unacceptable(
                "cbor: decoded time cannot be represented in RFC3339 format with sub-second \
                 precision: Time.MarshalText: year outside of range [0,9999]",
            )),
        }
    }
}

/// The text of a number that is one more below zero.
fn negative(number: u64) -> String {
    format!("-{}", u128::from(number) + 1)
}

fn overflowing(major: Major, go_type: &str, number: &str) -> CborError {
    let found = major.name();
    CborError::unacceptable(format!(
        "cbor: cannot unmarshal {found} into Go value of type {go_type} ({number} overflows Go's \
         int64)"
    ))
}
