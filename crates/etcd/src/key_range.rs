//! Which keys a request is about.

use bytes::Bytes;

/// One key, or all keys between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    first: Bytes,
    end: End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    OnlyFirst,
    Before(Bytes),
    Unbounded,
}

/// As the first key it stands for the lowest, as the end for none.
const LOWEST: &[u8] = b"\0";

impl KeyRange {
    /// This key alone.
    pub fn one(key: impl Into<Bytes>) -> Self {
        Self {
            first: key.into(),
            end: End::OnlyFirst,
        }
    }

    /// Every key that begins with this. An empty prefix is every key.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let prefix = prefix.into();
        let end = after_prefix(&prefix).map_or(End::Unbounded, End::Before);
        Self { first: prefix, end }
    }

    /// Every key from the first up to but without the second.
    pub fn between(first: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self {
            first: first.into(),
            end: End::Before(end.into()),
        }
    }

    /// The part of this range that comes after a key.
    pub fn after(&self, key: &[u8]) -> Self {
        let first = Bytes::from([key, LOWEST].concat());
        let end = match &self.end {
            End::OnlyFirst => End::Before(first.clone()),
            end @ (End::Before(_) | End::Unbounded) => end.clone(),
        };
        Self { first, end }
    }

    /// As the protocol writes it: the first key, and what its `range_end` says.
    pub(crate) fn into_wire(self) -> (Bytes, Bytes) {
        let first = match (&self.end, self.first.is_empty()) {
            (End::Before(_) | End::Unbounded, true) => Bytes::from_static(LOWEST),
            (End::OnlyFirst, _) | (_, false) => self.first,
        };
        let end = match self.end {
            End::OnlyFirst => Bytes::new(),
            End::Before(end) => end,
            End::Unbounded => Bytes::from_static(LOWEST),
        };
        (first, end)
    }
}

/// The lowest key above all that begin with the prefix; `None` if there is none.
fn after_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(range: KeyRange) -> (Vec<u8>, Vec<u8>) {
        let (first, end) = range.into_wire();
        (first.to_vec(), end.to_vec())
    }

    #[test]
    fn a_prefix_ends_where_no_key_has_it() {
        assert_eq!(
            wire(KeyRange::prefix("a/")),
            (b"a/".to_vec(), b"a0".to_vec())
        );
        let high = b"a\xff".as_slice();
        assert_eq!(wire(KeyRange::prefix(high)), (high.to_vec(), b"b".to_vec()));
        let highest = b"\xff\xff".as_slice();
        assert_eq!(
            wire(KeyRange::prefix(highest)),
            (highest.to_vec(), b"\0".to_vec())
        );
        assert_eq!(wire(KeyRange::prefix("")), (b"\0".to_vec(), b"\0".to_vec()));
    }

    #[test]
    fn the_rest_begins_right_after_the_key() {
        let rest = KeyRange::prefix("a/").after(b"a/b");
        assert_eq!(wire(rest), (b"a/b\0".to_vec(), b"a0".to_vec()));
        let nothing = (b"a\0".to_vec(), b"a\0".to_vec());
        assert_eq!(wire(KeyRange::one("a").after(b"a")), nothing);
        let rest = KeyRange::prefix("").after(b"\xff");
        assert_eq!(wire(rest), (b"\xff\0".to_vec(), b"\0".to_vec()));
    }

    #[test]
    fn one_key_has_no_end() {
        assert_eq!(wire(KeyRange::one("a")), (b"a".to_vec(), Vec::new()));
    }
}
