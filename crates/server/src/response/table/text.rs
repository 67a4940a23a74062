//! How values read in a cell: ages, label sets, selectors, shortened lists.

use jiff::Timestamp;

use super::field::Field;

/// What stands for an empty set.
pub(super) const NONE: &str = "<none>";
/// What stands for a value nobody has reported yet.
pub(super) const UNKNOWN: &str = "<unknown>";
/// What stands for an option that was not given.
pub(super) const UNSET: &str = "<unset>";

/// The age of an object.
pub(super) fn age(object: Field<'_>, now: Timestamp) -> String {
    since(object.get("metadata.creationTimestamp"), now)
}

/// The time from a timestamp to now.
pub(super) fn since(field: Field<'_>, now: Timestamp) -> String {
    match field.timestamp() {
        Some(then) => elapsed(then, now),
        None => UNKNOWN.to_owned(),
    }
}

/// The time between two timestamps.
pub(super) fn elapsed(from: Timestamp, to: Timestamp) -> String {
    human_duration(to.duration_since(from).as_secs())
}

/// A duration in at most two units, finer while it is short.
pub(super) fn human_duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two_units((minutes, 'm'), (seconds % 60, 's')),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two_units((hours, 'h'), (minutes % 60, 'm')),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two_units((days, 'd'), (hours % 24, 'h')),
        () if days < 730 => format!("{days}d"),
        () if days < 2_920 => two_units((days / 365, 'y'), (days % 365, 'd')),
        () => format!("{}y", days / 365),
    }
}

fn two_units(coarse: (i64, char), fine: (i64, char)) -> String {
    match fine {
        (0, _) => format!("{}{}", coarse.0, coarse.1),
        (count, unit) => format!("{}{}{count}{unit}", coarse.0, coarse.1),
    }
}

/// `True`, `False` or `<unset>`.
pub(super) fn capitalized(field: Field<'_>) -> &'static str {
    match field.boolean() {
        Some(true) => "True",
        Some(false) => "False",
        None => UNSET,
    }
}

/// A label set as `a=1,b=2`.
pub(super) fn labels(field: Field<'_>) -> String {
    or_none(join(field.members().into_iter().map(label), ","))
}

fn label((name, value): (&str, Field<'_>)) -> String {
    format!("{name}={}", value.text())
}

/// A label selector as its query, or `<none>`.
pub(super) fn selector(field: Field<'_>) -> String {
    or_none(selector_query(field))
}

/// A label selector as its query; empty for one that selects everything or is not there.
pub(super) fn selector_query(field: Field<'_>) -> String {
    let labels = field.member("matchLabels").members().into_iter();
    let mut terms: Vec<_> = labels
        .map(|(name, value)| (name, label((name, value))))
        .collect();
    for expression in field.member("matchExpressions").items() {
        match requirement(expression) {
            Some(text) => terms.push((expression.member("key").text(), text)),
            None => return "<error>".to_owned(),
        }
    }
    terms.sort_by_key(|(name, _)| *name);
    join(terms.into_iter().map(|(_, text)| text), ",")
}

fn requirement(expression: Field<'_>) -> Option<String> {
    let key = expression.member("key").text();
    let mut values: Vec<&str> = expression
        .member("values")
        .items()
        .map(Field::text)
        .collect();
    values.sort_unstable();
    match expression.member("operator").text() {
        "In" if !values.is_empty() => Some(format!("{key} in ({})", values.join(","))),
        "NotIn" if !values.is_empty() => Some(format!("{key} notin ({})", values.join(","))),
        "Exists" if values.is_empty() => Some(key.to_owned()),
        "DoesNotExist" if values.is_empty() => Some(format!("!{key}")),
        _ => None,
    }
}

/// The first few of a list and how many were left out.
///
/// ```text
/// maximum 2: a          -> a
///            a b c d    -> a,b + 2 more...
/// ```
pub(super) fn shortened(items: &[String], maximum: usize, separator: &str) -> String {
    if items.len() <= maximum {
        return items.join(separator);
    }
    let shown = items[..maximum].join(separator);
    format!("{shown} + {} more...", items.len() - maximum)
}

/// The texts of a list of texts.
pub(super) fn texts(field: Field<'_>, separator: &str) -> String {
    join(field.items().map(Field::text), separator)
}

/// One member of each item of a list.
pub(super) fn each(field: Field<'_>, member: &str) -> String {
    join(field.items().map(|item| item.member(member).text()), ",")
}

/// Texts one after another.
pub(super) fn join<T: AsRef<str>>(texts: impl Iterator<Item = T>, separator: &str) -> String {
    let mut joined = String::new();
    for (index, text) in texts.enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text.as_ref());
    }
    joined
}

/// The text, or `<none>` for an empty one.
pub(super) fn or_none(text: String) -> String {
    or(text, NONE)
}

/// The text, or `absent` for an empty one.
pub(super) fn or(text: String, absent: &str) -> String {
    if text.is_empty() {
        absent.to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_get_coarser_as_they_grow() {
        const MINUTE: i64 = 60;
        const HOUR: i64 = 60 * MINUTE;
        const DAY: i64 = 24 * HOUR;
        const YEAR: i64 = 365 * DAY;
        let durations = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * MINUTE, "2m"),
            (2 * MINUTE + 1, "2m1s"),
            (10 * MINUTE - 1, "9m59s"),
            (10 * MINUTE + 59, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + MINUTE, "3h1m"),
            (8 * HOUR + MINUTE, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY + HOUR, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + DAY, "2y1d"),
            (8 * YEAR + DAY, "8y"),
        ];
        for (seconds, text) in durations {
            assert_eq!(human_duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn a_time_that_is_not_one_is_unknown() {
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        for time in [json!(null), json!(5), json!("yesterday")] {
            assert_eq!(since(Field::of(&time), now), UNKNOWN);
        }
        let time = json!("2026-11-15T12:00:01Z");
        assert_eq!(since(Field::of(&time), now), "0s");
    }

    #[test]
    fn a_list_is_shortened_only_beyond_its_maximum() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(shortened(&items, 3, ","), "a,b,c");
        assert_eq!(shortened(&items, 2, ", "), "a, b + 1 more...");
        assert_eq!(shortened(&[], 2, ","), "");
    }
}
