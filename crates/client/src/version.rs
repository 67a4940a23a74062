//! A source's word for a moment: kept as it came, compared where that means something.

use std::{cmp::Ordering, fmt, sync::Arc};

/// A resourceVersion.
///
/// Kubernetes and etcd count upwards, so two numbers can be compared. Another server may use any
/// text: such versions are equal or not, and nothing more is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// A decimal number without leading zeros.
    Number(u64),
    /// Anything else.
    Text(Arc<str>),
}

impl Version {
    /// The version that this text stands for; `None` for the two texts that name no moment, the
    /// empty one and `0`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text == "0" {
            return None;
        }
        let number = (!text.starts_with(['0', '+']))
            .then(|| text.parse().ok())
            .flatten();
        Some(number.map_or_else(|| Self::Text(text.into()), Self::Number))
    }

    /// Which of the two comes later; `None` if nobody can tell.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(ours), Self::Number(theirs)) => Some(ours.cmp(theirs)),
            (Self::Number(_) | Self::Text(_), _) => (self == other).then_some(Ordering::Equal),
        }
    }

    /// Whether this moment is known to be at or after the other.
    pub fn reaches(&self, other: &Self) -> bool {
        self.compare(other).is_some_and(Ordering::is_ge)
    }
}

impl From<u64> for Version {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_written_as_it_was_read() {
        for text in [
            "1",
            "18446744073709551615",
            "007",
            "+5",
            "a-b",
            "99999999999999999999",
        ] {
            assert_eq!(Version::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn nothing_and_zero_name_no_moment() {
        assert_eq!(Version::parse(""), None);
        assert_eq!(Version::parse("0"), None);
    }

    #[test]
    fn numbers_are_ordered_and_texts_are_only_equal_or_not() {
        let version = |text| Version::parse(text).unwrap();
        assert_eq!(version("9").compare(&version("10")), Some(Ordering::Less));
        assert_eq!(version("a").compare(&version("b")), None);
        assert!(version("a").reaches(&version("a")));
        assert!(!version("10").reaches(&version("a")));
    }
}
