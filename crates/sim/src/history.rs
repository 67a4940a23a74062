//! What clients did and saw, in the order in which the recorder saw it.
//!
//! A history is plain data: a workload records it, a test writes it by hand, the checkers read it.

mod object;
#[cfg(test)]
pub(crate) mod script;
mod transcript;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use listwatch_api::{EventType, ResourceVersion};

pub(crate) use object::parse_version;
pub use object::{ObjectKey, ObjectVersion, Token};

use crate::selection::Selection;

/// A point in the recorder's time. What ended at an earlier moment than something else began really
/// came before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

/// Who gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answerer {
    /// A server, by its number; the first, and perhaps only one, by default.
    Server(usize),
    /// The store behind all servers, asked directly.
    Store,
}

impl Default for Answerer {
    fn default() -> Self {
        Self::Server(0)
    }
}

/// Everything that the clients of one run did and saw.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Attempts to change an object.
    pub writes: Vec<Write>,
    /// Reads of one object.
    pub reads: Vec<Read>,
    /// Lists, each with all its pages.
    pub lists: Vec<List>,
    /// Watch streams; a resumed watch is a new stream.
    pub watches: Vec<Watch>,
    /// What clients that keep a cache had in it.
    pub caches: Vec<Cached>,
    /// Restarts of the server.
    pub restarts: Vec<Restart>,
    /// Changes that a server said it had missed.
    pub gaps: Vec<Gap>,
}

/// What one client had in its cache when it had seen everything up to a version.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Who of those that keep a cache.
    pub client: usize,
    /// What it follows.
    pub selection: Selection,
    /// Who told it so.
    pub answerer: Answerer,
    /// The version.
    pub at: ResourceVersion,
    /// The version of each object that it had.
    pub contents: BTreeMap<ObjectKey, ResourceVersion>,
}

/// Changes that a server has missed, since its store had forgotten them: of these it tells only the
/// difference that they made, deletions first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Which server.
    pub answerer: Answerer,
    /// The last version before it.
    pub after: ResourceVersion,
    /// The last version in it.
    pub through: ResourceVersion,
    /// When that life of the server began which missed them; others may have seen them.
    pub since: Moment,
    /// When it had ended.
    pub until: Moment,
}

impl Gap {
    /// Whether a stream is one of the life of the server that missed something.
    pub fn concerns(&self, watch: &Watch) -> bool {
        self.answerer == watch.answerer && self.since <= watch.began && watch.began < self.until
    }

    /// Whether what happened at this version was missed.
    pub fn holds(&self, version: ResourceVersion) -> bool {
        self.after < version && version <= self.through
    }

    /// How a deletion is dated of which nobody knows when it was.
    pub fn first_missed(&self) -> ResourceVersion {
        ResourceVersion::new(self.after.get() + 1)
    }
}

/// One attempt to change an object.
#[derive(Clone, Debug)]
pub struct Write {
    /// When the request was sent.
    pub began: Moment,
    /// When the answer, or the loss of the connection, was seen.
    pub ended: Moment,
    /// The object.
    pub key: ObjectKey,
    /// The mark that the new content carries; a delete leaves none.
    pub token: Token,
    /// What was asked.
    pub request: WriteRequest,
    /// What came of it.
    pub outcome: WriteOutcome,
    /// Who was asked.
    pub answerer: Answerer,
}

/// What a write asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRequest {
    /// A new object.
    Create,
    /// A new state, provided that the object is still at this version.
    Update {
        /// The version that the client had read.
        against: ResourceVersion,
    },
    /// A change to whatever state there is.
    Patch,
    /// The end of the object.
    Delete {
        /// The version that the object must still have, when the client said so.
        against: Option<ResourceVersion>,
    },
}

/// What came of a write.
#[derive(Clone, Debug)]
pub enum WriteOutcome {
    /// Acknowledged, with the object as it is now stored.
    Stored(ObjectVersion),
    /// Acknowledged; the object with this uid is gone. The answer names no version.
    Deleted {
        /// The uid of what was deleted.
        uid: String,
    },
    /// Refused: nothing was changed.
    Refused(Refusal),
    /// No answer. It may have happened.
    Unknown,
}

