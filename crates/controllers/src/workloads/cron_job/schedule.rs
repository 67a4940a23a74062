//! Times of day as cron writes them: `*/5 8-17 * * MON-FRI`, or `@daily`. All are in UTC.

use k8s_openapi::jiff::{Timestamp, ToSpan, civil, tz::TimeZone};

/// Days that are looked through for the next time; one day in February comes every eight years.
const DAYS_MAX: usize = 366 * 9;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// When something is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    weekdays: Values,
}

/// The values of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Values {
    allowed: Vec<i8>,
    /// Whether the field asks for anything.
    bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Any,
    Some,
}

/// What a field may say.
struct Field {
    first: i8,
    last: i8,
    /// What its values are called, from the first on.
    names: &'static [&'static str],
}

impl Schedule {
    /// Reads a schedule; `None` if it cannot be read.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = parts.try_into().ok()?;
        let field = |first, last, names| Field { first, last, names };
        Some(Self {
            minutes: field(0, 59, &[]).parse(minutes)?,
            hours: field(0, 23, &[]).parse(hours)?,
            days: field(1, 31, &[]).parse(days)?,
            months: field(1, 12, &MONTHS).parse(months)?,
            weekdays: field(0, 6, &WEEKDAYS).parse(weekdays)?,
        })
    }

    /// The first time after this one.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let start = after.to_zoned(TimeZone::UTC).date();
        let days = start.series(1.day()).take(DAYS_MAX);
        days.filter(|day| self.is_day(*day))
            .find_map(|day| self.times(day).find(|time| *time > after))
    }

    /// The last time that is not after `now` and is after `since`.
    pub(super) fn last(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let start = now.to_zoned(TimeZone::UTC).date();
        let days = start.series(-1.day()).take(DAYS_MAX);
        let found = days.filter(|day| self.is_day(*day)).find_map(|day| {
            let times: Vec<_> = self.times(day).filter(|time| *time <= now).collect();
            times.last().copied()
        });
        found.filter(|found| *found > since)
    }

    fn is_day(&self, day: civil::Date) -> bool {
        let in_month = self.days.contains(day.day());
        let in_week = self
            .weekdays
            .contains(day.weekday().to_sunday_zero_offset());
        let is_day = match (self.days.bound, self.weekdays.bound) {
            // Who names days of both kinds means either.
            (Bound::Some, Bound::Some) => in_month || in_week,
            (_, _) => in_month && in_week,
        };
        is_day && self.months.contains(day.month())
    }

    /// The times of one day, in order.
    fn times(&self, day: civil::Date) -> impl Iterator<Item = Timestamp> {
        let hours = self.hours.allowed.iter();
        let times = hours.flat_map(move |hour| {
            let minutes = self.minutes.allowed.iter();
            minutes.map(move |minute| day.at(*hour, *minute, 0, 0))
        });
        times.filter_map(|time| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp()))
    }
}

impl Values {
    fn contains(&self, value: i8) -> bool {
        self.allowed.contains(&value)
    }
}

impl Field {
    fn parse(&self, text: &str) -> Option<Values> {
        let mut allowed = Vec::new();
        let mut bound = Bound::Some;
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, Some(step.parse::<i8>().ok()?)),
                None => (part, None),
            };
            let is_any = matches!(range, "*" | "?");
            let (first, last) = match range.split_once('-') {
                _ if is_any => (self.first, self.last),
                Some((first, last)) => (self.value(first)?, self.value(last)?),
                None if step.is_some() => (self.value(range)?, self.last),
                None => (self.value(range)?, self.value(range)?),
            };
            let step = step.unwrap_or(1);
            if is_any && step == 1 {
                bound = Bound::Any;
            }
            let is_sound = step > 0 && self.first <= first && first <= last && last <= self.last;
            let values =
                is_sound.then(|| (first..=last).step_by(usize::try_from(step).unwrap_or(1)));
            allowed.extend(values?);
        }
        allowed.sort_unstable();
        allowed.dedup();
        Some(Values { allowed, bound })
    }

    fn value(&self, text: &str) -> Option<i8> {
        let named = self
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text));
        match named {
            Some(place) => Some(self.first + i8::try_from(place).ok()?),
            None => text.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        let schedule = Schedule::parse(schedule)?;
        let next = schedule.next(after.parse().unwrap())?;
        Some(next.to_string())
    }

    #[test]
    fn the_next_time_is_after_the_present() {
        for (schedule, after, wanted) in [
            (
                "*/5 * * * *",
                "2026-01-01T00:05:00Z",
                "2026-01-01T00:10:00Z",
            ),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            (
                "30 8-9 * * mon-fri",
                "2026-01-02T09:30:00Z",
                "2026-01-05T08:30:00Z",
            ),
            ("0 0 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
            (
                "*/1 * * * ?",
                "2026-01-01T00:00:01Z",
                "2026-01-01T00:01:00Z",
            ),
            ("@monthly", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"),
            (
                "10,50/5 1 * Mar *",
                "2026-03-01T01:50:00Z",
                "2026-03-01T01:55:00Z",
            ),
        ] {
            assert_eq!(next(schedule, after).as_deref(), Some(wanted), "{schedule}");
        }
        assert_eq!(next("0 0 31 2 *", "2026-01-01T00:00:00Z"), None);
    }

    #[test]
    fn the_last_time_is_found_however_many_were_missed() {
        let schedule = Schedule::parse("0 * * * *").unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-06-01T10:59:59Z");
        let last = schedule.last(at("2020-01-01T00:00:00Z"), now);
        assert_eq!(last, Some(at("2026-06-01T10:00:00Z")));
        assert_eq!(schedule.last(at("2026-06-01T10:00:00Z"), now), None);
    }

    #[test]
    fn what_makes_no_sense_is_not_read() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "5-1 * * * *",
            "*/0 * * * *",
            "x * * * *",
        ] {
            assert_eq!(Schedule::parse(text), None, "{text}");
        }
    }
}
