//! Reading keys.

use crate::{Client, Error, Header, KeyRange, KeyValue, client::Repeat, wire};

const RANGE: &str = "/etcdserverpb.KV/Range";

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Of which keys. The answer is ordered by key.
    pub keys: KeyRange,
    /// At most this many.
    pub limit: Option<u32>,
    /// As of when.
    pub at: ReadAt,
    /// How much of each.
    pub content: Content,
}

/// As of when to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAt {
    /// At or after every write acknowledged before.
    MostRecent,
    /// Whatever the member has, which may be old.
    AtHand,
    /// At exactly this revision.
    Revision(u64),
}

/// How much to read of each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Everything.
    KeysAndValues,
    /// Everything but the values.
    Keys,
    /// Only how many there are.
    Count,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeAnswer {
    /// Its revision is the one that was read, or the present one if an older was asked for.
    pub header: Header,
    /// The keys, in order.
    pub key_values: Vec<KeyValue>,
    /// Whether the limit cut off some.
    pub more: bool,
    /// How many there are, regardless of the limit.
    pub count: u64,
}

impl Range {
    /// The present state of these keys, all of them, with values.
    pub fn new(keys: KeyRange) -> Self {
        Self {
            keys,
            limit: None,
            at: ReadAt::MostRecent,
            content: Content::KeysAndValues,
        }
    }

    pub(crate) fn into_wire(self) -> wire::RangeRequest {
        let (key, range_end) = self.keys.into_wire();
        wire::RangeRequest {
            key,
            range_end,
            limit: self.limit.unwrap_or_default().into(),
            revision: match self.at {
                ReadAt::Revision(revision) => revision,
                ReadAt::MostRecent | ReadAt::AtHand => 0,
            },
            serializable: self.at == ReadAt::AtHand,
            keys_only: self.content == Content::Keys,
            count_only: self.content == Content::Count,
        }
    }
}

impl TryFrom<wire::RangeResponse> for RangeAnswer {
    type Error = Error;

    fn try_from(answer: wire::RangeResponse) -> Result<Self, Error> {
        Ok(Self {
            header: answer.header.try_into()?,
            key_values: answer.kvs,
            more: answer.more,
            count: answer.count,
        })
    }
}

impl Client {
    /// Reads keys.
    pub async fn range(&self, range: Range) -> Result<RangeAnswer, Error> {
        let question = range.into_wire();
        let answer: wire::RangeResponse = self.call(RANGE, question, Repeat::Harmless).await?;
        answer.try_into()
    }

    /// Reads one key; `None` if it is not there.
    pub async fn get(&self, key: impl Into<bytes::Bytes>) -> Result<Option<KeyValue>, Error> {
        let answer = self.range(Range::new(KeyRange::one(key))).await?;
        Ok(answer.key_values.into_iter().next())
    }
}
