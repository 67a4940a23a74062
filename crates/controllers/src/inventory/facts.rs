//! What is kept of an object: who it is, who owns it, what holds it.

use std::{borrow::Cow, fmt};

use listwatch::{DecodeError, Decoder, RawObject, Uid};
use serde::{
    Deserialize, Deserializer as _,
    de::{IgnoredAny, MapAccess, Visitor},
};

/// What is known of an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Which object of its name it is.
    pub(crate) uid: Uid,
    /// Who owns it.
    pub(crate) owners: Box<[Owner]>,
    /// What has to happen before it goes.
    pub(crate) finalizers: Box<[Box<str>]>,
    /// Whether it is going.
    pub(crate) life: Life,
}

/// Whether an object is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It stays.
    Kept,
    /// It goes as soon as nothing holds it.
    Ending,
}

/// Says who owns an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) uid: Uid,
    pub(crate) hold: Hold,
}

/// Whether an owner that goes in the foreground waits for the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Blocks,
    Free,
}

impl Facts {
    /// Whether it is held by this finalizer.
    pub(crate) fn is_held_by(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|it| **it == *finalizer)
    }

    /// Whether it is going and held by this finalizer.
    pub(crate) fn is_ending_with(&self, finalizer: &str) -> bool {
        self.life == Life::Ending && self.is_held_by(finalizer)
    }

    /// Whether the object with this uid, if it goes in the foreground, waits for this one.
    pub(crate) fn holds(&self, owner: &Uid) -> bool {
        let mut owners = self.owners.iter();
        owners.any(|it| it.uid == *owner && it.hold == Hold::Blocks)
    }
}

/// Reads the facts from the bytes of an object, and nothing that comes after its metadata.
pub(crate) fn decoder() -> Decoder<Facts> {
    Decoder::new(|raw: &RawObject| metadata(&raw.body)?.facts())
}

fn metadata(body: &[u8]) -> Result<WireMetadata, DecodeError> {
    let mut found = None;
    let mut reader = serde_json::Deserializer::from_slice(body);
    let ended = reader.deserialize_map(FirstMetadata(&mut found));
    // Who stops reading early is told so, as an error that does not matter.
    found.ok_or_else(|| DecodeError {
        reason: match ended {
            Ok(()) => "it has no metadata".to_owned(),
            Err(error) => error.to_string(),
        },
    })
}

/// Looks for the metadata of an object, and stops there.
struct FirstMetadata<'a>(&'a mut Option<WireMetadata>);

impl<'de> Visitor<'de> for FirstMetadata<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            if name == "metadata" {
                *self.0 = Some(members.next_value()?);
                return Ok(());
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMetadata {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    owner_references: Vec<WireOwner>,
    #[serde(default)]
    finalizers: Vec<Box<str>>,
    deletion_timestamp: Option<Box<str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOwner {
    api_version: Box<str>,
    kind: Box<str>,
    name: Box<str>,
    uid: String,
    #[serde(default)]
    block_owner_deletion: bool,
}

impl WireMetadata {
    fn facts(self) -> Result<Facts, DecodeError> {
        let owners = self
            .owner_references
            .into_iter()
            .filter_map(WireOwner::owner);
        Ok(Facts {
            uid: Uid::parse(&self.uid).ok_or_else(|| DecodeError {
                reason: "it has no uid".to_owned(),
            })?,
            owners: owners.collect(),
            finalizers: self.finalizers.into(),
            life: match self.deletion_timestamp {
                Some(_) => Life::Ending,
                None => Life::Kept,
            },
        })
    }
}

impl WireOwner {
    /// `None` if it names nobody.
    fn owner(self) -> Option<Owner> {
        Some(Owner {
            uid: Uid::parse(&self.uid)?,
            api_version: self.api_version,
            kind: self.kind,
            name: self.name,
            hold: match self.block_owner_deletion {
                true => Hold::Blocks,
                false => Hold::Free,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Result<Facts, String> {
        let metadata = metadata(text.as_bytes()).and_then(WireMetadata::facts);
        metadata.map_err(|error| error.reason)
    }

    #[test]
    fn what_comes_after_the_metadata_is_not_read() {
        let known = facts(r#"{"kind":"A","metadata":{"uid":"7","finalizers":["x"]},"spec":{"#);
        let known = known.unwrap();
        assert_eq!(known.uid.to_string(), "7");
        assert!(known.is_held_by("x"));
        assert_eq!(known.life, Life::Kept);
    }

    #[test]
    fn who_owns_an_object_and_waits_for_it_is_known() {
        let owner = r#"{"apiVersion":"v1","kind":"A","name":"a","uid":"8"}"#;
        let waiting = owner.replace("\"8\"", "\"9\",\"blockOwnerDeletion\":true");
        let text = format!(
            r#"{{"metadata":{{"uid":"7","ownerReferences":[{owner},{waiting}],
                "deletionTimestamp":"2026-01-01T00:00:00Z"}}}}"#
        );
        let known = facts(&text).unwrap();
        assert_eq!(known.life, Life::Ending);
        let uid = |text| Uid::parse(text).unwrap();
        assert!(!known.holds(&uid("8")));
        assert!(known.holds(&uid("9")));
    }

    #[test]
    fn an_object_that_cannot_be_read_says_why() {
        assert_eq!(facts(r#"{"kind":"A"}"#).unwrap_err(), "it has no metadata");
        assert_eq!(facts(r#"{"metadata":{}}"#).unwrap_err(), "it has no uid");
        assert!(facts("[]").unwrap_err().contains("an object with metadata"));
    }
}
