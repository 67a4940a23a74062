//! Times as Go reads them: RFC 3339, brought into UTC, with its words for what is wrong.

use jiff::{Timestamp, civil::DateTime, tz::Offset};

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// How exact the times of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// Whole seconds; what is finer is cut off.
    Seconds,
    /// Microseconds, all six digits of them written.
    Microseconds,
}

/// The same time in UTC.
pub(super) fn canonical(text: &str, precision: Precision) -> Result<String, String> {
    let mut reader = Reader {
        text,
        rest: text,
        precision,
    };
    let timestamp = reader.timestamp()?;
    Ok(match precision {
        Precision::Seconds => timestamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Precision::Microseconds => timestamp.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
    })
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    precision: Precision,
}

impl Reader<'_> {
    fn timestamp(&mut self) -> Result<Timestamp, String> {
        let year = self.digits(4, "2006")?;
        self.literal("-")?;
        let month = self.digits(2, "01")?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal("-")?;
        let day = self.digits(2, "02")?;
        self.literal("T")?;
        let hour = self.below(24, "15", "hour")?;
        self.literal(":")?;
        let minute = self.below(60, "04", "minute")?;
        self.literal(":")?;
        let second = self.below(60, "05", "second")?;
        let nanosecond = self.fraction()?;
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(format!(
                "parsing time {:?}: extra text: {:?}",
                self.text, self.rest
            ));
        }
        let parts = [month, day, hour, minute, second].map(|part| i8::try_from(part).unwrap_or(0));
        let [month, day, hour, minute, second] = parts;
        let year = i16::try_from(year).unwrap_or(0);
        DateTime::new(year, month, day, hour, minute, second, nanosecond)
            .and_then(|date_time| offset.to_timestamp(date_time))
            .map_err(|_| self.out_of_range("day"))
    }

    fn digits(&mut self, count: usize, layout: &str) -> Result<i32, String> {
        let digits = self.rest.get(..count).unwrap_or_default();
        if digits.len() < count || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.cannot_parse(layout));
        }
        let value = digits.parse().map_err(|_| self.cannot_parse(layout))?;
        self.rest = &self.rest[count..];
        Ok(value)
    }

    fn below(&mut self, limit: i32, layout: &str, name: &str) -> Result<i32, String> {
        let value = self.digits(2, layout)?;
        if value < limit {
            Ok(value)
        } else {
            Err(self.out_of_range(name))
        }
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        match self.rest.strip_prefix(literal) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot_parse(literal)),
        }
    }

    /// Nanoseconds; exactly six digits where microseconds are wanted, any number elsewhere.
    fn fraction(&mut self) -> Result<i32, String> {
        let after = self.rest.strip_prefix('.').unwrap_or_default();
        let count = after.bytes().take_while(u8::is_ascii_digit).count();
        match self.precision {
            Precision::Microseconds if count != 6 => return Err(self.cannot_parse(".000000")),
            Precision::Seconds if count == 0 => return Ok(0),
            _ => {}
        }
        let digits: String = after[..count]
            .chars()
            .chain("000000000".chars())
            .take(9)
            .collect();
        self.rest = &after[count..];
        Ok(digits.parse().unwrap_or(0))
    }

    fn offset(&mut self) -> Result<Offset, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(Offset::UTC);
        }
        let layout = "Z07:00";
        let sign = match self.rest.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(self.cannot_parse(layout)),
        };
        let digits = self
            .rest
            .get(1..6)
            .ok_or_else(|| self.cannot_parse(layout))?;
        let parsed = digits.split_once(':').and_then(|(hours, minutes)| {
            Some((hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?))
        });
        let (hours, minutes) = parsed.ok_or_else(|| self.cannot_parse(layout))?;
        let offset = Offset::from_seconds(sign * (hours * 3600 + minutes * 60))
            .map_err(|_| self.out_of_range("time zone offset hour"))?;
        self.rest = &self.rest[6..];
        Ok(offset)
    }

    fn cannot_parse(&self, layout: &str) -> String {
        let whole = match self.precision {
            Precision::Seconds => SECONDS,
            Precision::Microseconds => MICROSECONDS,
        };
        let (text, rest) = (self.text, self.rest);
        format!("parsing time {text:?} as {whole:?}: cannot parse {rest:?} as {layout:?}")
    }

    fn out_of_range(&self, name: &str) -> String {
        format!("parsing time {:?}: {name} out of range", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_utc_to_the_second() {
        let written = |text| canonical(text, Precision::Seconds).unwrap();
        assert_eq!(written("2026-01-02T03:04:05Z"), "2026-01-02T03:04:05Z");
        assert_eq!(
            written("2026-01-02T03:04:05.987+02:30"),
            "2026-01-02T00:34:05Z"
        );
    }

    #[test]
    fn a_micro_time_needs_and_keeps_six_digits() {
        let written = |text| canonical(text, Precision::Microseconds);
        assert_eq!(
            written("2026-01-02T03:04:05.000120-01:00").as_deref(),
            Ok("2026-01-02T04:04:05.000120Z")
        );
        assert_eq!(
            written("2026-01-02T03:04:05Z").unwrap_err(),
            "parsing time \"2026-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\""
        );
    }

    #[test]
    fn what_is_wrong_is_told_in_gos_words() {
        let refusal = |text| canonical(text, Precision::Seconds).unwrap_err();
        assert_eq!(
            refusal("soon"),
            "parsing time \"soon\" as \"2006-01-02T15:04:05Z07:00\": \
             cannot parse \"soon\" as \"2006\""
        );
        assert_eq!(
            refusal("2026-13-02T03:04:05Z"),
            "parsing time \"2026-13-02T03:04:05Z\": month out of range"
        );
        assert_eq!(
            refusal("2026-02-30T03:04:05Z"),
            "parsing time \"2026-02-30T03:04:05Z\": day out of range"
        );
        assert_eq!(
            refusal("2026-01-02T03:04:05Zulu"),
            "parsing time \"2026-01-02T03:04:05Zulu\": extra text: \"ulu\""
        );
    }
}
