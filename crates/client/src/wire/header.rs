//! What every Kubernetes object says of itself, found without building a tree.

use std::{borrow::Cow, fmt};

use bytes::Bytes;

use super::{
    cursor::{Cursor, Next, unescape},
    label_pool::LabelPool,
};
use crate::{Labels, ObjectKey, RawObject, Uid, Version, lister_watcher::Unreadable};

/// The header of one object, in the object's own bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// `metadata.name`; empty if there is none.
    pub name: Cow<'a, str>,
    /// `metadata.namespace`; empty if there is none.
    pub namespace: Cow<'a, str>,
    /// `metadata.uid`; empty if there is none.
    pub uid: Cow<'a, str>,
    /// `metadata.resourceVersion`; empty if there is none.
    pub version: Cow<'a, str>,
    /// The bytes of `metadata.labels`, which are a JSON object; `None` if there are none.
    pub labels: Option<&'a [u8]>,
    /// Behind which byte the object ends.
    pub end: usize,
}

/// Why bytes are not an object that Kubernetes would send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(&'static str);

impl<'a> Header<'a> {
    /// Scans an object that begins with the first byte; more may follow it. Of members of one name
    /// the last counts.
    pub fn scan(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let mut header = Self::read(&mut cursor)?;
        header.end = cursor.position();
        Ok(header)
    }

    /// Reads the object at the cursor. `end` is not set.
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let mut header = Self::default();
        let mut next = cursor.open(b'{', b'}')?;
        while next == Next::Another {
            match &*cursor.name()? {
                b"metadata" if cursor.peek() == Some(b'{') => header = Self::metadata(cursor)?,
                _ => cursor.skip()?,
            }
            next = cursor.more(b'}')?;
        }
        Ok(header)
    }

    fn metadata(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let mut header = Self::default();
        let mut next = cursor.open(b'{', b'}')?;
        while next == Next::Another {
            match &*cursor.name()? {
                b"name" => header.name = text(cursor)?,
                b"namespace" => header.namespace = text(cursor)?,
                b"uid" => header.uid = text(cursor)?,
                b"resourceVersion" => header.version = text(cursor)?,
                b"labels" => header.labels = labels(cursor)?,
                _ => cursor.skip()?,
            }
            next = cursor.more(b'}')?;
        }
        Ok(header)
    }

    /// The object with this header and these bytes.
    pub(super) fn object(
        &self,
        body: &Bytes,
        pool: &mut LabelPool,
    ) -> Result<RawObject, Malformed> {
        if self.name.is_empty() {
            return Err(Malformed::new("it has no name"));
        }
        let version = Version::parse(&self.version).ok_or(Malformed::new("it has no version"))?;
        Ok(RawObject {
            key: ObjectKey::new(Some(&self.namespace), &self.name),
            version,
            uid: Uid::parse(&self.uid),
            labels: match self.labels {
                Some(labels) => pool.labels(labels)?,
                None => Labels::default(),
            },
            body: body.clone(),
        })
    }
}

/// A string, or nothing where there is `null`.
fn text<'a>(cursor: &mut Cursor<'a>) -> Result<Cow<'a, str>, Malformed> {
    match cursor.peek() {
        Some(b'"') => unescape(cursor.string()?),
        Some(b'n') => cursor.skip().map(|()| Cow::default()),
        Some(_) => Err(Malformed::new("a string was expected in metadata")),
        None => Err(Malformed::TRUNCATED),
    }
}

fn labels<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    let is_object = cursor.peek() == Some(b'{');
    let begin = cursor.position();
    cursor.skip()?;
    Ok(is_object.then(|| cursor.since(begin)))
}

impl Malformed {
    /// The bytes end too early.
    pub(super) const TRUNCATED: Self = Self("it ends too early");

    pub(crate) const fn new(reason: &'static str) -> Self {
        Self(reason)
    }

    pub(super) fn into_unreadable(self, raw: Bytes) -> Unreadable {
        Unreadable {
            raw,
            reason: self.to_string(),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests;
