//! Objects to bytes to the store.
//!
//! A change starts from what the cache has, and again from what the store has whenever another
//! writer was faster ([`Writing`]).

mod deletion;
mod key_layout;
mod managed_fields;
mod metadata;
mod stored;
mod writing;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use listwatch_api::{Status, object::StoredObject, write_options::DryRun};
use listwatch_store::{
    Commit, CommitError, Key, KeyRange, Operation, Put, Read, ReadError, Revision, Store, Write,
};
use serde_json::Value;

use crate::watch_cache::KindCache;

pub(crate) use deletion::{
    Deletion, decide as decide_deletion, is_complete as deletion_is_complete,
    looks_beyond_metadata as deletion_looks_beyond_metadata,
};
pub(crate) use key_layout::object_key;
pub(crate) use managed_fields::{
    Applied, ApplyError, Conflict, FieldTracker, NO_VIEWS, OnConflict, Owners, Unseen, Views,
    keep_reset, manager_name,
};
pub(crate) use metadata::{carry_over, metadata, metadata_mut, stamp_new, text as metadata_text};
pub(crate) use stored::{Current, SCANNED, Stored, unreadable};
pub(crate) use writing::{Next, Proposal, Settled, Writing};

/// How long one write may take with all its retries. Then the client hears that it may have
/// happened.
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);

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

impl Committer {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Begins to change what is stored under a key: from what the cache has, else from what the
    /// store has.
    pub(crate) async fn begin<'a>(
        &'a self,
        destination: &'a Destination,
    ) -> Result<Writing<'a>, Status> {
        let origin = match Current::cached(&destination.cache, &destination.key) {
            Some(current) => (Stored::Object(current), Trust::Stale),
            None => (
                self.read(&destination.cache, &destination.key).await?,
                Trust::Fresh,
            ),
        };
        Ok(Writing::new(&*self.store, destination, origin))
    }

    /// Begins to store an object under a key that should be free.
    pub(crate) async fn begin_new<'a>(
        &'a self,
        destination: &'a Destination,
    ) -> Result<Writing<'a>, Status> {
        let stored = match destination.persistence {
            // The commit itself finds out.
            Persistence::Durable => Stored::Absent,
            Persistence::DryRun => self.read(&destination.cache, &destination.key).await?,
        };
        let origin = (stored, Trust::Fresh);
        Ok(Writing::new(&*self.store, destination, origin))
    }

    /// Writes all of it or nothing.
    pub(crate) async fn commit(&self, operations: Vec<Operation>) -> Result<Revision, CommitError> {
        self.store.commit(Commit::together(operations)).await
    }

    /// The keys of a range that have a value, straight from the store.
    pub(crate) async fn keys(&self, range: KeyRange) -> Result<BTreeSet<Key>, Status> {
        let page = self.store.read(Read::newest(range)).await;
        let page = page.map_err(|error| read_failed(&error))?;
        Ok(page.entries.into_iter().map(|entry| entry.key).collect())
    }

    /// What is stored under a key of this kind, straight from the store.
    pub(crate) async fn read(&self, cache: &KindCache, key: &Key) -> Result<Stored, Status> {
        let read = read(&*self.store, cache, key).await;
        read.map_err(|error| read_failed(&error))
    }
}

async fn read(store: &dyn Store, cache: &KindCache, key: &Key) -> Result<Stored, ReadError> {
    let page = store.read(Read::newest(KeyRange::single(key))).await?;
    Ok(Stored::decode(cache, page.entries.into_iter().next()))
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
