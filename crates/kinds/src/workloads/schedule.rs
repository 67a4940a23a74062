//! Times of repetition, as tables of times have always written them.

use listwatch_api::go_text;

/// The least and the greatest value of a field, and its names.
struct Bounds {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Bounds; 5] = [
    Bounds {
        least: 0,
        most: 59,
        names: &[],
    },
    Bounds {
        least: 0,
        most: 23,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 31,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 12,
        names: &MONTHS,
    },
    Bounds {
        least: 0,
        most: 6,
        names: &DAYS,
    },
];
const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// What is wrong with a schedule.
pub(super) fn problem(schedule: &str) -> Option<String> {
    let schedule = match zone(schedule) {
        Ok(schedule) => schedule,
        Err(problem) => return Some(problem),
    };
    if schedule.starts_with('@') {
        return descriptor_problem(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (count, list) = (fields.len(), fields.join(" "));
        return Some(format!(
            "expected exactly 5 fields, found {count}: [{list}]"
        ));
    }
    fields
        .iter()
        .zip(&FIELDS)
        .find_map(|(field, bounds)| field_problem(field, bounds))
}

/// The schedule without the zone that it may begin with.
fn zone(schedule: &str) -> Result<&str, String> {
    let Some(rest) = schedule
        .strip_prefix("TZ=")
        .or(schedule.strip_prefix("CRON_TZ="))
    else {
        return Ok(schedule);
    };
    match rest.split_once(' ') {
        Some((_, rest)) => Ok(rest.trim()),
        None => Err(
            "invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned(),
        ),
    }
}

fn descriptor_problem(descriptor: &str) -> Option<String> {
    if let Some(duration) = descriptor.strip_prefix("@every ") {
        return match go_text::parse_duration(duration) {
            Ok(_) => None,
            Err(problem) => Some(format!("failed to parse duration {descriptor}: {problem}")),
        };
    }
    let is_known = DESCRIPTORS.contains(&descriptor);
    (!is_known).then(|| format!("unrecognized descriptor: {descriptor}"))
}

fn field_problem(field: &str, bounds: &Bounds) -> Option<String> {
    let ranges = field.split(',').filter(|range| !range.is_empty());
    ranges
        .map(|range| range_problem(range, bounds))
        .find_map(Result::err)
}

fn range_problem(range: &str, bounds: &Bounds) -> Result<(), String> {
    let parts: Vec<&str> = range.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = match ends.as_slice() {
        ["*" | "?", ..] => (bounds.least, bounds.most),
        [one] => (number(one, bounds)?, number(one, bounds)?),
        [low, high] => (number(low, bounds)?, number(high, bounds)?),
        [low, ..] => {
            number(low, bounds)?;
            return Err(format!("too many hyphens: {range}"));
        }
        [] => return Ok(()),
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = plain_number(step)?;
            if ends.len() == 1 {
                end = bounds.most;
            }
            step
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    let (least, most) = (bounds.least, bounds.most);
    if start < least {
        Err(format!(
            "beginning of range ({start}) below minimum ({least}): {range}"
        ))
    } else if end > most {
        Err(format!(
            "end of range ({end}) above maximum ({most}): {range}"
        ))
    } else if start > end {
        Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {range}"
        ))
    } else if step == 0 {
        Err(format!(
            "step of range should be a positive number: {range}"
        ))
    } else {
        Ok(())
    }
}

fn number(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let named = bounds
        .names
        .iter()
        .position(|name| text.eq_ignore_ascii_case(name));
    match named {
        Some(place) => Ok(place as u64 + bounds.least),
        None => plain_number(text),
    }
}

fn plain_number(text: &str) -> Result<u64, String> {
    let quoted = go_text::quote(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let why = format!("strconv.Atoi: parsing {quoted}: invalid syntax");
        return Err(format!("failed to parse int from {text}: {why}"));
    }
    match text.parse::<i64>() {
        Ok(number) => u64::try_from(number)
            .map_err(|_| format!("negative number ({number}) not allowed: {text}")),
        Err(_) => {
            let why = format!("strconv.Atoi: parsing {quoted}: value out of range");
            Err(format!("failed to parse int from {text}: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_that_come_round_are_good() {
        for good in [
            "*/5 * * * *",
            "0 0 1 JAN mon-FRI",
            "@hourly",
            "@every 1h30m",
            "1,2-4/2 ? * * *",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_of_the_first_wrong_field() {
        let of = |schedule| problem(schedule).unwrap();
        assert_eq!(of("* *"), "expected exactly 5 fields, found 2: [* *]");
        assert_eq!(of("60 * * * *"), "end of range (60) above maximum (59): 60");
        assert_eq!(
            of("* * 0 * *"),
            "beginning of range (0) below minimum (1): 0"
        );
        assert_eq!(
            of("5-1 * * * *"),
            "beginning of range (5) beyond end of range (1): 5-1"
        );
        assert_eq!(
            of("*/0 * * * *"),
            "step of range should be a positive number: */0"
        );
        assert_eq!(of("1-2-3 * * * *"), "too many hyphens: 1-2-3");
        assert_eq!(of("1/2/3 * * * *"), "too many slashes: 1/2/3");
        assert_eq!(of("@never"), "unrecognized descriptor: @never");
        let text = "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax";
        assert_eq!(of("x * * * *"), text);
    }
}
