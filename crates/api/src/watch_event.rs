//! What a watch stream carries.

use std::fmt;

/// What happened to an object, as its watcher sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// The object exists now and was not seen before: created, or moved into the selector.
    Added,
    /// The object changed and is still selected.
    Modified,
    /// The object is gone or has left the selector; the event carries its last selected state.
    Deleted,
    /// No object: everything up to this resourceVersion has been sent.
    Bookmark,
    /// The stream ends; the object is a `Status` that says why.
    Error,
}

impl EventType {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
