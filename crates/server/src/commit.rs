//! Objects to bytes to the store.
//!
//! A change is a function from what is stored to what is next. It is tried on what the cache has,
//! and again on what the store has whenever another writer was faster. Nothing is refused, and
//! nothing left as it is, on the word of the cache alone.

mod deletion;
mod key_layout;
mod managed_fields;
mod metadata;
mod stored;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use listwatch_api::{
    Status,
    object::{Draft, StoredObject},
    write_options::DryRun,
};
use listwatch_store::{
    Commit, CommitError, Condition, Entry, Key, KeyRange, Put, Read, ReadError, Revision, Store,
    Write,
};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::{admission::Home, watch_cache::KindCache};

pub(crate) use deletion::{
    Deletion, decide as decide_deletion, is_complete as deletion_is_complete,
    looks_beyond_metadata as deletion_looks_beyond_metadata,
};
pub(crate) use key_layout::object_key;
pub(crate) use managed_fields::{
    Applied, ApplyError, Conflict, FieldTracker, OnConflict, Owners, keep_reset, manager_name,
};
pub(crate) use metadata::{carry_over, metadata, metadata_mut, stamp_new, text as metadata_text};
pub(crate) use stored::{Current, SCANNED, Stored, unreadable};

/// How long one write may take with all its retries. Then the client hears that it may have
/// happened.
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);

/// What a change makes of what is stored.
#[derive(Debug)]
pub(crate) enum Next {
    /// This object.
    Put(Draft),
    /// Nothing: it is removed. The object is what the client is told.
    Remove(Draft),
    /// Nothing: a value that nobody can read is removed.
    Discard,
    /// It stays as it is.
    Keep,
}

/// What a change did.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The object afterwards, or its last state when it was removed, without its labels and fields
    /// being found. Empty when nobody could read what was removed.
    pub object: StoredObject,
    /// The revision that the object has now; `None` for one that a dry run did not create.
    pub revision: Option<Revision>,
    /// How it came to be so.
    pub outcome: Outcome,
}

impl Changed {
    /// The object as a tree.
    pub(crate) fn parse(&self) -> Value {
        parse(self.object.value())
    }
}

/// An object in canonical bytes as a tree.
pub(crate) fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("canonical bytes are JSON")
}

/// How an object came to be as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There was none before.
    Created,
    /// It replaced an earlier one, or equals it.
    Updated,
    /// It is gone.
    Removed,
    /// It is gone, and nobody could read what it was.
    Discarded,
}

/// Whether a write is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// It is.
    Durable,
    /// Everything is done but the writing.
    DryRun,
}

impl From<DryRun> for Persistence {
    fn from(dry_run: DryRun) -> Self {
        match dry_run {
            DryRun::Off => Self::Durable,
            DryRun::All => Self::DryRun,
        }
    }
}

/// Writes objects to the store.
pub(crate) struct Committer {
    store: Arc<dyn Store>,
}

/// Where and how one write lands.
#[derive(Clone)]
pub(crate) struct Destination {
    /// The object's key.
    pub key: Key,
    /// Its kind, and what is known of it without asking the store.
    pub cache: KindCache,
    /// How long it lives untouched; `None` for ever.
    pub lifetime: Option<Duration>,
    /// Whether it is written at all.
    pub persistence: Persistence,
}

/// How far what a change starts from can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The cache had it: it may have been overtaken, which a commit finds out.
    Stale,
    /// The store said so.
    Fresh,
}

/// What a change comes down to.
enum Plan {
    /// All is well as it is.
    Keep(Changed),
    /// This is to be written, and told.
    Write(Write, StoredObject, Outcome),
}

impl Committer {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Changes what is stored under a key, as often as it takes to be the one that was applied.
    pub(crate) async fn change(
        &self,
        destination: &Destination,
        change: impl FnMut(&Stored) -> Result<Next, Status>,
    ) -> Result<Changed, Status> {
        self.change_at(destination, None, change).await
    }

