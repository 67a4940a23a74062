//! Keys and ranges of keys.

use std::{borrow::Borrow, fmt, ops::Bound, sync::Arc};

/// The name of an entry. Cheap to clone: all holders of a key share its bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<[u8]>);

impl Key {
    /// A key with these bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self(bytes.as_ref().into())
    }

    /// The bytes of the key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), formatter)
    }
}

/// Keys from `start` (inclusive) to `end` (exclusive), in byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key of the range.
    pub start: Vec<u8>,
    /// The first key after the range; `None` reaches to the end of all keys.
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> Self {
        Self {
            start: Vec::new(),
            end: None,
        }
    }

    /// The one key.
    pub fn single(key: impl AsRef<[u8]>) -> Self {
        let start = key.as_ref().to_vec();
        let mut end = start.clone();
        end.push(0);
        Self {
            start,
            end: Some(end),
        }
    }

    /// Every key that begins with these bytes.
    pub fn prefix(prefix: impl AsRef<[u8]>) -> Self {
        let start = prefix.as_ref().to_vec();
        let end = start.iter().rposition(|byte| *byte != u8::MAX).map(|last| {
            let mut end = start[..=last].to_vec();
            end[last] += 1;
            end
        });
        Self { start, end }
    }

    /// The same range, begun no earlier than at `start`.
    #[must_use]
    pub fn starting_at(mut self, start: impl AsRef<[u8]>) -> Self {
        if start.as_ref() > self.start.as_slice() {
            self.start = start.as_ref().to_vec();
        }
        self
    }

    /// Whether the key lies in the range.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        key >= self.start.as_slice() && self.end.as_deref().is_none_or(|end| key < end)
    }

    /// The range as an ordered map takes it; one that ends before it begins becomes empty.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let start = self.start.as_slice();
        let end = match self.end.as_deref() {
            Some(end) => Bound::Excluded(end.max(start)),
            None => Bound::Unbounded,
        };
        (Bound::Included(start), end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_range_holds_its_keys_and_no_neighbour() {
        let range = KeyRange::prefix("/pods/");
        assert!(range.contains("/pods/a") && range.contains("/pods/"));
        assert!(!range.contains("/pods") && !range.contains("/pods0"));
    }

    #[test]
    fn a_prefix_of_highest_bytes_reaches_to_the_end() {
        assert_eq!(KeyRange::prefix([0xff, 0xff]).end, None);
        assert_eq!(KeyRange::prefix([b'a', 0xff]).end, Some(vec![b'b']));
    }

    #[test]
    fn a_single_key_range_holds_just_that_key() {
        let range = KeyRange::single("/a");
        assert!(range.contains("/a") && !range.contains("/a/") && !range.contains("/b"));
    }

    #[test]
    fn starting_later_never_widens_a_range() {
        let range = KeyRange::prefix("/b").starting_at("/a");
        assert_eq!(range, KeyRange::prefix("/b"));
    }
}
