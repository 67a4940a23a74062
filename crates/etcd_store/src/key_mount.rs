//! Where in etcd the keys of the store are.

use bytes::Bytes;
use listwatch_etcd as etcd;
use listwatch_store::{Key, KeyRange};

/// The first byte that a key may have after the prefix. What sorts before it is the store's own.
const FIRST_BYTE: u8 = b'/';

/// The folder of the store's own keys, after the prefix.
const OWN: &[u8] = b".listwatch/";

/// Keys that begin with one prefix here are kept under another in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMount {
    known_as: Vec<u8>,
    stored_under: Vec<u8>,
}

impl KeyMount {
    /// Keys that begin with `known_as` are found in etcd with `stored_under` in its place.
    pub fn new(known_as: impl Into<Vec<u8>>, stored_under: impl Into<Vec<u8>>) -> Self {
        Self {
            known_as: known_as.into(),
            stored_under: stored_under.into(),
        }
    }

    /// Where a key is in etcd; `None` for one that cannot be there.
    pub(crate) fn stored(&self, key: &[u8]) -> Option<Bytes> {
        let rest = key.strip_prefix(self.known_as.as_slice())?;
        let is_ours = rest.first().is_some_and(|byte| *byte >= FIRST_BYTE);
        is_ours.then(|| [&self.stored_under, rest].concat().into())
    }

    /// What a key of etcd is called here; `None` for what is not a key of the store.
    pub(crate) fn known(&self, stored: &[u8]) -> Option<Key> {
        let rest = stored.strip_prefix(self.stored_under.as_slice())?;
        let is_ours = rest.first().is_some_and(|byte| *byte >= FIRST_BYTE);
        is_ours.then(|| Key::new([&self.known_as, rest].concat()))
    }

    /// The part of a range that can be there; `None` if that is nothing.
    pub(crate) fn stored_range(&self, range: &KeyRange) -> Option<etcd::KeyRange> {
        let all = KeyRange::prefix(&self.known_as);
        let all = all.starting_at([&self.known_as, [FIRST_BYTE].as_slice()].concat());
        let start = range.start.as_slice().max(&all.start);
        let end = match (range.end.as_deref(), all.end.as_deref()) {
            (Some(end), Some(last)) if end < last => Some(end),
            (Some(end), None) => Some(end),
            (Some(_) | None, _) => None,
        };
        if end.is_some_and(|end| end <= start) || !all.contains(start) {
            return None;
        }
        let stored = |key: &[u8]| -> Vec<u8> {
            let rest = key.strip_prefix(self.known_as.as_slice());
            [&self.stored_under, rest.unwrap_or_default()].concat()
        };
        let end = match end {
            Some(end) => stored(end),
            None => self.end(),
        };
        Some(etcd::KeyRange::between(stored(start), end))
    }

    /// What to watch for a range: its part here, and if that is everything, the store's own keys
    /// beside it.
    pub(crate) fn watched_range(&self, range: &KeyRange) -> Option<etcd::KeyRange> {
        let ours = self.stored_range(range)?;
        let all = self.stored_range(&KeyRange::all());
        match all == Some(ours.clone()) {
            true => Some(self.everything()),
            false => Some(ours),
        }
    }

    /// All keys of the store, and its own.
    pub(crate) fn everything(&self) -> etcd::KeyRange {
        etcd::KeyRange::between(self.stored_under.clone(), self.end())
    }

    /// One of the store's own keys.
    pub(crate) fn own(&self, name: &str) -> Bytes {
        [&self.stored_under, OWN, name.as_bytes()].concat().into()
    }

    /// The first key of etcd after all of ours. Every key of etcd is below the highest byte.
    fn end(&self) -> Vec<u8> {
        let end = KeyRange::prefix(&self.stored_under).end;
        end.unwrap_or_else(|| vec![u8::MAX])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount() -> KeyMount {
        KeyMount::new("/registry/", "/elsewhere/")
    }

    #[test]
    fn a_key_has_one_place_and_comes_back_from_it() {
        let stored = mount().stored(b"/registry/pods/a").unwrap();
        assert_eq!(stored, "/elsewhere/pods/a");
        assert_eq!(mount().known(&stored), Some("/registry/pods/a".into()));
        assert_eq!(mount().stored(b"/other/pods/a"), None);
        assert_eq!(mount().stored(b"/registry/"), None);
    }

    #[test]
    fn the_stores_own_keys_are_no_keys_of_the_store() {
        let own = mount().own("compactor");
        assert_eq!(own, "/elsewhere/.listwatch/compactor");
        assert_eq!(mount().known(&own), None);
        assert_eq!(mount().stored(b"/registry/.listwatch/compactor"), None);
    }

    #[test]
    fn of_a_range_only_our_part_is_asked_for() {
        let between = |first: &str, end: &str| {
            let (first, end) = (first.to_owned(), end.to_owned());
            Some(etcd::KeyRange::between(first, end))
        };
        let stored = |range: KeyRange| mount().stored_range(&range);
        let all = between("/elsewhere//", "/elsewhere0");
        assert_eq!(stored(KeyRange::all()), all);
        assert_eq!(stored(KeyRange::prefix("/registry/")), all);
        assert_eq!(stored(KeyRange::prefix("/")), all);
        let pods = between("/elsewhere/pods/", "/elsewhere/pods0");
        assert_eq!(stored(KeyRange::prefix("/registry/pods/")), pods);
        let rest = KeyRange::prefix("/registry/").starting_at("/registry/pods/b");
        assert_eq!(stored(rest), between("/elsewhere/pods/b", "/elsewhere0"));
        for nothing in [
            KeyRange::prefix("/other"),
            KeyRange::prefix("/registry/.listwatch/"),
            KeyRange::single([]),
            KeyRange::prefix("/registry/a").starting_at("/registry/b"),
        ] {
            assert_eq!(stored(nothing.clone()), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_mount_of_every_key_has_a_range_too() {
        let mount = KeyMount::new("", "/test/1/");
        let all = mount.stored_range(&KeyRange::all());
        let expected = etcd::KeyRange::between("/test/1//", "/test/10");
        assert_eq!(all, Some(expected));
        let single = mount.stored_range(&KeyRange::single("a")).unwrap();
        assert_eq!(single, etcd::KeyRange::between("/test/1/a", "/test/1/a\0"));
    }
}