    /// The same; what is created on the way is created in its home.
    pub(crate) async fn change_at(
        &self,
        destination: &Destination,
        home: Option<&Home<'_>>,
        mut change: impl FnMut(&Stored) -> Result<Next, Status>,
    ) -> Result<Changed, Status> {
        let attempts = self.attempts(destination, home);
        let (mut stored, mut trust) = self.origin(destination).await?;
        loop {
            let plan = change(&stored).map(|next| plan(destination, &stored, next));
            let is_proven_by_commit =
                matches!(plan, Ok(Plan::Write(..))) && destination.is_durable();
            if trust == Trust::Stale && !is_proven_by_commit {
                let fresh = self.read(&destination.cache, &destination.key).await?;
                trust = Trust::Fresh;
                if fresh.revision() != stored.revision() {
                    stored = fresh;
                    continue;
                }
            }
            let writing = match plan? {
                Plan::Keep(changed) => return Ok(changed),
                Plan::Write(write, object, outcome) => (write, object, outcome),
            };
            match attempts.attempt(&stored, writing).await {
                Attempt::Done(changed) => return Ok(changed),
                Attempt::Failed(status) => return Err(status),
                Attempt::Overtaken(entry) => {
                    stored = Stored::decode(&destination.cache, entry);
                    trust = Trust::Fresh;
                }
            }
        }
    }

    /// Stores an object under a key that must be free; `None` when it is not.
    pub(crate) async fn create(
        &self,
        destination: &Destination,
        home: Option<&Home<'_>>,
        object: &Draft,
    ) -> Result<Option<Changed>, Status> {
        let stored = match destination.persistence {
            // The commit itself finds out.
            Persistence::Durable => Stored::Absent,
            Persistence::DryRun => self.read(&destination.cache, &destination.key).await?,
        };
        if stored.revision().is_some() {
            return Ok(None);
        }
        let object = object.encode();
        let write = destination.put(object.value().clone());
        let writing = (write, object, Outcome::Created);
        let attempts = self.attempts(destination, home);
        match attempts.attempt(&stored, writing).await {
            Attempt::Done(changed) => Ok(Some(changed)),
            Attempt::Overtaken(_) => Ok(None),
            Attempt::Failed(status) => Err(status),
        }
    }

    /// What is stored under a key of this kind, straight from the store.
    pub(crate) async fn read(&self, cache: &KindCache, key: &Key) -> Result<Stored, Status> {
        let read = Read::newest(KeyRange::single(key));
        let page = self.store.read(read).await;
        let page = page.map_err(|error| read_failed(&error))?;
        Ok(Stored::decode(cache, page.entries.into_iter().next()))
    }

    /// What a change is tried on first: what the cache has, else what the store has.
    async fn origin(&self, destination: &Destination) -> Result<(Stored, Trust), Status> {
        if let Some(current) = Current::cached(&destination.cache, &destination.key) {
            return Ok((Stored::Object(current), Trust::Stale));
        }
        let stored = self.read(&destination.cache, &destination.key).await?;
        Ok((stored, Trust::Fresh))
    }

    fn attempts<'a>(
        &'a self,
        destination: &'a Destination,
        home: Option<&'a Home<'a>>,
    ) -> Attempts<'a> {
        Attempts {
            store: &*self.store,
            destination,
            home,
            deadline: Instant::now() + WRITE_TIMEOUT,
        }
    }
}

/// One write, as often as it is tried.
struct Attempts<'a> {
    store: &'a dyn Store,
    destination: &'a Destination,
    home: Option<&'a Home<'a>>,
    deadline: Instant,
}

