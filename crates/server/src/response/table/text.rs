//! How values read in a cell: ages, label sets, selectors, shortened lists.

use jiff::Timestamp;
use listwatch_api::timestamp;

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
        Some(then) => timestamp::age(then, now),
        None => UNKNOWN.to_owned(),
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
