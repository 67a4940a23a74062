//! Points and spans of time: reading, writing, adding, and the parts of a date.

use std::fmt;

use crate::error::EvaluationError;
use crate::value::{Outcome, Value};

const NANOSECONDS: i64 = 1_000_000_000;
const SECONDS_MIN: i64 = -62_135_596_800;
const SECONDS_MAX: i64 = 253_402_300_799;

/// A point in time between the years 1 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(i64);

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Date {
    year: i64,
    month: i64,
    day: i64,
}

fn days_from_date(date: Date) -> i64 {
    let year = if date.month <= 2 {
        date.year - 1
    } else {
        date.year
    };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((date.month + 9) % 12) + 2) / 5 + date.day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn date_from_days(days: i64) -> Date {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Date {
        year,
        month,
        day: day_of_year - (153 * shifted + 2) / 5 + 1,
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Timestamp {
    /// A point so many seconds after 1970, if it is in range.
    pub fn from_seconds(seconds: i64) -> Option<Self> {
        (SECONDS_MIN..=SECONDS_MAX)
            .contains(&seconds)
            .then_some(Self {
                seconds,
                nanoseconds: 0,
            })
    }

    /// Reads RFC 3339.
    pub fn parse(text: &str) -> Option<Self> {
        let date = Self::parse_date(text.get(..10)?)?;
        let rest = text.get(10..)?.strip_prefix('T')?;
        date.with_time(rest)
    }

    /// Reads a day.
    pub fn parse_date(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return None;
        }
        let (year, month, day) = (
            number(&text[..4])?,
            number(&text[5..7])?,
            number(&text[8..])?,
        );
        if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
            return None;
        }
        Self::from_seconds(days_from_date(Date { year, month, day }) * 86_400)
    }

    fn with_time(self, text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() < 9 || bytes[2] != b':' || bytes[5] != b':' {
            return None;
        }
        let (hours, minutes, seconds) = (
            number(text.get(..2)?)?,
            number(text.get(3..5)?)?,
            number(text.get(6..8)?)?,
        );
        if hours > 23 || minutes > 59 || seconds > 59 {
            return None;
        }
        let (nanoseconds, zone) = fraction(text.get(8..)?)?;
        let offset = offset_seconds(zone)?;
        let seconds = self.seconds + hours * 3_600 + minutes * 60 + seconds - offset;
        let whole = Self::from_seconds(seconds)?;
        Some(Self {
            nanoseconds,
            ..whole
        })
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    pub(crate) fn is_zero(self) -> bool {
        self.seconds == SECONDS_MIN && self.nanoseconds == 0
    }

    fn plus(self, nanoseconds: i128) -> Result<Self, EvaluationError> {
        let total = i128::from(self.seconds) * i128::from(NANOSECONDS)
            + i128::from(self.nanoseconds)
            + nanoseconds;
        let overflow = || EvaluationError::failed("timestamp overflow");
        let seconds =
            i64::try_from(total.div_euclid(i128::from(NANOSECONDS))).map_err(|_| overflow())?;
        let whole = Self::from_seconds(seconds).ok_or_else(overflow)?;
        Ok(Self {
            nanoseconds: total.rem_euclid(i128::from(NANOSECONDS)) as u32,
            ..whole
        })
    }

    fn minus(self, other: Self) -> Result<Duration, EvaluationError> {
        let seconds = i128::from(self.seconds) - i128::from(other.seconds);
        let nanoseconds = i128::from(self.nanoseconds) - i128::from(other.nanoseconds);
        let total = seconds * i128::from(NANOSECONDS) + nanoseconds;
        i64::try_from(total)
            .map(Duration)
            .map_err(|_| EvaluationError::failed("integer overflow"))
    }
}

/// Reads a date-time as Kubernetes' schemas allow it: RFC 3339, or without seconds' zone colon or
/// letters in lower case.
pub(crate) fn parse_lenient(text: &str) -> Option<Timestamp> {
    Timestamp::parse(&text.to_ascii_uppercase())
}

/// Reads a date-time of the data: RFC 3339, which may lack its zone. No text is the beginning of
/// 1970.
pub(crate) fn parse_data(text: &str) -> Option<Timestamp> {
    if text.is_empty() {
        return Timestamp::from_seconds(0);
    }
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}Z")))
}

/// Reads a span of the data: as in expressions, or whole numbers with words such as `2 weeks`.
pub(crate) fn parse_words(text: &str) -> Option<Duration> {
    if let Some(duration) = Duration::parse(text) {
        return Some(duration);
    }
    let mut total: Option<i64> = None;
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let digits = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest[start..].split_at(digits);
        let word = after.trim_start();
        let letters = word
            .find(|character: char| !(character.is_ascii_alphabetic() || character == 'µ'))
            .unwrap_or(word.len());
        if let Some(unit) = word_unit(&word[..letters].to_lowercase()) {
            let amount = number.parse::<i64>().ok()?.checked_mul(unit)?;
            total = Some(total.unwrap_or(0).checked_add(amount)?);
        }
        rest = &word[letters..];
    }
    total.map(Duration)
}

