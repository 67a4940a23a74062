//! `string.format`: text with holes, filled by the elements of a list.

use super::conversions::{shortest, to_string};
use super::unfit;
use crate::error::EvaluationError;
use crate::value::{List, Map, Outcome, Value};

/// Digits after the point when a clause names none.
const PRECISION: usize = 6;

/// Most digits after the point.
const PRECISION_MAX: usize = 1_000;

/// One hole of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hexadecimal(Case),
    Octal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Upper,
    Lower,
}

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Hole(Clause),
}

/// Cuts a format at its holes, given how many arguments there are to fill them.
pub(crate) fn pieces(format: &str, arguments: usize) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut holes = 0;
    let mut rest = format;
    while let Some(position) = rest.find('%') {
        literal.push_str(&rest[..position]);
        rest = &rest[position + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            literal.push('%');
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Err("unexpected end of string".to_owned());
        }
        if holes >= arguments {
            return Err(format!("index {holes} out of range"));
        }
        let (clause, after) =
            clause(rest).map_err(|why| format!("could not parse formatting clause: {why}"))?;
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        pieces.push(Piece::Hole(clause));
        holes += 1;
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

fn clause(text: &str) -> Result<(Clause, &str), String> {
    let (precision, rest) =
        precision(text).map_err(|why| format!("error while parsing precision: {why}"))?;
    let Some(letter) = rest.chars().next() else {
        return Err("unexpected end of string".to_owned());
    };
    let clause = match letter {
        's' => Clause::Text,
        'd' => Clause::Decimal,
        'f' => Clause::Fixed(precision),
        'e' => Clause::Scientific(precision),
        'b' => Clause::Binary,
        'x' => Clause::Hexadecimal(Case::Lower),
        'X' => Clause::Hexadecimal(Case::Upper),
        'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{other}\"")),
    };
    Ok((clause, &rest[letter.len_utf8()..]))
}

fn precision(text: &str) -> Result<(usize, &str), String> {
    let Some(digits) = text.strip_prefix('.') else {
        return Ok((PRECISION, text));
    };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == digits.len() {
        return Err("could not find end of precision specifier".to_owned());
    }
    let number = &digits[..length];
    let precision = number.parse::<usize>().map_err(|_| {
        format!(
            "error while converting precision to integer: strconv.Atoi: \
            parsing {number:?}: invalid syntax"
        )
    })?;
    Ok((precision.min(PRECISION_MAX), &digits[length..]))
}

/// Fills the holes.
pub(super) fn format<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(format), Value::List(list)] = arguments else {
        return unfit();
    };
    let pieces = pieces(format, list.len()).map_err(EvaluationError::failed)?;
    let mut values = list.iter();
    let mut filled = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => filled.push_str(&text),
            Piece::Hole(clause) => {
                let value = values.next().unwrap_or(Ok(Value::Null))?;
                let text = fill(clause, &value).map_err(|why| {
                    EvaluationError::failed(format!("error during formatting: {why}"))
                })?;
                filled.push_str(&text);
            }
        }
    }
    Ok(Value::from(filled))
}

fn fill(clause: Clause, value: &Value<'_>) -> Result<String, String> {
    match (clause, value) {
        (Clause::Text, value) => text(value),
        (Clause::Decimal, Value::Int(number)) => Ok(number.to_string()),
        (Clause::Decimal, Value::Uint(number)) => Ok(number.to_string()),
        (Clause::Fixed(precision), value) if double(value).is_some() => {
            Ok(fixed(double(value).unwrap_or_default(), precision))
        }
        (Clause::Scientific(precision), value) if double(value).is_some() => {
            Ok(scientific(double(value).unwrap_or_default(), precision))
        }
        (Clause::Binary, Value::Bool(value)) => Ok(u8::from(*value).to_string()),
        (Clause::Binary, value) => radix(value, |number| format!("{number:b}"))
            .ok_or(())
            .or_else(|()| refuse(clause, value)),
        (Clause::Octal, value) => radix(value, |number| format!("{number:o}"))
            .ok_or(())
            .or_else(|()| refuse(clause, value)),
        (Clause::Hexadecimal(case), value) => match hexadecimal(value) {
            Some(text) if case == Case::Upper => Ok(text.to_ascii_uppercase()),
            Some(text) => Ok(text),
            None => refuse(clause, value),
        },
        (clause, value) => refuse(clause, value),
    }
}

fn refuse(clause: Clause, value: &Value<'_>) -> Result<String, String> {
    Err(refusal(clause, value.type_name()))
}

