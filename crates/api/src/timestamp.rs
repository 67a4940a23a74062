//! Times as objects carry them, and ages as people read them.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::go_text::{parse_unsigned, quote};

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
const LAYOUT_MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";

/// The time to the second, in UTC: `2026-11-15T06:44:32Z`.
pub fn format_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The time to the microsecond, in UTC: `2026-11-15T06:44:32.000001Z`.
pub fn format_micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Reads a time to the second; fractions are read and kept.
pub fn parse_seconds(text: &str) -> Result<Timestamp, ParseTimeError> {
    parse(text, LAYOUT)
}

/// Reads a time to the microsecond, which must have a fraction of six digits.
pub fn parse_micros(text: &str) -> Result<Timestamp, ParseTimeError> {
    parse(text, LAYOUT_MICRO)
}

/// Why a text is no time, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseTimeError(String);

/// How long ago `created` is, as tables show it; a moment in the future is unknown.
pub fn age(created: Timestamp, now: Timestamp) -> String {
    human_duration(now.duration_since(created))
}

/// The duration in at most two units, coarser the longer it is: `22s`, `3m18s`, `5d`, `2y10d`.
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    let days = hours / 24;
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two_units(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two_units(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two_units(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () if days < 2_920 => two_units(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

fn two_units(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        small => format!("{large}{large_unit}{small}{small_unit}"),
    }
}

fn parse(text: &str, layout: &str) -> Result<Timestamp, ParseTimeError> {
    let mut reader = Reader { rest: text };
    reader.time(layout).map_err(|problem| {
        let quoted = quote(text);
        ParseTimeError(match problem {
            Problem::Malformed { element, rest } => format!(
                "parsing time {quoted} as {}: cannot parse {} as {}",
                quote(layout),
                quote(rest),
                quote(element)
            ),
            Problem::OutOfRange(what) => format!("parsing time {quoted}: {what} out of range"),
            Problem::Extra(rest) => {
                format!("parsing time {quoted}: extra text: {}", quote(rest))
            }
        })
    })
}

enum Problem<'a> {
    Malformed {
        element: &'static str,
        rest: &'a str,
    },
    OutOfRange(&'static str),
    Extra(&'a str),
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn time(&mut self, layout: &str) -> Result<Timestamp, Problem<'a>> {
        let year = self.number(4, "2006")?;
        self.symbol("-")?;
        let month = self.number_within("01", 1..=12, "month")?;
        self.symbol("-")?;
        let day = self.number(2, "02")?;
        self.symbol("T")?;
        let hour = self.hour()?;
        self.symbol(":")?;
        let minute = self.number_within("04", 0..=59, "minute")?;
        self.symbol(":")?;
        let second = self.number_within("05", 0..=59, "second")?;
        let nanosecond = if layout == LAYOUT_MICRO {
            self.micros()?
        } else {
            self.fraction()
        };
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(Problem::Extra(self.rest));
        }
        let narrow = |number: i32| i8::try_from(number).expect("two digits");
        let year = i16::try_from(year).expect("four digits");
        let (month, day, hour) = (narrow(month), narrow(day), narrow(hour));
        let date_time = DateTime::new(
            year,
            month,
            day,
            hour,
            narrow(minute),
            narrow(second),
            nanosecond,
        )
        .map_err(|_| Problem::OutOfRange("day"))?;
        let zoned = date_time.to_zoned(TimeZone::fixed(offset));
        zoned
            .map(|zoned| zoned.timestamp())
            .map_err(|_| Problem::OutOfRange("year"))
    }

    fn number(&mut self, digits: usize, element: &'static str) -> Result<i32, Problem<'a>> {
        let malformed = Problem::Malformed {
            element,
            rest: self.rest,
        };
        match self.rest.get(..digits) {
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.rest = &self.rest[digits..];
                Ok(text.parse().expect("at most four digits"))
            }
            _ => Err(malformed),
        }
    }

    fn number_within(
        &mut self,
        element: &'static str,
        range: std::ops::RangeInclusive<i32>,
        what: &'static str,
    ) -> Result<i32, Problem<'a>> {
        let number = self.number(2, element)?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(Problem::OutOfRange(what))
        }
    }

    /// Hours may have one digit.
    fn hour(&mut self) -> Result<i32, Problem<'a>> {
        match self.rest.as_bytes() {
            [digit, next, ..] if digit.is_ascii_digit() && !next.is_ascii_digit() => {
                self.number(1, "15")
            }
            _ => self.number_within("15", 0..=23, "hour"),
        }
    }

    fn symbol(&mut self, symbol: &'static str) -> Result<(), Problem<'a>> {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(Problem::Malformed {
                element: symbol,
                rest: self.rest,
            }),
        }
    }

    /// Six digits behind a point, as nanoseconds.
    fn micros(&mut self) -> Result<i32, Problem<'a>> {
        let element = ".000000";
        let malformed = Problem::Malformed {
            element,
            rest: self.rest,
        };
        let digits = self.rest.strip_prefix('.').and_then(|rest| rest.get(..6));
        match digits.and_then(|digits| parse_unsigned(digits).ok()) {
            Some(micros) => {
                self.rest = &self.rest[element.len()..];
                Ok(i32::try_from(micros * 1_000).expect("less than a second"))
            }
            None => Err(malformed),
        }
    }

    /// Any number of digits behind a point, as nanoseconds; finer ones are dropped.
    fn fraction(&mut self) -> i32 {
        let Some(tail) = self.rest.strip_prefix(['.', ',']) else {
            return 0;
        };
        let end = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        if end == 0 {
            return 0;
        }
        self.rest = &tail[end..];
        let digits = tail[..end].bytes().chain(std::iter::repeat(b'0')).take(9);
        digits.fold(0, |number, digit| number * 10 + i32::from(digit - b'0'))
    }

    fn offset(&mut self) -> Result<Offset, Problem<'a>> {
        let element = "Z07:00";
        let malformed = Problem::Malformed {
            element,
            rest: self.rest,
        };
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(Offset::UTC);
        }
        let text = self.rest.get(..6).unwrap_or_default().as_bytes();
        let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = text else {
            return Err(malformed);
        };
        let digits = [h1, h2, m1, m2];
        if !digits.iter().all(|digit| digit.is_ascii_digit()) {
            return Err(malformed);
        }
        let [h1, h2, m1, m2] = digits.map(|digit| i32::from(digit - b'0'));
        let seconds = (h1 * 10 + h2) * 3_600 + (m1 * 10 + m2) * 60;
        let seconds = if *sign == b'-' { -seconds } else { seconds };
        self.rest = &self.rest[6..];
        Offset::from_seconds(seconds).map_err(|_| Problem::OutOfRange("time zone offset hour"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> String {
        parse_seconds(text).unwrap_err().to_string()
    }

    #[test]
    fn times_are_written_in_utc() {
        let time = Timestamp::new(1_794_725_072, 1_999).unwrap();
        assert_eq!(format_seconds(time), "2026-11-15T06:44:32Z");
        assert_eq!(format_micros(time), "2026-11-15T06:44:32.000001Z");
    }

    #[test]
    fn times_are_read_with_any_offset() {
        let expected = Timestamp::new(1_794_725_072, 0).unwrap();
        for text in [
            "2026-11-15T06:44:32Z",
            "2026-11-15T08:44:32+02:00",
            "2026-11-14T23:44:32-07:00",
        ] {
            assert_eq!(parse_seconds(text), Ok(expected));
        }
        let fraction = parse_seconds("2026-11-15T06:44:32.5Z").unwrap();
        assert_eq!(fraction.subsec_nanosecond(), 500_000_000);
        let micros = parse_micros("2026-11-15T06:44:32.000001Z").unwrap();
        assert_eq!(micros.subsec_nanosecond(), 1_000);
    }

    #[test]
    fn what_is_no_time_is_refused_in_the_words_of_go() {
        let layout = "\"2006-01-02T15:04:05Z07:00\"";
        let expected = format!("parsing time \"x\" as {layout}: cannot parse \"x\" as \"2006\"");
        assert_eq!(refused("x"), expected);
        let expected = format!("parsing time \"2026-1\" as {layout}: cannot parse \"1\" as \"01\"");
        assert_eq!(refused("2026-1"), expected);
        let text = "2026-13-01T00:00:00Z";
        assert_eq!(
            refused(text),
            format!("parsing time \"{text}\": month out of range")
        );
        let text = "2026-02-30T00:00:00Z";
        assert_eq!(
            refused(text),
            format!("parsing time \"{text}\": day out of range")
        );
        let text = "2026-02-03T00:00:00Zx";
        assert_eq!(
            refused(text),
            format!("parsing time \"{text}\": extra text: \"x\"")
        );
        let text = "2026-02-03T00:00:00";
        let expected =
            format!("parsing time \"{text}\" as {layout}: cannot parse \"\" as \"Z07:00\"");
        assert_eq!(refused(text), expected);
        assert!(parse_micros("2026-02-03T00:00:00Z").is_err());
    }

    #[test]
    fn ages_grow_coarser() {
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (22, "22s"),
            (119, "119s"),
            (120, "2m"),
            (198, "3m18s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_936_000, "2y10d"),
            (252_288_000, "8y"),
            (3_153_600_000, "100y"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(
                human_duration(SignedDuration::from_secs(seconds)),
                expected,
                "{seconds}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(seconds in 0_i64..253_402_300_799) {
            let time = Timestamp::new(seconds, 0).unwrap();
            prop_assert_eq!(parse_seconds(&format_seconds(time)), Ok(time));
            prop_assert_eq!(parse_micros(&format_micros(time)), Ok(time));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9TZ:+.é-]{0,30}|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*") {
            let _ = (parse_seconds(&text), parse_micros(&text));
        }
    }
}
