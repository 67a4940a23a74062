//! The members of an object side by side, where so many are looked for that a search for each, down
//! the tree in which they are kept, would cost more than all that is asked of them.

use serde_json::Value;

/// The members of an object.
pub(crate) struct Members<'v> {
    /// One bit for each mark that is there, by which most of what is absent is known to be so.
    seen: u64,
    entries: Vec<(Mark, &'v str, &'v Value)>,
}

/// Tells most names apart: how long a name is, how it begins and ends.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark(u32);

impl Mark {
    #[inline(always)]
    fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let [first, last] = [bytes.first(), bytes.last()].map(|byte| *byte.unwrap_or(&0));
        // Names are far shorter; of longer ones the rest is compared.
        let length = bytes.len() as u8;
        Self(u32::from_le_bytes([first, last, length, 0]))
    }

    #[inline(always)]
    fn bit(self) -> u64 {
        let [first, last, length, _] = self.0.to_le_bytes();
        let place = first.wrapping_mul(7) ^ last.wrapping_mul(3) ^ length;
        1 << (place % 64)
    }
}

impl<'v> Members<'v> {
    /// The members of this object; none of what is no object.
    pub(crate) fn of(value: &'v Value) -> Self {
        let members = value.as_object().into_iter().flatten();
        let entries = members.map(|(name, value)| (Mark::of(name), name.as_str(), value));
        let entries: Vec<_> = entries.collect();
        let seen = entries.iter().fold(0, |seen, (mark, ..)| seen | mark.bit());
        Self { seen, entries }
    }

    /// The member with this name.
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&'v Value> {
        let mark = Mark::of(name);
        match self.seen & mark.bit() {
            0 => None,
            _ => self.find(mark, name),
        }
    }

    fn find(&self, mark: Mark, name: &str) -> Option<&'v Value> {
        let mut entries = self.entries.iter();
        let found = entries.find(|(known, spelled, _)| *known == mark && *spelled == name);
        found.map(|(.., value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_found_though_they_look_alike() {
        let long = "a".repeat(256) + "b";
        let object = json!({"": 0, "ab": 1, "a_b": 2, "axb": 3, &long: 4});
        let members = Members::of(&object);
        for (name, value) in object.as_object().unwrap() {
            assert_eq!(members.get(name), Some(value), "{name}");
        }
        for name in ["a", "b", "ayb", "xb", &long[1..], "c"] {
            assert_eq!(members.get(name), None, "{name}");
        }
        assert_eq!(Members::of(&json!([1])).get("a"), None);
    }
}