/// Why a clause cannot show a value of a type.
pub(crate) fn refusal(clause: Clause, type_name: &str) -> String {
    let rule = match clause {
        Clause::Text => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, \
                lists, types, durations, and timestamps"
        }
        Clause::Decimal => "decimal clause can only be used on integers",
        Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
        Clause::Scientific(_) => "scientific clause can only be used on doubles",
        Clause::Binary => "only integers and bools can be formatted as binary",
        Clause::Hexadecimal(_) => {
            "only integers, byte buffers, and strings can be formatted as hex"
        }
        Clause::Octal => "octal clause can only be used on integers",
    };
    format!("{rule}, was given {type_name}")
}

fn double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn radix(value: &Value<'_>, write: fn(u64) -> String) -> Option<String> {
    match value {
        Value::Int(number) => {
            let sign = if *number < 0 { "-" } else { "" };
            Some(format!("{sign}{}", write(number.unsigned_abs())))
        }
        Value::Uint(number) => Some(write(*number)),
        _ => None,
    }
}

fn hexadecimal(value: &Value<'_>) -> Option<String> {
    let bytes = match value {
        Value::String(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        other => return radix(other, |number| format!("{number:x}")),
    };
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        return Some("NaN");
    }
    number
        .is_infinite()
        .then_some(if number > 0.0 { "∞" } else { "-∞" })
}

/// Digits in groups of three, as English has it.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    let text = format!("{number:.precision$}");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let (whole, decimals) = digits
        .split_once('.')
        .map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    match decimals {
        Some(decimals) => format!("{sign}{grouped}.{decimals}"),
        None => format!("{sign}{grouped}"),
    }
}

/// A power of ten with raised digits.
fn scientific(number: f64, _precision: usize) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    let text = format!("{number:.PRECISION$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { "⁻" } else { "" };
    let raised: String = format!("{:02}", exponent.abs())
        .chars()
        .map(|digit| match digit {
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            other => char::from_u32('⁰' as u32 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
        })
        .collect();
    format!("{mantissa}×10{sign}{raised}")
}

fn text(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::Null => Ok("null".to_owned()),
        Value::List(list) => list_text(list),
        Value::Map(map) => map_text(map),
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Timestamp(_)
        | Value::Duration(_)
        | Value::Type(_) => match to_string(value) {
            Ok(Value::String(text)) => Ok(text.to_string()),
            Ok(_) => refuse(Clause::Text, value),
            Err(error) => Err(error.to_string()),
        },
        other => refuse(Clause::Text, other),
    }
}

fn list_text(list: &List<'_>) -> Result<String, String> {
    let parts: Result<Vec<String>, String> = list
        .iter()
        .map(|element| nested(&element.map_err(|error| error.to_string())?))
        .collect();
    Ok(format!("[{}]", parts?.join(", ")))
}

fn map_text(map: &Map<'_>) -> Result<String, String> {
    let mut parts = Vec::new();
    for key in map.keys() {
        if !matches!(
            key,
            Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_)
        ) {
            return Err(format!(
                "no formatting function for map key of type {}",
                key.type_name()
            ));
        }
        let value = map
            .find(&key)
            .map_err(|error| error.to_string())?
            .unwrap_or(Value::Null);
        parts.push((nested(&key)?, nested(&value)?));
    }
    parts.sort();
    let shown: Vec<String> = parts
        .into_iter()
        .map(|(key, value)| format!("{key}:{value}"))
        .collect();
    Ok(format!("{{{}}}", shown.join(", ")))
}

/// A value inside a list or a map, where its type shows.
fn nested(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(go_quoted(text)),
        Value::Bytes(bytes) => Ok(format!("b{}", go_quoted(&String::from_utf8_lossy(bytes)))),
        Value::Timestamp(timestamp) => Ok(format!("timestamp(\"{timestamp}\")")),
        Value::Duration(duration) => Ok(format!("duration(\"{duration}\")")),
        Value::Double(number) => match special(*number) {
            Some(_) => Ok(format!("{:?}", shortest(*number))),
            None => Ok(format!("{number:.PRECISION$}")),
        },
        other if matches!(other, Value::Optional(_)) => {
            Err(format!("no formatting function for {}", other.type_name()))
        }
        other => text(other),
    }
}

fn go_quoted(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}

/// A value as messages show it.
pub(crate) fn plain(value: &Value<'_>) -> String {
    text(value).unwrap_or_else(|_| value.type_name().to_owned())
}
