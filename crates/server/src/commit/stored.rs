//! What a change starts from.

use bytes::Bytes;
use listwatch_api::{
    Status,
    object::{Draft, Outline, StoredObject},
    patch::Reach,
};
use listwatch_store::{Entry, Key, Revision};
use serde_json::Value;

use super::{Changed, Outcome};
use crate::{
    registry::{CustomVersion, Form, Unreadable},
    watch_cache::{CachedObject, KindCache, UnreadableValue},
};

/// Why no part of an object that is in a cache fails to be read.
pub(crate) const SCANNED: &str = "the scanner has read it as JSON";

/// What is stored under a key.
#[derive(Debug)]
pub(crate) enum Stored {
    /// Nothing.
    Absent,
    /// An object.
    Object(Current),
    /// Something that cannot be decoded. It can be removed, and nothing else.
    Unreadable(UnreadableValue),
}

/// The object that a change starts from.
#[derive(Debug)]
pub(crate) struct Current {
    /// Its key.
    pub key: Key,
    /// The revision that wrote it.
    pub revision: Revision,
    /// Its content, of which nothing but the metadata is a tree.
    outline: Outline,
    /// Its canonical bytes.
    canonical: StoredObject,
    /// How it is written in the store.
    form: Form,
}

impl Stored {
    /// What an entry of the store holds.
    pub(crate) fn decode(cache: &KindCache, entry: Option<Entry>) -> Self {
        match entry {
            None => Self::Absent,
            Some(entry) => match cache.decode(entry).and_then(|cached| Current::new(&cached)) {
                Ok(current) => Self::Object(current),
                Err(value) => Self::Unreadable(value),
            },
        }
    }

    /// The object, where only an object will do.
    pub(crate) fn object(&self, missing: impl FnOnce() -> Status) -> Result<&Current, Status> {
        match self {
            Self::Absent => Err(missing()),
            Self::Object(current) => Ok(current),
            Self::Unreadable(value) => Err(unreadable(value)),
        }
    }

    /// The revision that wrote it; `None` if there is nothing.
    pub(crate) fn revision(&self) -> Option<Revision> {
        match self {
            Self::Absent => None,
            Self::Object(current) => Some(current.revision),
            Self::Unreadable(value) => Some(value.revision),
        }
    }
}

impl Current {
    /// What the cache has under a key.
    pub(crate) fn cached(cache: &KindCache, key: &Key) -> Option<Self> {
        Self::new(&*cache.cached(key)?).ok()
    }

    fn new(cached: &CachedObject) -> Result<Self, UnreadableValue> {
        let (key, revision) = (cached.key().clone(), cached.revision());
        let canonical = cached.stored().clone();
        match Outline::of(&canonical) {
            Ok(outline) => Ok(Self {
                key,
                revision,
                outline,
                canonical,
                form: cached.form(),
            }),
            Err(error) => Err(UnreadableValue {
                key,
                revision,
                reason: Unreadable::new(error.to_string()),
            }),
        }
    }

    /// The same as a write in a version of a custom kind begins with it: in the stored version, by
    /// the rules of today; `None` if that is how it is stored.
    pub(crate) fn begun(&self, custom: &CustomVersion) -> Option<Self> {
        self.shown_as(custom.begun(&self.canonical, self.revision)?)
    }

    /// The same in another version of its kind; `None` for what is no object.
    pub(crate) fn shown_as(&self, canonical: StoredObject) -> Option<Self> {
        Some(Self {
            key: self.key.clone(),
            revision: self.revision,
            outline: Outline::of(&canonical).ok()?,
            canonical,
            form: Form::Foreign,
        })
    }

    /// Its canonical bytes.
    pub(crate) fn canonical(&self) -> &StoredObject {
        &self.canonical
    }

    /// Its identity and its metadata, without managedFields, as a tree.
    pub(crate) fn about(&self) -> &Value {
        &self.outline.object
    }

    /// Its content, of which the members within reach are a tree.
    pub(crate) fn outline(&self, reach: &Reach<'_>) -> Outline {
        let mut outline = self.outline.clone();
        match reach {
            Reach::Everything => outline.parse_all(),
            Reach::Members(names) => names.iter().try_for_each(|name| outline.parse(name)),
        }
        .expect(SCANNED);
        outline
    }

    /// All of it as a tree.
    pub(crate) fn whole(&self) -> Value {
        self.outline.whole().expect(SCANNED)
    }

    /// All of it, to be told or stored again.
    pub(crate) fn draft(&self) -> Draft {
        self.outline.clone().into()
    }

    /// Whether the store has these very bytes.
    pub(super) fn is_stored_as(&self, bytes: &Bytes) -> bool {
        self.form == Form::Canonical && self.canonical.value() == bytes
    }

    /// What a change did that changed nothing.
    pub(super) fn unchanged(&self) -> Changed {
        Changed {
            object: self.canonical.clone(),
            revision: Some(self.revision),
            outcome: Outcome::Updated,
        }
    }
}

/// The refusal of whoever needs the content of a value that cannot be decoded.
pub(crate) fn unreadable(value: &UnreadableValue) -> Status {
    let key = String::from_utf8_lossy(value.key.as_bytes());
    Status::corrupt_object(&key, value.revision.get(), &value.reason.to_string())
}