/// Why a write was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The object was not at the version that the client named.
    Conflict,
    /// There already was an object of that name.
    AlreadyExists,
    /// There was no object of that name.
    NotFound,
    /// The server had no time for it.
    Busy,
    /// Anything else.
    Other(String),
}

/// A read of one object without resourceVersion.
#[derive(Clone, Debug)]
pub struct Read {
    /// When the request was sent.
    pub began: Moment,
    /// When the answer was seen.
    pub ended: Moment,
    /// The object asked for.
    pub key: ObjectKey,
    /// The object, or that there was none.
    pub seen: Option<ObjectVersion>,
    /// Who was asked.
    pub answerer: Answerer,
}

/// One list: all its pages, up to where the client or the server stopped.
#[derive(Clone, Debug)]
pub struct List {
    /// When the first page was asked for.
    pub began: Moment,
    /// When the last page was seen.
    pub ended: Moment,
    /// What was asked for.
    pub selection: Selection,
    /// How new it had to be.
    pub freshness: Freshness,
    /// The pages, in order.
    pub pages: Vec<Page>,
    /// Whether the last page was the end.
    pub end: ListEnd,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The version of the list.
    pub at: ResourceVersion,
    /// The objects.
    pub items: Vec<ObjectVersion>,
    /// How many the server said were still to come, when it said so.
    pub remaining: Option<u64>,
    /// Who gave it; the pages of one list may come from several.
    pub answerer: Answerer,
}

/// How a list ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListEnd {
    /// There was no further page.
    Complete,
    /// The client stopped, or the connection was lost.
    CutShort,
    /// The state asked for has been forgotten.
    Expired,
    /// The server had no time, or has not got that far.
    Busy,
    /// The server refused it.
    Refused(String),
}

/// How new an answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As new as everything acknowledged before.
    MostRecent,
    /// Any state the server has.
    Any,
    /// At this version or later.
    NotOlderThan(ResourceVersion),
    /// At exactly this version.
    Exactly(ResourceVersion),
}

/// One watch stream.
#[derive(Clone, Debug)]
pub struct Watch {
    /// When the request was sent.
    pub began: Moment,
    /// What was asked for.
    pub selection: Selection,
    /// Where the stream begins.
    pub start: WatchStart,
    /// Whether bookmarks were asked for.
    pub bookmarks: Bookmarks,
    /// What came, in order.
    pub frames: Vec<Received>,
    /// How it ended.
    pub ending: Ending,
    /// Who sent it.
    pub answerer: Answerer,
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// With the changes after a version that something had given.
    After(ResourceVersion, Origin),
    /// With the state, then its changes.
    State(Freshness),
}

/// What gave the version that a watch goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A list.
    List,
    /// An event.
    Event,
    /// A bookmark.
    Bookmark,
    /// The answer to a write.
    Write,
}

/// Whether bookmarks were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bookmarks {
    /// They were.
    Wanted,
    /// They were not.
    Unwanted,
}

/// A frame and when it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// When the client had read it.
    pub at: Moment,
    /// What it was.
    pub frame: Frame,
}

/// What a stream carries.
#[derive(Clone, Debug)]
pub enum Frame {
    /// The object exists and is new to the stream.
    Added(ObjectVersion),
    /// The object changed.
    Modified(ObjectVersion),
    /// The object is gone, or no longer asked for.
    Deleted(ObjectVersion),
    /// Everything up to this version has been sent.
    Bookmark(ResourceVersion),
    /// The state has been sent; it is that of this version.
    InitialEventsEnd(ResourceVersion),
}

/// How a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client cut it.
    Cut,
    /// The server ended it in good order.
    Closed,
    /// The connection was lost.
    Lost,
    /// The server said that it cannot go on from there: 410.
    Expired,
    /// The server had no time for it.
    Busy,
    /// The server refused it, or ended it with another error.
    Refused(String),
    /// The run was over: after the last write, of this version, the stream was given ample time.
    Drained {
        /// What the stream must have brought.
        through: ResourceVersion,
    },
}