impl Attempts<'_> {
    async fn attempt(
        &self,
        stored: &Stored,
        (write, object, outcome): (Write, StoredObject, Outcome),
    ) -> Attempt {
        let revision = stored.revision();
        let done = |revision| {
            Attempt::Done(Changed {
                object,
                revision,
                outcome,
            })
        };
        if !self.destination.is_durable() {
            return done(revision);
        }
        let condition = revision.map_or(Condition::Absent, Condition::Unchanged);
        let key = self.destination.key.clone();
        let committed = match (outcome, self.home) {
            (Outcome::Created, Some(home)) => self.commit_at(home, (key, condition, write)).await,
            _ => self.commit(Commit::one(key, condition, write)).await,
        };
        match committed {
            Ok(_) if matches!(outcome, Outcome::Removed | Outcome::Discarded) => done(revision),
            Ok(written) => done(Some(written)),
            Err(Uncommitted::Conflict { current, .. }) => Attempt::Overtaken(current),
            Err(Uncommitted::Failed(status)) => Attempt::Failed(status),
        }
    }

    async fn commit(&self, commit: Commit) -> Result<Revision, Uncommitted> {
        let committed = timeout_at(self.deadline, self.store.commit(commit)).await;
        match committed.unwrap_or_else(|_| Err(too_slow())) {
            Ok(written) => Ok(written),
            Err(CommitError::Conflict { key, current }) => {
                Err(Uncommitted::Conflict { key, current })
            }
            Err(error) => Err(Uncommitted::Failed(commit_failed(&error))),
        }
    }

    /// Commits as long as the home of the new object is fit to live in, whatever else changes.
    async fn commit_at(
        &self,
        home: &Home<'_>,
        (key, condition, write): (Key, Condition, Write),
    ) -> Result<Revision, Uncommitted> {
        let mut seen = home.seen();
        loop {
            let commit = Commit::one(key.clone(), condition, write.clone());
            let commit = commit.requiring(home.key().clone(), Condition::Unchanged(seen));
            match self.commit(commit).await {
                Err(Uncommitted::Conflict { key, current }) if key == *home.key() => {
                    seen = home.judge_entry(current).map_err(Uncommitted::Failed)?;
                }
                committed => return committed,
            }
        }
    }
}

/// Why an attempt wrote nothing.
enum Uncommitted {
    /// A condition did not hold of this key, under which stands this.
    Conflict {
        key: Key,
        current: Option<Entry>,
    },
    Failed(Status),
}

impl Destination {
    fn is_durable(&self) -> bool {
        self.persistence == Persistence::Durable
    }

    fn put(&self, value: Bytes) -> Write {
        Write::Put(Put {
            value,
            lifetime: self.lifetime,
        })
    }
}

enum Attempt {
    Done(Changed),
    /// Somebody else changed it first, to this.
    Overtaken(Option<Entry>),
    Failed(Status),
}

/// What has to be written so that `next` follows what is stored.
fn plan(destination: &Destination, stored: &Stored, next: Next) -> Plan {
    let current = match stored {
        Stored::Object(current) => Some(current),
        Stored::Absent | Stored::Unreadable(_) => None,
    };
    match (next, current) {
        (Next::Keep, Some(current)) => Plan::Keep(current.unchanged()),
        (Next::Keep, None) => unreachable!("a change that keeps nothing is refused earlier"),
        (Next::Remove(object), _) => Plan::Write(Write::Delete, object.encode(), Outcome::Removed),
        (Next::Discard, _) => {
            let nothing = Draft::default().encode();
            Plan::Write(Write::Delete, nothing, Outcome::Discarded)
        }
        (Next::Put(object), current) => {
            let object = object.encode();
            let outcome = match current {
                Some(current) if current.is_stored_as(object.value()) => {
                    return Plan::Keep(current.unchanged());
                }
                Some(_) => Outcome::Updated,
                None => Outcome::Created,
            };
            let write = destination.put(object.value().clone());
            Plan::Write(write, object, outcome)
        }
    }
}

fn too_slow() -> CommitError {
    CommitError::Unknown {
        reason: format!("nothing came within {WRITE_TIMEOUT:?}"),
    }
}

fn read_failed(error: &ReadError) -> Status {
    match error {
        ReadError::Overloaded { .. } => Status::too_many_requests(error.to_string(), 1),
        _ => Status::service_unavailable(error.to_string()),
    }
}

/// What the client of a failed commit should do: make room, shrink the object, try again, or look
/// first whether it happened.
fn commit_failed(error: &CommitError) -> Status {
    tracing::warn!("a commit failed: {error}");
    match error {
        CommitError::Invalid { reason } => Status::request_entity_too_large(reason),
        CommitError::Full { .. } | CommitError::Unavailable { .. } => {
            Status::service_unavailable(error.to_string())
        }
        CommitError::Overloaded { .. } => Status::too_many_requests(error.to_string(), 1),
        // A client that is told when to try again does so unasked, and could write twice.
        CommitError::Unknown { .. } => Status::timeout(&error.to_string(), None),
        CommitError::Conflict { .. } => Status::internal("a conflict was not resolved"),
    }
}
