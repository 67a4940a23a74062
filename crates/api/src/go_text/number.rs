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

/// Reads a duration such as `1h30m` or `0.5s` (`time.ParseDuration`); a negative one is none.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (mut rest, negative) = match text.as_bytes() {
        [b'-', ..] => (&text[1..], true),
        [b'+', ..] => (&text[1..], false),
        _ => (text, false),
    };
    let invalid = || format!("time: invalid duration {}", quote(text));
    let mut nanoseconds = 0_f64;
    if rest != "0" && rest.is_empty() {
        return Err(invalid());
    }
    while rest != "0" && !rest.is_empty() {
        let number_end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, tail) = rest.split_at(number_end.unwrap_or(rest.len()));
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

fn unit_nanoseconds(unit: &str, whole: &str) -> Result<f64, String> {
    match unit {
        "ns" => Ok(1.0),
        "us" | "µs" | "μs" => Ok(1e3),
        "ms" => Ok(1e6),
        "s" => Ok(1e9),
        "m" => Ok(60e9),
        "h" => Ok(3_600e9),
        "" => Err(format!("time: missing unit in duration {}", quote(whole))),
        other => Err(format!(
            "time: unknown unit {} in duration {}",
            quote(other),
            quote(whole)
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
            ("1..5s", "time: invalid duration \"1..5s\""),
            ("30", "time: missing unit in duration \"30\""),
            ("3x", "time: unknown unit \"x\" in duration \"3x\""),
            ("9999999h", "time: invalid duration \"9999999h\""),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_duration(text), Err(expected.to_owned()));
        }
    }
}
