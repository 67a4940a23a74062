//! What is kept of an object: who it is, who owns it, what holds it.

use listwatch::{DecodeError, Decoder, RawObject, Uid};
use serde::Deserialize;

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

/// Reads the facts from the bytes of an object, and no more.
pub(crate) fn decoder() -> Decoder<Facts> {
    Decoder::new(|raw: &RawObject| {
        let wire: Wire = serde_json::from_slice(&raw.body).map_err(|error| DecodeError {
            reason: error.to_string(),
        })?;
        wire.metadata.facts()
    })
}

#[derive(Deserialize)]
struct Wire {
    metadata: WireMetadata,
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
