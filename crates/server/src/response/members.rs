//! The top-level members of a JSON object, each still the bytes it was stored as.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// An object cut into its members, nothing decoded.
#[derive(Debug)]
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Cuts an encoded object.
    ///
    /// # Errors
    /// When the bytes are not one JSON object.
    pub fn of(object: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(object)
    }

    /// The encoded value of a member.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().find(|(member, _)| member == name)?;
        Some(value)
    }

    /// The encoded metadata; an empty object where there is none.
    pub fn metadata(&self) -> &'a str {
        self.get("metadata").map_or("{}", RawValue::get)
    }

    /// All members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_bytes_and_their_order() {
        let members = Members::of(br#"{"b": {"x":1.0}, "a\n":[ ]}"#).unwrap();
        let all: Vec<_> = members
            .iter()
            .map(|(name, value)| (name, value.get()))
            .collect();
        assert_eq!(all, [("b", r#"{"x":1.0}"#), ("a\n", "[ ]")]);
    }

    #[test]
    fn an_object_without_metadata_has_empty_metadata() {
        assert_eq!(Members::of(b"{}").unwrap().metadata(), "{}");
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        assert!(Members::of(b"[]").is_err());
        assert!(Members::of(b"{}{}").is_err());
    }
}
