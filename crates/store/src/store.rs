//! The seam: four verbs, and the words they use.

use std::{collections::BTreeSet, future::Future, pin::Pin, time::Duration};

use bytes::Bytes;

use crate::{Key, KeyRange, Revision};

/// Keys and values of one commit, in bytes. A larger commit is refused as invalid.
pub const COMMIT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Keys that one commit may require something of without writing them. A commit with more is
/// refused as invalid.
pub const COMMIT_REQUIREMENTS_MAX: usize = 16;

/// What a verb returns: boxed, so that a server can hold any store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A revisioned, ordered, watchable map of bytes.
pub trait Store: Send + Sync + 'static {
    /// Entries of a range, in key order, at one revision.
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>>;

    /// Applies all writes of the commit at one new revision, or none of them.
    ///
    /// When this returns `Ok`, the commit is as durable as the store can make it and every later
    /// [`Store::read`] of the newest state sees it. A caller that stops waiting has learnt nothing:
    /// the commit may still happen. A commit that changes nothing, since all it does is to delete
    /// absent keys, takes no revision and returns the newest one.
    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>>;

    /// Follows all changes of a range after a revision: each once, in order, without a gap.
    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>>;

    /// Forgets the states before `before`, so that nothing older can be read or followed.
    ///
    /// The store may keep more than asked, and it may compact by itself. The state at `before` and
    /// all changes after it stay. A revision in the future compacts up to the newest.
    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>>;
}

/// A cursor on the changes of a store.
pub trait Changes: Send {
    /// Waits for something new: changes, or the mere news that a later revision holds none.
    ///
    /// Cancel safe: a dropped future loses nothing.
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>>;
}

/// Which entries to read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The keys wanted.
    pub range: KeyRange,
    /// The revision to read at; `None` for the newest.
    pub at: Option<Revision>,
    /// At most this many entries; zero reads none and tells the revision.
    pub limit: Option<usize>,
}

impl Read {
    /// The newest state of a range.
    pub fn newest(range: KeyRange) -> Self {
        Self {
            range,
            at: None,
            limit: None,
        }
    }

    /// Nothing but the newest revision.
    pub fn revision_only() -> Self {
        Self {
            range: KeyRange::single([]),
            at: None,
            limit: Some(0),
        }
    }

    /// The same read at a revision.
    #[must_use]
    pub fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// The same read, cut after `limit` entries.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// Which changes to follow.
#[derive(Clone, Debug)]
pub struct Follow {
    /// The keys whose changes are wanted.
    pub range: KeyRange,
    /// Those after this revision. It may lie in the future; the first batch then begins after it.
    pub after: Revision,
    /// Whether changes tell what they replaced.
    pub previous: Previous,
}

/// Whether a change tells what it replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previous {
    /// It does.
    Told,
    /// It need not. A store to which it costs nothing may tell it all the same.
    NotNeeded,
}

impl Follow {
    /// All changes of a range after a revision, with what they replaced.
    pub fn new(range: KeyRange, after: Revision) -> Self {
        Self {
            range,
            after,
            previous: Previous::Told,
        }
    }

    /// The same without what the changes replaced, for who knows it anyway.
    #[must_use]
    pub fn without_previous(mut self) -> Self {
        self.previous = Previous::NotNeeded;
        self
    }
}

/// What a read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The revision at which all entries were read; for a read of the newest state, the newest.
    pub revision: Revision,
    /// The entries in key order.
    pub entries: Vec<Entry>,
    /// How many entries of the range follow the last one given.
    pub remaining: usize,
}

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The revision that wrote this value.
    pub revision: Revision,
    /// The value.
    pub value: Bytes,
}

/// Writes that happen together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The writes, of distinct keys. At least one.
    pub operations: Vec<Operation>,
    /// What else must hold, of distinct keys that it does not write; [`COMMIT_REQUIREMENTS_MAX`] at
    /// the most. Commits that require the same do not hinder each other.
    pub requirements: Vec<Requirement>,
}

impl Commit {
    /// A commit of one write.
    pub fn one(key: Key, condition: Condition, write: Write) -> Self {
        Self::together(vec![Operation {
            key,
            condition,
            write,
        }])
    }

    /// A commit of these writes.
    pub fn together(operations: Vec<Operation>) -> Self {
        Self {
            operations,
            requirements: Vec::new(),
        }
    }

    /// The same commit, if this holds too of a key that it does not write.
    #[must_use]
    pub fn requiring(mut self, key: Key, condition: Condition) -> Self {
        self.requirements.push(Requirement { key, condition });
        self
    }

    /// All that must hold, in the order in which it is judged: first what is required of others.
    pub fn conditions(&self) -> impl Iterator<Item = (&Key, Condition)> {
        let required = self.requirements.iter();
        let written = self.operations.iter();
        required
            .map(|one| (&one.key, one.condition))
            .chain(written.map(|one| (&one.key, one.condition)))
    }

    /// Refuses what no store takes: no write at all, a key twice, or too much.
    pub fn validate(&self) -> Result<(), CommitError> {
        let invalid = |reason: String| Err(CommitError::Invalid { reason });
        if self.operations.is_empty() {
            return invalid("it writes nothing".into());
        }
        let required = self.requirements.len();
        if required > COMMIT_REQUIREMENTS_MAX {
            return invalid(format!(
                "it requires something of {required} keys, {COMMIT_REQUIREMENTS_MAX} at the most"
            ));
        }
        if let Some(key) = self.key_twice() {
            return invalid(format!("it has {key:?} twice"));
        }
        let bytes = self.bytes();
        if bytes > COMMIT_BYTES_MAX {
            return invalid(format!(
                "it has {bytes} bytes, {COMMIT_BYTES_MAX} at the most"
            ));
        }
        Ok(())
    }

