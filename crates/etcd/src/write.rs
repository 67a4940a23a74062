//! Writing and deleting keys, and forgetting the past.

use bytes::Bytes;

use crate::{Client, Error, Header, KeyRange, KeyValue, LeaseId, client::Repeat, wire};

const PUT: &str = "/etcdserverpb.KV/Put";
const DELETE_RANGE: &str = "/etcdserverpb.KV/DeleteRange";
const COMPACT: &str = "/etcdserverpb.KV/Compact";

/// A key to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The key.
    pub key: Bytes,
    /// Its new value.
    pub value: Bytes,
    /// The lease that it lives by from now on.
    pub lease: Option<LeaseId>,
    /// Whether to answer with what it was before.
    pub previous: PreviousValues,
}

/// What a write was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutAnswer {
    /// Its revision is that of the write.
    pub header: Header,
    /// What was there, if asked for and there.
    pub previous: Option<KeyValue>,
}

/// Keys to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// Which.
    pub keys: KeyRange,
    /// Whether to answer with what they were.
    pub previous: PreviousValues,
}

/// What a delete was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteAnswer {
    /// Its revision is that of the delete, or the present one if there was nothing to delete.
    pub header: Header,
    /// How many keys are gone.
    pub deleted: u64,
    /// What they were, if asked for.
    pub previous: Vec<KeyValue>,
}

/// Whether an answer or an event tells what was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousValues {
    /// It does.
    Included,
    /// It does not.
    Omitted,
}

/// When a compaction is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// When it is agreed upon.
    Agreed,
    /// When the database has let go of the old revisions.
    Done,
}

impl Put {
    /// Writes this value, without a lease.
    pub fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            lease: None,
            previous: PreviousValues::Omitted,
        }
    }

    pub(crate) fn into_wire(self) -> wire::PutRequest {
        wire::PutRequest {
            key: self.key,
            value: self.value,
            lease: self.lease.map_or(0, LeaseId::get),
            prev_kv: self.previous == PreviousValues::Included,
        }
    }
}

impl Delete {
    /// Deletes these keys.
    pub fn new(keys: KeyRange) -> Self {
        Self {
            keys,
            previous: PreviousValues::Omitted,
        }
    }

    pub(crate) fn into_wire(self) -> wire::DeleteRangeRequest {
        let (key, range_end) = self.keys.into_wire();
        wire::DeleteRangeRequest {
            key,
            range_end,
            prev_kv: self.previous == PreviousValues::Included,
        }
    }
}

impl TryFrom<wire::PutResponse> for PutAnswer {
    type Error = Error;

    fn try_from(answer: wire::PutResponse) -> Result<Self, Error> {
        Ok(Self {
            header: answer.header.try_into()?,
            previous: answer.prev_kv,
        })
    }
}

impl TryFrom<wire::DeleteRangeResponse> for DeleteAnswer {
    type Error = Error;

    fn try_from(answer: wire::DeleteRangeResponse) -> Result<Self, Error> {
        Ok(Self {
            header: answer.header.try_into()?,
            deleted: answer.deleted,
            previous: answer.prev_kvs,
        })
    }
}

impl Client {
    /// Writes a key.
    pub async fn put(&self, put: Put) -> Result<PutAnswer, Error> {
        let question = put.into_wire();
        let answer: wire::PutResponse = self.call(PUT, question, Repeat::OnlyIfUnsent).await?;
        answer.try_into()
    }

    /// Deletes keys, all at one revision.
    pub async fn delete(&self, delete: Delete) -> Result<DeleteAnswer, Error> {
        let question = delete.into_wire();
        let repeat = Repeat::OnlyIfUnsent;
        let answer: wire::DeleteRangeResponse = self.call(DELETE_RANGE, question, repeat).await?;
        answer.try_into()
    }

    /// Forgets all that was before this revision.
    pub async fn compact(&self, revision: u64, answered: Compaction) -> Result<Header, Error> {
        let question = wire::CompactionRequest {
            revision,
            physical: answered == Compaction::Done,
        };
        let answer: wire::HeaderResponse =
            self.call(COMPACT, question, Repeat::OnlyIfUnsent).await?;
        answer.header.try_into()
    }
}
