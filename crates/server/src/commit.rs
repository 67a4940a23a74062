//! Objects to bytes to the store.
//!
//! A change is a function from the stored object to the next one. It is tried again, on what is
//! stored by then, whenever another writer was faster.

mod deletion;
mod key_layout;
mod managed_fields;
mod metadata;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use listwatch_api::{Status, object, write_options::DryRun};
use listwatch_store::{
    Commit, CommitError, Condition, Entry, Key, KeyRange, Put, Read, ReadError, Revision, Store,
    Write,
};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

pub(crate) use deletion::{
    Deletion, decide as decide_deletion, is_complete as deletion_is_complete,
};
pub(crate) use key_layout::object_key;
pub(crate) use managed_fields::{
    Applied, ApplyError, Conflict, FieldTracker, OnConflict, Owners, keep_reset, manager_name,
};
pub(crate) use metadata::{carry_over, metadata, metadata_mut, stamp_new, text as metadata_text};

/// How long one write may take with all its retries. Then the client hears of it and may try again.
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);

/// What a change makes of a stored object.
#[derive(Debug)]
pub(crate) enum Next {
    /// This object.
    Put(Value),
    /// Nothing: it is removed. The object is what the client is told.
    Remove(Value),
    /// It stays as it is.
    Keep,
}

/// What a change did.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The object afterwards, or its last state when it was removed: canonical bytes.
    pub bytes: Bytes,
    /// The revision that the object has now; `None` for one that a dry run did not create.
    pub revision: Option<Revision>,
    /// How it came to be so.
    pub outcome: Outcome,
}

impl Changed {
    /// The object as a tree.
    pub(crate) fn parse(&self) -> Value {
        parse(&self.bytes)
    }
}

/// A stored object as a tree.
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
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// The object's key.
    pub key: Key,
    /// How long it lives untouched; `None` for ever.
    pub lifetime: Option<Duration>,
    /// Whether it is written at all.
    pub persistence: Persistence,
}

impl Committer {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Changes the object at a key, as often as it takes to be the one that was applied.
    pub(crate) async fn change(
        &self,
        destination: &Destination,
        mut change: impl FnMut(Option<&Current>) -> Result<Next, Status>,
    ) -> Result<Changed, Status> {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let mut current = self.read(&destination.key).await?;
        loop {
            let next = change(current.as_ref())?;
            let attempt = self.attempt(destination, current.as_ref(), next);
            match timeout_at(deadline, attempt).await {
                Err(_) => {
                    return Err(Status::timeout(
                        "the write took too long; try again",
                        Some(1),
                    ));
                }
                Ok(Attempt::Done(changed)) => return Ok(changed),
                Ok(Attempt::Failed(status)) => return Err(status),
                Ok(Attempt::Overtaken(entry)) => {
                    current = entry.map(Current::decode).transpose()?
                }
            }
        }
    }

    /// The newest state of one object, straight from the store.
    pub(crate) async fn read(&self, key: &Key) -> Result<Option<Current>, Status> {
        let read = Read::newest(KeyRange::single(key));
        let page = self
            .store
            .read(read)
            .await
            .map_err(|error| read_failed(&error))?;
        page.entries
            .into_iter()
            .next()
            .map(Current::decode)
            .transpose()
    }

    async fn attempt(
        &self,
        destination: &Destination,
        current: Option<&Current>,
        next: Next,
    ) -> Attempt {
        let outcome = match (&next, current) {
            (Next::Remove(_), _) => Outcome::Removed,
            (_, None) => Outcome::Created,
            (_, Some(_)) => Outcome::Updated,
        };
        let (write, bytes) = match (next, current) {
            (Next::Keep, Some(current)) => return unchanged(current),
            (Next::Keep, None) => unreachable!("a change that keeps nothing is refused earlier"),
            (Next::Put(object), current) => {
                let bytes = Bytes::from(object::to_canonical(&object));
                if let Some(current) = current.filter(|current| current.stored.value == bytes) {
                    return unchanged(current);
                }
                let put = Put {
                    value: bytes.clone(),
                    lifetime: destination.lifetime,
                };
                (Write::Put(put), bytes)
            }
            (Next::Remove(object), _) => (Write::Delete, object::to_canonical(&object).into()),
        };
        if destination.persistence == Persistence::DryRun {
            let revision = current.map(|current| current.stored.revision);
            return Attempt::Done(Changed {
                bytes,
                revision,
                outcome,
            });
        }
        let condition = current.map_or(Condition::Absent, |current| {
            Condition::Unchanged(current.stored.revision)
        });
        let commit = Commit::one(destination.key.clone(), condition, write);
        match self.store.commit(commit).await {
            Ok(revision) => {
                let told = match (outcome, current) {
                    (Outcome::Removed, Some(current)) => current.stored.revision,
                    _ => revision,
                };
                Attempt::Done(Changed {
                    bytes,
                    revision: Some(told),
                    outcome,
                })
            }
            Err(CommitError::Conflict { current, .. }) => Attempt::Overtaken(current),
            Err(error) => Attempt::Failed(commit_failed(&error)),
        }
    }
}

/// The object that a change starts from.
#[derive(Debug)]
pub(crate) struct Current {
    /// Its bytes and revision.
    pub stored: Entry,
    /// Its content.
    pub object: Value,
}

impl Current {
    fn decode(stored: Entry) -> Result<Self, Status> {
        let object = serde_json::from_slice(&stored.value)
            .map_err(|error| Status::internal(&format!("a stored object is damaged: {error}")))?;
        Ok(Self { stored, object })
    }
}

enum Attempt {
    Done(Changed),
    /// Somebody else changed it first, to this.
    Overtaken(Option<Entry>),
    Failed(Status),
}

fn unchanged(current: &Current) -> Attempt {
    let Entry {
        value, revision, ..
    } = &current.stored;
    let (bytes, revision) = (value.clone(), Some(*revision));
    Attempt::Done(Changed {
        bytes,
        revision,
        outcome: Outcome::Updated,
    })
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
