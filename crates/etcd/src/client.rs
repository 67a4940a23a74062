//! The connection to a cluster: which member is asked, and what happens when it does not answer.

mod call;
mod members;
mod streams;

use std::sync::Arc;

use parking_lot::RwLock;
use tonic::metadata::AsciiMetadataValue;

pub(crate) use self::call::Repeat;
use self::members::Members;
use crate::{Content, Error, KeyRange, Range, Settings, wire};

/// A client of one etcd cluster. Cheap to clone; all clones share their connections.
///
/// A member that cannot be reached is passed over: the next in the list is asked. What has been
/// sent is sent again only if that is harmless, so a write that got no answer is the caller's to
/// look into ([`Error::Interrupted`]).
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    members: Members,
    settings: Settings,
    /// Proves who we are, once somebody asked.
    token: RwLock<Option<AsciiMetadataValue>>,
}

/// What every answer begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The cluster that answered.
    pub cluster_id: u64,
    /// The member that answered.
    pub member_id: u64,
    /// The revision of the database when the request was carried out.
    pub revision: u64,
    /// The term of the member's leader.
    pub raft_term: u64,
}

impl Client {
    /// A client with these settings, within a Tokio runtime, on which its connections then run.
    /// They are made when they are needed.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner {
                members: Members::new(&settings)?,
                token: RwLock::new(None),
                settings,
            }),
        })
    }

    /// The settings that it was made with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The cluster's revision now: at least that of every write acknowledged before.
    pub async fn revision(&self) -> Result<u64, Error> {
        let question = Range {
            content: Content::Count,
            ..Range::new(KeyRange::one("\0"))
        };
        Ok(self.range(question).await?.header.revision)
    }
}

impl TryFrom<Option<wire::ResponseHeader>> for Header {
    type Error = Error;

    fn try_from(header: Option<wire::ResponseHeader>) -> Result<Self, Error> {
        let header = header.ok_or_else(|| Error::missing("the header"))?;
        Ok(Self {
            cluster_id: header.cluster_id,
            member_id: header.member_id,
            revision: header.revision,
            raft_term: header.raft_term,
        })
    }
}

#[cfg(test)]
mod tests;
