//! The messages of types that are no objects in JSON.

use jiff::Timestamp;
use serde_json::Value;

use super::super::ProtobufError;
use super::super::wire::Reader;
use super::int32;
use crate::{json, timestamp};

/// The second at which Go's calendar begins, which stands for no time.
const NO_TIME: i64 = -62_135_596_800;
/// Whole numbers up to here are written without exponent and without fraction.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_808.0;
const NANOSECONDS_PER_MICROSECOND: i32 = 1_000;

/// A number as Go writes it: a whole one without a fraction.
pub(super) fn double(number: f64, field: &str) -> Result<Value, ProtobufError> {
    if !number.is_finite() {
        let problem = format!("proto: field {field} is no finite number");
        return Err(ProtobufError::new(problem));
    }
    let is_whole = number.fract() == 0.0 && number.abs() < WHOLE_MAX;
    let is_negative_zero = number == 0.0 && number.is_sign_negative();
    Ok(if is_whole && !is_negative_zero {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 64 bits")]
        Value::from(number as i64)
    } else {
        Value::from(number)
    })
}

/// A time to the second; `null` when it is not set.
pub(super) fn time(raw: &[u8], field: &str) -> Result<Value, ProtobufError> {
    let Some((seconds, _)) = seconds_and_nanos(raw)? else {
        return Ok(Value::Null);
    };
    let time = to_timestamp(seconds, 0, field)?;
    Ok(time.map_or(Value::Null, |time| timestamp::format_seconds(time).into()))
}

/// A time to the microsecond; `null` when it is not set.
pub(super) fn micro_time(raw: &[u8], field: &str) -> Result<Value, ProtobufError> {
    let Some((seconds, nanos)) = seconds_and_nanos(raw)? else {
        return Ok(Value::Null);
    };
    let nanos = nanos - nanos % NANOSECONDS_PER_MICROSECOND;
    let time = to_timestamp(seconds, nanos, field)?;
    Ok(time.map_or(Value::Null, |time| timestamp::format_micros(time).into()))
}

fn seconds_and_nanos(raw: &[u8]) -> Result<Option<(i64, i32)>, ProtobufError> {
    if raw.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(raw);
    while let Some((number, wire)) = reader.next()? {
        match number {
            1 => seconds = wire.varint("seconds")?.cast_signed(),
            2 => nanos = int32(wire.varint("nanos")?),
            _ => {}
        }
    }
    Ok(Some((seconds, nanos)))
}

/// The time, if it is one; JSON has room for the years 0 to 9999.
fn to_timestamp(seconds: i64, nanos: i32, field: &str) -> Result<Option<Timestamp>, ProtobufError> {
    if (seconds, nanos) == (NO_TIME, 0) {
        return Ok(None);
    }
    Timestamp::new(seconds, nanos)
        .ok()
        .filter(|time| time.as_second() >= NO_TIME)
        .map(Some)
        .ok_or_else(|| ProtobufError::new(format!("proto: field {field} is out of range")))
}

/// An amount in the text that was sent.
pub(super) fn quantity(raw: &[u8]) -> Result<Value, ProtobufError> {
    let mut amount = "0";
    let mut reader = Reader::new(raw);
    while let Some((number, wire)) = reader.next()? {
        if number == 1 {
            amount = wire.text("string")?;
        }
    }
    Ok(Value::from(amount))
}

/// A number or a text, whichever of the two the message says it is.
pub(super) fn int_or_string(raw: &[u8]) -> Result<Value, ProtobufError> {
    let (mut kind, mut number, mut text) = (0, 0, "");
    let mut reader = Reader::new(raw);
    while let Some((place, wire)) = reader.next()? {
        match place {
            1 => kind = wire.varint("type")?,
            2 => number = int32(wire.varint("intVal")?),
            3 => text = wire.text("strVal")?,
            _ => {}
        }
    }
    match kind {
        0 => Ok(Value::from(number)),
        1 => Ok(Value::from(text)),
        _ => Err(ProtobufError::new("impossible IntOrString.Type")),
    }
}

/// JSON text in a message, which may nest this deep.
pub(super) fn raw_json(raw: &[u8], field: &str, depth_max: usize) -> Result<Value, ProtobufError> {
    let mut text: &[u8] = &[];
    let mut reader = Reader::new(raw);
    while let Some((number, wire)) = reader.next()? {
        if number == 1 {
            text = wire.bytes(field)?;
        }
    }
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let document = json::decode(text)
        .map_err(|error| ProtobufError::new(format!("proto: field {field}: {error}")))?;
    if nests_deeper_than(&document.value, depth_max) {
        return Err(ProtobufError::new("proto: exceeded max depth"));
    }
    Ok(document.value)
}

fn nests_deeper_than(value: &Value, depth_max: usize) -> bool {
    let Some(inside) = depth_max.checked_sub(1) else {
        return value.is_array() || value.is_object();
    };
    match value {
        Value::Array(elements) => elements
            .iter()
            .any(|element| nests_deeper_than(element, inside)),
        Value::Object(members) => members
            .values()
            .any(|member| nests_deeper_than(member, inside)),
        _ => false,
    }
}
