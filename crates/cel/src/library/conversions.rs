//! From one type to another.

use super::time::{Duration, Timestamp};
use super::{Function, fail};
use crate::error::EvaluationError;
use crate::value::{Outcome, Text, Value};

/// Smallest power of ten that gets an exponent.
const WRITTEN_OUT_BELOW: i32 = 6;

pub(super) fn implementation(function: &str) -> Option<Function> {
    Some(match function {
        "bool" => |arguments| to_bool(&arguments[0]),
        "bytes" => |arguments| to_bytes(&arguments[0]),
        "double" => |arguments| to_double(&arguments[0]),
        "duration" => |arguments| to_duration(&arguments[0]),
        "int" => |arguments| to_int(&arguments[0]),
        "string" => |arguments| to_string(&arguments[0]),
        "timestamp" => |arguments| to_timestamp(&arguments[0]),
        "uint" => |arguments| to_uint(&arguments[0]),
        _ => return None,
    })
}

/// Whether a function only converts its argument, so that a constant one is converted once.
pub(crate) fn is_conversion(function: &str) -> bool {
    matches!(
        function,
        "bool"
            | "bytes"
            | "double"
            | "dyn"
            | "duration"
            | "int"
            | "string"
            | "timestamp"
            | "type"
            | "uint"
    )
}

fn impossible<'a>(value: &Value<'a>, target: &str) -> Outcome<'a> {
    let known = matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
    );
    let (source, short) = (
        value.type_name(),
        target
            .rsplit('.')
            .next()
            .unwrap_or(target)
            .to_ascii_lowercase(),
    );
    if known && convertible(source, &short) {
        return fail(format!(
            "type conversion error from '{source}' to '{target}'"
        ));
    }
    fail(format!("no such overload: {short}({source})"))
}

/// Whether a conversion between the two types is declared, so that only the value can be to blame.
fn convertible(source: &str, target: &str) -> bool {
    match target {
        "bool" | "bytes" | "duration" => source == "string",
        "double" => matches!(source, "int" | "uint" | "string"),
        "int" => matches!(source, "uint" | "double" | "string"),
        "uint" => matches!(source, "int" | "double" | "string"),
        "timestamp" => matches!(source, "int" | "string"),
        _ => false,
    }
}

fn to_bool<'a>(value: &Value<'a>) -> Outcome<'a> {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => impossible(value, "bool"),
        },
        _ => impossible(value, "bool"),
    }
}

fn to_bytes<'a>(value: &Value<'a>) -> Outcome<'a> {
    match value {
        Value::Bytes(_) => Ok(value.clone()),
        Value::String(text) => Ok(Value::Bytes(text.as_bytes().into())),
        _ => impossible(value, "bytes"),
    }
}

fn to_double<'a>(value: &Value<'a>) -> Outcome<'a> {
    match value {
        Value::Double(_) => Ok(value.clone()),
        Value::Int(number) => Ok(Value::Double(*number as f64)),
        Value::Uint(number) => Ok(Value::Double(*number as f64)),
        Value::String(text) => match parse_double(text) {
            Some(number) => Ok(Value::Double(number)),
            None => impossible(value, "double"),
        },
        _ => impossible(value, "double"),
    }
}

/// Reads what Go reads: no spaces, but infinities and not-a-number by name.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" if text.starts_with('-') => return Some(f64::NEG_INFINITY),
        "inf" | "infinity" => return Some(f64::INFINITY),
        "nan" if unsigned.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    let separated = text.as_bytes().windows(3).all(|around| {
        around[1] != b'_' || (around[0].is_ascii_digit() && around[2].is_ascii_digit())
    });
    if text.contains('_') && separated && !text.starts_with('_') && !text.ends_with('_') {
        return parse_double(&text.replace('_', ""));
    }
    let plain = unsigned
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    let number: f64 = plain.then(|| text.parse().ok()).flatten()?;
    number.is_finite().then_some(number)
}

fn to_duration<'a>(value: &Value<'a>) -> Outcome<'a> {
    match value {
        Value::Duration(_) => Ok(value.clone()),
        Value::String(text) => match Duration::parse(text) {
            Some(duration) => Ok(Value::Duration(duration)),
            None => impossible(value, "google.protobuf.Duration"),
        },
        _ => impossible(value, "google.protobuf.Duration"),
    }
}

fn to_int<'a>(value: &Value<'a>) -> Outcome<'a> {
    let overflow = || EvaluationError::failed("integer overflow");
    match value {
        Value::Int(_) => Ok(value.clone()),
        Value::Uint(number) => i64::try_from(*number)
            .map(Value::Int)
            .map_err(|_| overflow()),
        Value::Double(number)
            if *number > -9.223_372_036_854_776e18 && *number < 9.223_372_036_854_776e18 =>
        {
            Ok(Value::Int(*number as i64))
        }
        Value::Double(_) => Err(overflow()),
        Value::String(text) => match text.parse() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => impossible(value, "int"),
        },
        Value::Timestamp(timestamp) => Ok(Value::Int(timestamp.seconds())),
        Value::Duration(duration) => Ok(Value::Int(duration.nanoseconds())),
        _ => impossible(value, "int"),
    }
}

fn to_uint<'a>(value: &Value<'a>) -> Outcome<'a> {
    let overflow = || EvaluationError::failed("unsigned integer overflow");
    match value {
        Value::Uint(_) => Ok(value.clone()),
        Value::Int(number) => u64::try_from(*number)
            .map(Value::Uint)
            .map_err(|_| overflow()),
        Value::Double(number) if *number >= 0.0 && *number < 18_446_744_073_709_551_616.0 => {
            Ok(Value::Uint(*number as u64))
        }
        Value::Double(_) => Err(overflow()),
        Value::String(text) => match text.parse() {
            Ok(number) if !text.starts_with('+') => Ok(Value::Uint(number)),
            _ => impossible(value, "uint"),
        },
        _ => impossible(value, "uint"),
    }
}

fn to_timestamp<'a>(value: &Value<'a>) -> Outcome<'a> {
    match value {
        Value::Timestamp(_) => Ok(value.clone()),
        Value::Int(seconds) => Timestamp::from_seconds(*seconds)
            .map(Value::Timestamp)
            .ok_or_else(|| EvaluationError::failed("timestamp overflow")),
        Value::String(text) => match Timestamp::parse(text) {
            Some(timestamp) => Ok(Value::Timestamp(timestamp)),
            None => impossible(value, "google.protobuf.Timestamp"),
        },
        _ => impossible(value, "google.protobuf.Timestamp"),
    }
}

pub(super) fn to_string<'a>(value: &Value<'a>) -> Outcome<'a> {
    Ok(Value::from(match value {
        Value::String(_) => return Ok(value.clone()),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => shortest(*number),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(Value::String(Text::Shared(text.into()))),
            Err(_) => return fail("invalid UTF-8 in bytes, cannot convert to string"),
        },
        Value::Timestamp(timestamp) => timestamp.to_string(),
        Value::Duration(duration) => duration.to_string(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(network) => network.to_string(),
        Value::Type(name) => name.to_string(),
        _ => return impossible(value, "string"),
    }))
}

/// The fewest digits that give the number back, with an exponent where Go writes one.
pub(crate) fn shortest(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number == 0.0 || (-4..WRITTEN_OUT_BELOW).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_short_as_they_can_be() {
        for (number, text) in [
            (1.5, "1.5"),
            (1_234_567.0, "1.234567e+06"),
            (0.000_01, "1e-05"),
            (100_000.0, "100000"),
            (-0.0, "-0"),
        ] {
            assert_eq!(shortest(number), text);
        }
    }
}
