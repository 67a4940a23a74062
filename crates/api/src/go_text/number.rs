//! Numbers and durations as Go reads them, with its errors.

use std::time::Duration;

use super::quote;

/// Reads a whole number of 64 bits (`strconv.ParseInt`).
pub fn parse_signed(text: &str) -> Result<i64, String> {
    let (digits, negative) = match text.as_bytes() {
        [b'-', ..] => (&text[1..], true),
        [b'+', ..] => (&text[1..], false),
        _ => (text, false),
    };
    let magnitude = parse_digits(digits).and_then(|magnitude| {
        let signed = if negative {
            0_i64.checked_sub_unsigned(magnitude)
        } else {
            i64::try_from(magnitude).ok()
        };
        signed.ok_or(NumberError::Range)
    });
    magnitude.map_err(|error| error.text("ParseInt", text))
}

/// Reads a whole number of 64 bits without a sign (`strconv.ParseUint`).
pub fn parse_unsigned(text: &str) -> Result<u64, String> {
    parse_digits(text).map_err(|error| error.text("ParseUint", text))
}

enum NumberError {
    Syntax,
    Range,
}

impl NumberError {
    fn text(self, function: &str, text: &str) -> String {
        let why = match self {
            Self::Syntax => "invalid syntax",
            Self::Range => "value out of range",
        };
        format!("strconv.{function}: parsing {}: {why}", quote(text))
    }
}

fn parse_digits(text: &str) -> Result<u64, NumberError> {
    if text.is_empty() {
        return Err(NumberError::Syntax);
    }
    text.bytes().try_fold(0_u64, |number, byte| {
        let digit = char::from(byte).to_digit(10).ok_or(NumberError::Syntax)?;
        let shifted = number.checked_mul(10).ok_or(NumberError::Range)?;
        shifted
            .checked_add(u64::from(digit))
            .ok_or(NumberError::Range)
    })
}

/// The number as Go prints it (`%g`): the fewest digits that tell it from others.
pub fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Reads a duration such as `1h30m` or `0.5s` (`time.ParseDuration`); a negative one is none.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (mut rest, negative) = match text.as_bytes() {
        [b'-', ..] => (&text[1..], true),
        [b'+', ..] => (&text[1..], false),
        _ => (text, false),
    };
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let invalid = || format!("time: invalid duration {}", quote_bytes(text));
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanoseconds = 0_f64;
    while !rest.is_empty() {
        let (number, tail) = split_number(rest);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.');
        let (unit, tail) = tail.split_at(unit_end.unwrap_or(tail.len()));
        nanoseconds += number * unit_nanoseconds(unit, text)?;
        rest = tail;
    }
    if nanoseconds > i64::MAX as f64 {
        return Err(invalid());
    }
    let seconds = if negative { 0.0 } else { nanoseconds / 1e9 };
    Duration::try_from_secs_f64(seconds).map_err(|_| invalid())
}

/// Digits with one point at most, and what follows them.
fn split_number(text: &str) -> (&str, &str) {
    let mut points = 0;
    let end = text.find(|c: char| {
        points += usize::from(c == '.');
        points > 1 || !(c.is_ascii_digit() || c == '.')
    });
    text.split_at(end.unwrap_or(text.len()))
}

/// Durations are quoted by bytes, unlike anything else.
fn quote_bytes(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=0x7f => quoted.push(char::from(byte)),
            other => quoted.push_str(&format!("\\x{other:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

fn unit_nanoseconds(unit: &str, whole: &str) -> Result<f64, String> {
    match unit {
        "ns" => Ok(1.0),
        "us" | "µs" | "μs" => Ok(1e3),
        "ms" => Ok(1e6),
        "s" => Ok(1e9),
        "m" => Ok(60e9),
        "h" => Ok(3_600e9),
        "" => Err(format!(
            "time: missing unit in duration {}",
            quote_bytes(whole)
        )),
        other => Err(format!(
            "time: unknown unit {} in duration {}",
            quote_bytes(other),
            quote_bytes(whole)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        assert_eq!(parse_signed("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_signed("+7"), Ok(7));
        let syntax = |text: &str| format!("strconv.ParseInt: parsing {text:?}: invalid syntax");
        for text in ["abc", "", "-", "1_000", "0x1", " 1", "1.5"] {
            assert_eq!(parse_signed(text), Err(syntax(text)));
        }
        let range = "strconv.ParseInt: parsing \"9223372036854775808\": value out of range";
        assert_eq!(parse_signed("9223372036854775808"), Err(range.to_owned()));
        assert_eq!(parse_unsigned("18446744073709551615"), Ok(u64::MAX));
        let range = "strconv.ParseUint: parsing \"18446744073709551616\": value out of range";
        assert_eq!(
            parse_unsigned("18446744073709551616"),
            Err(range.to_owned())
        );
        let sign = "strconv.ParseUint: parsing \"+1\": invalid syntax";
        assert_eq!(parse_unsigned("+1"), Err(sign.to_owned()));
    }

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        let cases = [
            (1.5, "1.5"),
            (-0.0001, "-0.0001"),
            (0.000_012, "1.2e-05"),
            (123_456.5, "123456.5"),
            (1_234_567.5, "1.2345675e+06"),
            (1e300, "1e+300"),
        ];
        for (number, expected) in cases {
            assert_eq!(float(number), expected);
        }
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(
            parse_duration("1h1m1.5s"),
            Ok(Duration::from_millis(3_661_500))
        );
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert_eq!(parse_duration("-1s"), Ok(Duration::ZERO));
        let cases = [
            ("abc", "time: invalid duration \"abc\""),
            ("", "time: invalid duration \"\""),
            (".s", "time: invalid duration \".s\""),
            ("1..5s", "time: missing unit in duration \"1..5s\""),
            ("1s0", "time: missing unit in duration \"1s0\""),
            ("30", "time: missing unit in duration \"30\""),
            ("3x", "time: unknown unit \"x\" in duration \"3x\""),
            ("9999999h", "time: invalid duration \"9999999h\""),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_duration(text), Err(expected.to_owned()));
        }
    }
}