    fn key_twice(&self) -> Option<&Key> {
        let mut keys = self.conditions().map(|(key, _)| key);
        // Nearly all commits are this small, and need no set.
        if self.operations.len() + self.requirements.len() <= 2 {
            let first = keys.next()?;
            return keys.find(|key| *key == first);
        }
        let mut seen = BTreeSet::new();
        keys.find(|key| !seen.insert(*key))
    }

    fn bytes(&self) -> usize {
        let written = self.operations.iter().map(Operation::bytes);
        let required = self.requirements.iter().map(|one| one.key.as_bytes().len());
        written.sum::<usize>() + required.sum::<usize>()
    }
}

/// What must hold of a key that a commit does not write.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The key.
    pub key: Key,
    /// What must hold of it for the commit to happen.
    pub condition: Condition,
}

/// One write of a commit.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The key to write.
    pub key: Key,
    /// What must hold for the commit to happen.
    pub condition: Condition,
    /// What to write. Deleting an absent key under [`Condition::Any`] writes nothing.
    pub write: Write,
}

impl Operation {
    /// The size of the key and the value.
    pub(crate) fn bytes(&self) -> usize {
        let value = match &self.write {
            Write::Put(put) => put.value.len(),
            Write::Delete => 0,
        };
        self.key.as_bytes().len() + value
    }
}

/// What must hold of a key before the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Anything.
    Any,
    /// The key has no value.
    Absent,
    /// The key's value was written at this revision.
    Unchanged(Revision),
}

impl Condition {
    /// Whether it holds of a key whose value was written at `current`.
    pub fn holds(self, current: Option<Revision>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Unchanged(revision) => current == Some(revision),
        }
    }
}

/// A new value, or the end of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Sets the value.
    Put(Put),
    /// Removes the key.
    Delete,
}

impl Write {
    /// Sets a value that stays until it is replaced.
    pub fn put(value: impl Into<Bytes>) -> Self {
        Self::Put(Put {
            value: value.into(),
            lifetime: None,
        })
    }
}

/// A new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The bytes.
    pub value: Bytes,
    /// After this long without another write the store deletes the key by itself, as an ordinary
    /// change. Survives a restart; never early, and late by seconds at the most.
    pub lifetime: Option<Duration>,
}

/// What happened to one key in one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The commit's revision.
    pub revision: Revision,
    /// The key.
    pub key: Key,
    /// The new value; `None` when the key was deleted.
    pub value: Option<Bytes>,
    /// The entry that this change replaced or removed, if [`Follow::previous`] asks for it.
    pub previous: Option<Entry>,
}

/// Changes in order, complete through a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeBatch {
    /// The changes; those of one commit never lie in two batches.
    pub changes: Vec<Change>,
    /// Nothing at or before this revision is still to come: the progress mark.
    pub through: Revision,
}

/// Why a read gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The revision has been forgotten. Read a newer one.
    #[error("revision {requested} has been compacted; the oldest kept is {oldest}")]
    Compacted {
        /// What was asked for.
        requested: Revision,
        /// The oldest revision that can be read.
        oldest: Revision,
    },
    /// The revision has not happened yet. Wait for it, or ask for less.
    #[error("revision {requested} is in the future; the newest is {newest}")]
    Future {
        /// What was asked for.
        requested: Revision,
        /// The newest revision there is.
        newest: Revision,
    },
    /// The store has too much to do. Come back in a second or more.
    #[error("the store is too busy to be read: {reason}")]
    Overloaded {
        /// What happened, for a person.
        reason: String,
    },
    /// The store cannot answer now. Try again later.
    #[error("the store cannot be read: {reason}")]
    Unavailable {
        /// What happened, for a person.
        reason: String,
    },
}

/// Why a commit did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A condition did not hold. Decide again from `current`.
    #[error("the condition on {key:?} did not hold")]
    Conflict {
        /// The first key whose condition failed, in the order of [`Commit::conditions`].
        key: Key,
        /// What the key holds now.
        current: Option<Entry>,
    },
    /// The commit can never succeed as it is: empty, a key twice, or larger than the store takes.
    #[error("the commit is not valid: {reason}")]
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
    /// There is no room. Nothing was written; make room and try again.
    #[error("the store is full: {reason}")]
    Full {
        /// What happened, for a person.
        reason: String,
    },
    /// The store has too much to do. Nothing was written; come back in a second or more.
    #[error("the store is too busy to be written: {reason}")]
    Overloaded {
        /// What happened, for a person.
        reason: String,
    },
    /// The store cannot write now. Nothing was written; try again later.
    #[error("the store cannot be written: {reason}")]
    Unavailable {
        /// What happened, for a person.
        reason: String,
    },
    /// Nobody knows whether this commit will be found later. Look before trying again.
    #[error("the store did not say whether the write happened: {reason}")]
    Unknown {
        /// What happened, for a person.
        reason: String,
    },
}

/// Why changes cannot be followed any further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    /// The changes after that revision have been forgotten. Read the state and follow from there.
    #[error("changes after revision {requested} have been compacted; the oldest kept is {oldest}")]
    Compacted {
        /// Where the cursor stood.
        requested: Revision,
        /// The oldest revision that changes can be followed from.
        oldest: Revision,
    },
    /// The store cannot answer now. Follow again from the last batch.
    #[error("the store cannot be followed: {reason}")]
    Unavailable {
        /// What happened, for a person.
        reason: String,
    },
}