/// Nanoseconds in a unit that is written as a word.
fn word_unit(word: &str) -> Option<i64> {
    const UNITS: [(&[&str], &str, i64); 8] = [
        (&["ns"], "nano", 1),
        (&["us", "µs"], "micro", 1_000),
        (&["ms"], "milli", 1_000_000),
        (&["s"], "sec", NANOSECONDS),
        (&["m"], "min", 60 * NANOSECONDS),
        (&["h", "hr"], "hour", 3_600 * NANOSECONDS),
        (&["d"], "day", 86_400 * NANOSECONDS),
        (&["w", "wk"], "week", 604_800 * NANOSECONDS),
    ];
    let unit = UNITS
        .iter()
        .find(|(short, long, _)| short.contains(&word) || word.starts_with(long));
    unit.map(|(_, _, nanoseconds)| *nanoseconds)
}

fn number(text: &str) -> Option<i64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// The fraction of a second, in nanoseconds, and what follows it.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(digits) = text.strip_prefix(['.', ',']) else {
        return Some((0, text));
    };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return None;
    }
    let kept = &digits[..length.min(9)];
    let nanoseconds = kept.parse::<u32>().ok()? * 10_u32.pow(9 - kept.len() as u32);
    Some((nanoseconds, &digits[length..]))
}

fn offset_seconds(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    if zone.len() != 6 || zone.as_bytes()[3] != b':' {
        return None;
    }
    let (hours, minutes) = (number(zone.get(1..3)?)?, number(zone.get(4..)?)?);
    (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Date { year, month, day } = date_from_days(self.seconds.div_euclid(86_400));
        let time = self.seconds.rem_euclid(86_400);
        let (hours, minutes, seconds) = (time / 3_600, time / 60 % 60, time % 60);
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}"
        )?;
        if self.nanoseconds > 0 {
            let digits = format!("{:09}", self.nanoseconds);
            write!(formatter, ".{}", digits.trim_end_matches('0'))?;
        }
        formatter.write_str("Z")
    }
}

impl Duration {
    /// A span of so many nanoseconds.
    pub fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds)
    }

    /// The span in nanoseconds.
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Reads a sequence of numbers with units, such as `1h30m` or `-1.5s`.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Some(Self(0));
        }
        if rest.is_empty() {
            return None;
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (nanoseconds, after) = component(rest)?;
            total = total
                .checked_add(nanoseconds)
                .filter(|total| *total <= 1 << 63)?;
            rest = after;
        }
        if negative {
            return 0_i64.checked_sub_unsigned(total).map(Self);
        }
        i64::try_from(total).ok().map(Self)
    }
}

/// One number with its unit, in nanoseconds, and what follows.
fn component(text: &str) -> Option<(u64, &str)> {
    let whole_length = text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = &text[..whole_length];
    let after = &text[whole_length..];
    let (decimals, after) = match after.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
        None => ("", after),
    };
    if whole.is_empty() && decimals.is_empty() {
        return None;
    }
    let unit_length = after.find(|character: char| character == '.' || character.is_ascii_digit());
    let (unit, rest) = after.split_at(unit_length.unwrap_or(after.len()));
    let scale: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut nanoseconds = whole.checked_mul(scale).filter(|value| *value <= 1 << 63)?;
    if !decimals.is_empty() {
        let kept = &decimals[..decimals.len().min(18)];
        let part = kept.parse::<f64>().ok()? * (scale as f64 / 10_f64.powi(kept.len() as i32));
        nanoseconds = nanoseconds.checked_add(part as u64)?;
    }
    Some((nanoseconds, rest))
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / NANOSECONDS;
        let nanoseconds = self.0 % NANOSECONDS;
        write!(formatter, "{}s", seconds as f64 + nanoseconds as f64 / 1e9)
    }
}

/// Adds spans to points and spans.
pub(crate) fn add<'a>(one: &Value<'a>, other: &Value<'a>) -> Option<Outcome<'a>> {
    match (one, other) {
        (Value::Duration(one), Value::Duration(other)) => Some(spans(one.0.checked_add(other.0))),
        (Value::Timestamp(point), Value::Duration(span))
        | (Value::Duration(span), Value::Timestamp(point)) => {
            Some(point.plus(i128::from(span.0)).map(Value::Timestamp))
        }
        _ => None,
    }
}

