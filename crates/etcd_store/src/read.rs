//! Ranges at one revision, in pages that etcd and the network take well.

use listwatch_etcd::{Content, Error, KeyRange, KeyValue, Range, RangeAnswer, ReadAt};
use listwatch_store::{Entry, Page, Read, ReadError, pack};

use crate::{cluster::Cluster, failure::read_error, own_keys};

/// Entries of the first page that is asked for.
const FIRST_PAGE_ENTRIES: usize = 500;
/// Entries of a page, at the most.
const PAGE_ENTRIES_MAX: usize = 5_000;
/// What a page should have, in bytes, judged by the one before.
const PAGE_BYTES: usize = 8 << 20;
/// How often a read of the newest state begins anew when it is compacted away under its hands.
const ATTEMPTS_MAX: u32 = 5;

/// Reads as [`listwatch_store::Store::read`] promises.
pub(crate) async fn read(cluster: &Cluster, read: Read) -> Result<Page, ReadError> {
    let reading = Reading {
        cluster,
        keys: cluster.mount.stored_range(&read.range),
        limit: read.limit.unwrap_or(usize::MAX),
    };
    let Some(requested) = read.at else {
        return reading.read_newest().await;
    };
    let compacted = |oldest: u64| ReadError::Compacted {
        requested,
        oldest: cluster.revision(oldest),
    };
    let kept = cluster.number(requested);
    let Some(number) = kept.filter(|number| *number >= cluster.oldest()) else {
        return Err(compacted(cluster.oldest()));
    };
    loop {
        return match reading.read_at(ReadAt::Revision(number)).await {
            Ok(page) => Ok(page),
            Err(Error::Compacted { .. }) => Err(compacted(cluster.find_oldest().await)),
            Err(Error::FutureRevision) => {
                let newest = cluster.newest().await.map_err(read_error)?;
                if newest >= number {
                    continue;
                }
                let newest = cluster.revision(newest);
                Err(ReadError::Future { requested, newest })
            }
            Err(error) => Err(read_error(error)),
        };
    }
}

/// The entry that etcd tells of; `None` if it is none of the store's.
pub(crate) fn entry(cluster: &Cluster, found: &KeyValue) -> Option<Entry> {
    Some(Entry {
        key: cluster.mount.known(&found.key)?,
        revision: cluster.revision(found.mod_revision),
        // What comes is a slice of a page, and must not keep all of that in memory.
        value: pack(&found.value),
    })
}

struct Reading<'a> {
    cluster: &'a Cluster,
    /// `None` for keys that cannot be there: only the revision is of interest.
    keys: Option<KeyRange>,
    limit: usize,
}

impl Reading<'_> {
    async fn read_newest(&self) -> Result<Page, ReadError> {
        let mut attempt = 1;
        loop {
            match self.read_at(ReadAt::MostRecent).await {
                Err(Error::Compacted { .. }) if attempt < ATTEMPTS_MAX => attempt += 1,
                result => return result.map_err(read_error),
            }
        }
    }

    async fn read_at(&self, at: ReadAt) -> Result<Page, Error> {
        let mut limit = self.limit.min(FIRST_PAGE_ENTRIES);
        let nothing = || KeyRange::one(self.cluster.mount.own(own_keys::NOTHING));
        let mut keys = self.keys.clone().unwrap_or_else(nothing);
        let first = self.ask(&keys, limit, at).await?;
        let number = match at {
            ReadAt::Revision(number) => number,
            ReadAt::MostRecent | ReadAt::AtHand => first.header.revision,
        };
        let total = usize::try_from(first.count).unwrap_or(usize::MAX);
        let mut entries = Vec::with_capacity(self.limit.min(total));
        let mut answer = first;
        loop {
            let found = answer.key_values.iter();
            entries.extend(found.filter_map(|found| entry(self.cluster, found)));
            let last = answer.key_values.last();
            let Some(last) = last.filter(|_| answer.more && entries.len() < self.limit) else {
                break;
            };
            keys = keys.after(&last.key);
            limit = next_limit(&answer).min(self.limit - entries.len());
            answer = self.ask(&keys, limit, ReadAt::Revision(number)).await?;
        }
        Ok(Page {
            revision: self.cluster.revision(number),
            remaining: total.saturating_sub(entries.len()),
            entries,
        })
    }

    async fn ask(&self, keys: &KeyRange, limit: usize, at: ReadAt) -> Result<RangeAnswer, Error> {
        let range = Range {
            keys: keys.clone(),
            limit: u32::try_from(limit).ok().filter(|limit| *limit > 0),
            at,
            content: match limit {
                0 => Content::Count,
                _ => Content::KeysAndValues,
            },
        };
        self.cluster.ask(self.cluster.client.range(range)).await
    }
}

/// How many entries the next page should have, judged by this one.
fn next_limit(answer: &RangeAnswer) -> usize {
    let entries = answer.key_values.len().max(1);
    let bytes: usize = answer
        .key_values
        .iter()
        .map(|found| found.value.len())
        .sum();
    let average = (bytes / entries).max(1);
    (PAGE_BYTES / average).clamp(1, PAGE_ENTRIES_MAX)
}
