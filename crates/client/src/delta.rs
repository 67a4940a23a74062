//! What the reflector tells the cache.

use std::sync::Arc;

use crate::{Object, ObjectKey, Version};

/// One change of the cached state, in the order of the source.
#[derive(Debug)]
pub enum Delta<T> {
    /// The source said that the object is new.
    Added(Arc<Object<T>>),
    /// The source said that the object changed.
    Updated(Arc<Object<T>>),
    /// The source said that the object is gone.
    Deleted(Deletion<T>),
    /// The source was listed: this is everything there is.
    Replaced(Replacement<T>),
    /// Everything in the cache is to be told again.
    Resync,
    /// Everything up to this version has been told.
    Bookmark(Version),
}

/// An object that is gone.
#[derive(Debug)]
pub struct Deletion<T> {
    /// Its name.
    pub key: ObjectKey,
    /// The version of the deletion.
    pub version: Version,
    /// Its last state as the source told it; `None` if that could not be decoded.
    pub last: Option<Arc<Object<T>>>,
}

/// The whole state at one version.
#[derive(Debug)]
pub struct Replacement<T> {
    /// Every object that could be decoded. One that has not changed is the `Arc` of before.
    pub objects: Vec<Arc<Object<T>>>,
    /// Objects that are there but could not be decoded: the cache keeps what it had of them.
    pub set_aside: Vec<ObjectKey>,
    /// The version of the list; `None` if the source gave none.
    pub version: Option<Version>,
}

impl<T> Delta<T> {
    /// The one object that this is about; `None` if it is about all of them.
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Added(object) | Self::Updated(object) => Some(&object.key),
            Self::Deleted(deletion) => Some(&deletion.key),
            Self::Replaced(_) | Self::Resync | Self::Bookmark(_) => None,
        }
    }

    /// The version that the cache has reached with this; `None` if it tells none.
    pub fn version(&self) -> Option<&Version> {
        match self {
            Self::Added(object) | Self::Updated(object) => Some(&object.version),
            Self::Deleted(deletion) => Some(&deletion.version),
            Self::Replaced(replacement) => replacement.version.as_ref(),
            Self::Bookmark(version) => Some(version),
            Self::Resync => None,
        }
    }
}
