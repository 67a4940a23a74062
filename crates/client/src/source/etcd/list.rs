//! A list as ranges at one revision.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use listwatch_etcd::{Range, RangeAnswer, ReadAt};

use super::{Keys, refused, too_large};
use crate::{
    SourceError, Version,
    lister_watcher::{BoxFuture, ListEnd, ListPart, ListStream},
};

/// Keys that one range reads, so that neither etcd nor we hold more at once. A list without a limit
/// is made of as many ranges as it takes.
const RANGE_KEYS_MAX: u32 = 500;

/// Where a list stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    at: ReadAt,
    /// The last key that was read.
    after: Option<Bytes>,
}

/// One page, or the whole.
pub(super) struct EtcdList {
    keys: Arc<Keys>,
    place: Place,
    /// The oldest revision that will do.
    oldest: u64,
    /// How many more keys the page may have.
    room: Option<u32>,
    end: Option<ListEnd>,
}

impl Place {
    pub(super) fn start(at: ReadAt) -> Self {
        Self { at, after: None }
    }

    /// The place that a continue token names.
    pub(super) fn parse(token: &str) -> Result<Self, SourceError> {
        let parts = token.split_once('.').and_then(|(revision, key)| {
            let revision = revision.parse().ok().filter(|revision| *revision > 0)?;
            Some((revision, URL_SAFE_NO_PAD.decode(key).ok()?))
        });
        let (revision, key) = parts.ok_or_else(|| refused("this is no continue token of ours"))?;
        Ok(Self {
            at: ReadAt::Revision(revision),
            after: Some(key.into()),
        })
    }

    fn token(revision: u64, after: &[u8]) -> String {
        format!("{revision}.{}", URL_SAFE_NO_PAD.encode(after))
    }
}

impl EtcdList {
    pub(super) fn new(keys: Arc<Keys>, place: Place, oldest: u64, limit: Option<u32>) -> Self {
        Self {
            keys,
            place,
            oldest,
            room: limit,
            end: None,
        }
    }

    async fn read(&mut self) -> Result<ListPart, SourceError> {
        if let Some(end) = self.end.take() {
            return Ok(ListPart::End(end));
        }
        let all = self.keys.range();
        let range = Range {
            limit: Some(self.room.unwrap_or(RANGE_KEYS_MAX).clamp(1, RANGE_KEYS_MAX)),
            at: self.place.at,
            ..Range::new(match &self.place.after {
                Some(key) => all.after(key),
                None => all,
            })
        };
        let answer = self.keys.client.range(range).await?;
        self.settle(&answer)?;
        let names = &self.keys.names;
        let objects = answer.key_values.into_iter();
        Ok(ListPart::Items(
            objects.map(|stored| names.object(stored)).collect(),
        ))
    }

    /// Moves on past an answer.
    fn settle(&mut self, answer: &RangeAnswer) -> Result<(), SourceError> {
        let present = answer.header.revision;
        if present < self.oldest {
            return Err(too_large(present, self.oldest));
        }
        self.meet(answer.header.cluster_id)?;
        let revision = match self.place.at {
            ReadAt::Revision(revision) => revision,
            ReadAt::MostRecent | ReadAt::AtHand => present,
        };
        self.place.at = ReadAt::Revision(revision);
        if let Some(last) = answer.key_values.last() {
            self.place.after = Some(last.key.clone());
        }
        let read = u32::try_from(answer.key_values.len()).unwrap_or(u32::MAX);
        self.room = self.room.map(|room| room.saturating_sub(read));
        let full = self.room == Some(0);
        if !answer.more || full {
            let after = self.place.after.as_ref().filter(|_| answer.more);
            self.end = Some(ListEnd {
                version: Some(Version::Number(revision)),
                continue_token: after.map(|key| Place::token(revision, key)),
            });
        }
        Ok(())
    }

    /// A list that begins may be from any cluster; one that goes on has to stay with its own.
    fn meet(&self, cluster: u64) -> Result<(), SourceError> {
        if self.place.after.is_some() {
            return self.keys.check_cluster(cluster);
        }
        *self.keys.cluster.lock() = Some(cluster);
        Ok(())
    }
}

impl ListStream for EtcdList {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        Box::pin(self.read())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_place() {
        let place = Place::parse(&Place::token(7, b"p/\xff.")).unwrap();
        assert_eq!(place.at, ReadAt::Revision(7));
        assert_eq!(place.after.as_deref(), Some(&b"p/\xff."[..]));
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for token in ["", "7", "0.YQ", "-1.YQ", "7.=", "x.YQ"] {
            let parsed = Place::parse(token);
            assert!(
                matches!(parsed, Err(SourceError::Refused { code: 400, .. })),
                "{token}"
            );
        }
    }
}