/// Subtracts spans and points.
pub(crate) fn subtract<'a>(one: &Value<'a>, other: &Value<'a>) -> Option<Outcome<'a>> {
    match (one, other) {
        (Value::Duration(one), Value::Duration(other)) => Some(spans(one.0.checked_sub(other.0))),
        (Value::Timestamp(point), Value::Duration(span)) => {
            Some(point.plus(-i128::from(span.0)).map(Value::Timestamp))
        }
        (Value::Timestamp(one), Value::Timestamp(other)) => {
            Some(one.minus(*other).map(Value::Duration))
        }
        _ => None,
    }
}

fn spans<'a>(nanoseconds: Option<i64>) -> Outcome<'a> {
    nanoseconds
        .map(|nanoseconds| Value::Duration(Duration(nanoseconds)))
        .ok_or_else(|| EvaluationError::failed("integer overflow"))
}

/// A part of a point in time, in a zone, or of a span.
pub(crate) fn getter<'a>(function: &str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Duration(span)] => span_part(function, *span),
        [Value::Timestamp(point)] => Ok(Value::Int(point_part(function, *point, 0))),
        [Value::Timestamp(point), Value::String(zone)] => {
            Ok(Value::Int(point_part(function, *point, zone_offset(zone)?)))
        }
        _ => Err(EvaluationError::no_such_overload()),
    }
}

fn span_part<'a>(function: &str, span: Duration) -> Outcome<'a> {
    let unit = match function {
        "getHours" => 3_600 * NANOSECONDS,
        "getMinutes" => 60 * NANOSECONDS,
        "getSeconds" => NANOSECONDS,
        "getMilliseconds" => 1_000_000,
        _ => return Err(EvaluationError::no_such_overload()),
    };
    Ok(Value::Int(span.0 / unit))
}

fn point_part(function: &str, point: Timestamp, offset: i64) -> i64 {
    let local = point.seconds + offset;
    let days = local.div_euclid(86_400);
    let time = local.rem_euclid(86_400);
    let date = date_from_days(days);
    match function {
        "getFullYear" => date.year,
        "getMonth" => date.month - 1,
        "getDate" => date.day,
        "getDayOfMonth" => date.day - 1,
        "getDayOfWeek" => (days + 4).rem_euclid(7),
        "getDayOfYear" => {
            days - days_from_date(Date {
                year: date.year,
                month: 1,
                day: 1,
            })
        }
        "getHours" => time / 3_600,
        "getMinutes" => time / 60 % 60,
        "getSeconds" => time % 60,
        _ => i64::from(point.nanoseconds / 1_000_000),
    }
}

/// Seconds east of Greenwich for `UTC` or an offset such as `-08:00`.
fn zone_offset(zone: &str) -> Result<i64, EvaluationError> {
    let Some((hours, minutes)) = zone.split_once(':') else {
        return match zone {
            "" | "UTC" | "GMT" | "Etc/UTC" | "Etc/GMT" | "Zulu" | "Etc/Zulu" => Ok(0),
            _ => Err(EvaluationError::failed(format!("unknown time zone {zone}"))),
        };
    };
    let parse = |text: &str| {
        text.parse::<i64>().map_err(|_| {
            EvaluationError::failed(format!("strconv.Atoi: parsing {text:?}: invalid syntax"))
        })
    };
    let (hours, minutes) = (parse(hours)?, parse(minutes)?);
    let minutes = if zone.starts_with('-') {
        -minutes
    } else {
        minutes
    };
    Ok(hours
        .saturating_mul(3_600)
        .saturating_add(minutes.saturating_mul(60))
        .clamp(-359_999, 359_999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_read_and_written_to_the_nanosecond() {
        for text in [
            "2023-07-14T10:30:45.123Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Timestamp::parse("2023-01-01T00:30:00+01:00")
                .unwrap()
                .to_string(),
            "2022-12-31T23:30:00Z"
        );
        for text in [
            "2023-02-29T00:00:00Z",
            "2023-01-01T24:00:00Z",
            "2023-01-01",
            "2023-01-01T00:00:00",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn spans_of_the_data_may_be_written_in_words() {
        assert_eq!(parse_words("2 weeks").unwrap().to_string(), "1209600s");
        assert_eq!(parse_words("1d 2 hours").unwrap().to_string(), "93600s");
        assert_eq!(parse_words("1h30m").unwrap().to_string(), "5400s");
        assert_eq!(parse_words("soon"), None);
        assert_eq!(
            parse_data("2024-01-01T10:00:00").unwrap().to_string(),
            "2024-01-01T10:00:00Z"
        );
        assert_eq!(parse_data("2024-01-01t10:00:00z"), None);
    }

    #[test]
    fn a_span_is_a_sequence_of_numbers_with_units() {
        assert_eq!(Duration::parse("1h30m").unwrap().to_string(), "5400s");
        assert_eq!(Duration::parse("-1.5ms").unwrap().nanoseconds(), -1_500_000);
        assert_eq!(Duration::parse("1"), None);
        assert_eq!(Duration::parse(""), None);
        assert_eq!(Duration::parse("3000000h"), None);
    }
}