/// The server, or a part of what stands behind it, was stopped and started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// When it was told to stop.
    pub began: Moment,
    /// When it served again.
    pub ended: Moment,
    /// How it was stopped.
    pub manner: StopManner,
}

/// How a server was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopManner {
    /// It was asked to.
    Graceful,
    /// It was killed.
    Abrupt,
}

impl History {
    /// Adds what other clients of the same run did and saw.
    pub fn extend(&mut self, other: Self) {
        self.writes.extend(other.writes);
        self.reads.extend(other.reads);
        self.lists.extend(other.lists);
        self.watches.extend(other.watches);
        self.caches.extend(other.caches);
        self.restarts.extend(other.restarts);
        self.gaps.extend(other.gaps);
    }

    /// The gaps of one server.
    pub fn gaps_of(&self, answerer: Answerer) -> impl Iterator<Item = Gap> {
        let gaps = self.gaps.iter().copied();
        gaps.filter(move |gap| gap.answerer == answerer)
    }
}

impl Write {
    /// The stored object, when the write was acknowledged with one.
    pub fn stored(&self) -> Option<&ObjectVersion> {
        match &self.outcome {
            WriteOutcome::Stored(object) => Some(object),
            WriteOutcome::Deleted { .. } | WriteOutcome::Refused(_) | WriteOutcome::Unknown => None,
        }
    }
}

impl List {
    /// The version of the list; `None` when not even one page came.
    pub fn at(&self) -> Option<ResourceVersion> {
        self.pages.first().map(|page| page.at)
    }

    /// Who gave its pages, each once.
    pub fn answerers(&self) -> String {
        let answerers: BTreeSet<_> = self.pages.iter().map(|page| page.answerer).collect();
        let texts: Vec<String> = answerers.iter().map(ToString::to_string).collect();
        texts.join(" and ")
    }

    /// The objects of all pages.
    pub fn items(&self) -> impl Iterator<Item = &ObjectVersion> {
        self.pages.iter().flat_map(|page| &page.items)
    }
}

impl Frame {
    /// The object and what happened to it; `None` for bookmarks.
    pub fn event(&self) -> Option<(EventType, &ObjectVersion)> {
        match self {
            Self::Added(object) => Some((EventType::Added, object)),
            Self::Modified(object) => Some((EventType::Modified, object)),
            Self::Deleted(object) => Some((EventType::Deleted, object)),
            Self::Bookmark(_) | Self::InitialEventsEnd(_) => None,
        }
    }

    /// The version it carries.
    pub fn version(&self) -> ResourceVersion {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object.version,
            Self::Bookmark(version) | Self::InitialEventsEnd(version) => *version,
        }
    }
}

impl fmt::Display for Answerer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(number) => write!(formatter, "server {number}"),
            Self::Store => formatter.write_str("the store"),
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bookmark(version) => write!(formatter, "BOOKMARK @{version}"),
            Self::InitialEventsEnd(version) => {
                write!(formatter, "BOOKMARK @{version} (initial events end)")
            }
            Self::Added(object) => write!(formatter, "ADDED {object}"),
            Self::Modified(object) => write!(formatter, "MODIFIED {object}"),
            Self::Deleted(object) => write!(formatter, "DELETED {object}"),
        }
    }
}

impl fmt::Display for WatchStart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(version, Origin::List) => write!(formatter, "after list @{version}"),
            Self::After(version, Origin::Event) => write!(formatter, "after event @{version}"),
            Self::After(version, Origin::Bookmark) => {
                write!(formatter, "after bookmark @{version}")
            }
            Self::After(version, Origin::Write) => write!(formatter, "after write @{version}"),
            Self::State(freshness) => write!(formatter, "from the state, {freshness}"),
        }
    }
}

impl fmt::Display for Freshness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MostRecent => formatter.write_str("most recent"),
            Self::Any => formatter.write_str("any age"),
            Self::NotOlderThan(version) => write!(formatter, "not older than @{version}"),
            Self::Exactly(version) => write!(formatter, "exactly @{version}"),
        }
    }
}
