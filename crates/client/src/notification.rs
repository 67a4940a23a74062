//! What a handler is told.

use std::{fmt, sync::Arc};

use crate::{Object, ObjectKey};

/// One change, as one handler sees it.
pub enum Notification<T> {
    /// The object is there and was not before.
    Added {
        /// Its state.
        object: Arc<Object<T>>,
        /// Whether it was there when the handler came.
        origin: Origin,
    },
    /// The object changed, or is told again by a resync: then both are the same state.
    Updated {
        /// The state that the handler saw last.
        old: Arc<Object<T>>,
        /// The state now.
        new: Arc<Object<T>>,
    },
    /// The object is gone.
    Deleted(Deleted<T>),
    /// The handler was too slow and chose to be told so ([`Bound::Drop`](crate::Bound::Drop)).
    /// What leads from the state that it saw to the present follows.
    Lagged {
        /// How many changes were left out.
        missed: u64,
    },
}

/// Where an added object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It belongs to the state with which the handler began.
    Initial,
    /// It came after.
    Later,
}

/// An object that is gone.
pub struct Deleted<T> {
    /// Its name.
    pub key: ObjectKey,
    /// Its last known state; `None` if it was never known.
    pub last: Option<Arc<Object<T>>>,
    /// Whether that is the state in which it was deleted.
    pub final_state: FinalState,
}

/// Whether the last known state of a deleted object is its last state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalState {
    /// The source told the deletion, with the state.
    Known,
    /// The deletion was found by a list: the object may have changed unseen before it went.
    Unknown,
}

impl<T> Notification<T> {
    /// The object's name; `None` if this is not about one object.
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Added { object, .. } => Some(&object.key),
            Self::Updated { new, .. } => Some(&new.key),
            Self::Deleted(deleted) => Some(&deleted.key),
            Self::Lagged { .. } => None,
        }
    }
}

impl<T> Clone for Notification<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, origin } => Self::Added {
                object: Arc::clone(object),
                origin: *origin,
            },
            Self::Updated { old, new } => Self::Updated {
                old: Arc::clone(old),
                new: Arc::clone(new),
            },
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
            Self::Lagged { missed } => Self::Lagged { missed: *missed },
        }
    }
}

impl<T> Clone for Deleted<T> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            last: self.last.clone(),
            final_state: self.final_state,
        }
    }
}

/// `ADDED default/web @12`: the line that `listwatch watch` prints.
impl<T> fmt::Display for Notification<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, key, last) = match self {
            Self::Added { object, .. } => ("ADDED", &object.key, Some(object)),
            Self::Updated { new, .. } => ("MODIFIED", &new.key, Some(new)),
            Self::Deleted(deleted) => ("DELETED", &deleted.key, deleted.last.as_ref()),
            Self::Lagged { missed } => return write!(formatter, "LAGGED    {missed} changes"),
        };
        write!(formatter, "{word:<9} {key}")?;
        last.map_or(Ok(()), |object| write!(formatter, "   @{}", object.version))
    }
}

impl<T> fmt::Debug for Notification<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}
