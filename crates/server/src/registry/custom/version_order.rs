//! Which version of a kind clients should prefer: stable ones before beta before alpha, each the
//! newest first, and whatever else is called a version behind them, by name.

use std::cmp::Ordering;

/// How far a version has come, its major number and its minor one.
type Rank = (u8, u64, u64);

/// `Greater` when the first is to be preferred.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    match (rank(one), rank(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => other.cmp(one),
    }
}

fn rank(version: &str) -> Option<Rank> {
    let rest = version.strip_prefix('v')?;
    let (major, rest) = number(rest)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stage, rest) = match rest.strip_prefix("beta") {
        Some(rest) => (1, rest),
        None => (0, rest.strip_prefix("alpha")?),
    };
    let (minor, rest) = number(rest)?;
    rest.is_empty().then_some((stage, major, minor))
}

fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok().filter(|number| *number > 0)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_strange_ones_last() {
        let mut versions = [
            "foo10",
            "v1alpha1",
            "v10",
            "v1",
            "v3beta1",
            "v11alpha2",
            "foo1",
            "v12alpha1",
            "v2",
            "v10beta3",
            "v0",
            "v11beta2",
        ];
        versions.sort_by(|one, other| compare(other, one));
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "v1alpha1",
            "foo1",
            "foo10",
            "v0",
        ];
        assert_eq!(versions, expected);
    }
}
