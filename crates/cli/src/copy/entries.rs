//! The objects of two stores side by side, page by page, in the order of their keys.

use std::{cmp::Ordering, vec};

use listwatch_store::{Entry, Key, KeyRange, Read, ReadError, Revision, Store};

use super::{
    marker::MARKER_KEY,
    patience::{Waiting, patiently},
};

/// Everything that belongs to Kubernetes' layout.
pub(crate) const REGISTRY: &str = "/registry/";

/// Entries of the first page, before anything is known about their size.
const FIRST_PAGE_ENTRIES: usize = 100;

/// Bytes that a page should have. The next one is asked for with fewer entries when one has more.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The entries of one store from a key on, in order. Holds one page.
pub(crate) struct Entries<'a> {
    store: &'a dyn Store,
    waiting: &'a Waiting,
    at: Option<Revision>,
    page: vec::IntoIter<Entry>,
    page_entries: usize,
    page_entries_max: usize,
    rest: Rest,
}

/// What has not been read yet.
enum Rest {
    /// This range, of which nothing is known.
    Unknown(KeyRange),
    /// This range, which holds so many entries.
    Known(KeyRange, usize),
}

impl<'a> Entries<'a> {
    /// The entries after a key, or all, at a revision, or as they are when their page is read.
    pub(crate) fn new(store: &'a dyn Store, waiting: &'a Waiting, at: Option<Revision>) -> Self {
        Self {
            store,
            waiting,
            at,
            page: Vec::new().into_iter(),
            page_entries: FIRST_PAGE_ENTRIES,
            page_entries_max: FIRST_PAGE_ENTRIES,
            rest: Rest::Unknown(KeyRange::prefix(REGISTRY)),
        }
    }

    /// The same, begun after a key.
    #[must_use]
    pub(crate) fn after(mut self, key: Option<&Key>) -> Self {
        if let Some(key) = key {
            self.rest = Rest::Unknown(range_after(key));
        }
        self
    }

    /// The same with pages of so many entries at the most.
    #[must_use]
    pub(crate) fn pages_of(mut self, entries_max: usize) -> Self {
        self.page_entries = self.page_entries.min(entries_max);
        self.page_entries_max = entries_max;
        self
    }

    /// The next entry, which [`Entries::take`] takes.
    async fn peek(&mut self) -> Result<Option<&Entry>, ReadError> {
        loop {
            let marker = |entry: &Entry| entry.key.as_bytes() == MARKER_KEY.as_bytes();
            if self.page.as_slice().first().is_some_and(marker) {
                self.page.next();
            }
            if !self.page.as_slice().is_empty() || !self.read_page().await? {
                return Ok(self.page.as_slice().first());
            }
        }
    }

    fn take(&mut self) -> Option<Entry> {
        self.page.next()
    }

    /// How many entries are still to come.
    pub(crate) async fn count(&mut self) -> Result<usize, ReadError> {
        self.peek().await?;
        let unread = match self.rest {
            Rest::Unknown(_) => 0,
            Rest::Known(_, entries) => entries,
        };
        Ok(self.page.as_slice().len() + unread)
    }

    /// Reads on; false at the end.
    async fn read_page(&mut self) -> Result<bool, ReadError> {
        let range = match &self.rest {
            Rest::Known(_, 0) => return Ok(false),
            Rest::Unknown(range) | Rest::Known(range, _) => range,
        };
        let mut read = Read::newest(range.clone()).limit(self.page_entries);
        read.at = self.at;
        let page = read_patiently(self.store, self.waiting, &read).await?;
        let Some(last) = page.entries.last() else {
            self.rest = Rest::Known(read.range, 0);
            return Ok(false);
        };
        let bytes: usize = page.entries.iter().map(bytes_of).sum();
        let fitting = page.entries.len() * PAGE_BYTES / bytes.max(1);
        let slowly = self.page_entries * 2;
        self.page_entries = fitting.min(slowly).clamp(1, self.page_entries_max);
        self.rest = Rest::Known(range_after(&last.key), page.remaining);
        self.page = page.entries.into_iter();
        Ok(true)
    }
}

/// One key in two stores; at least one of them has it.
pub(crate) struct Pair {
    pub(crate) source: Option<Entry>,
    pub(crate) target: Option<Entry>,
}

/// Which of the two stores could not be read, and why.
pub(crate) enum PairError {
    Source(ReadError),
    Target(ReadError),
}

/// Two stores side by side.
///
/// ```text
/// source a c d, target b c:   (a, -) (-, b) (c, c) (d, -)
/// ```
pub(crate) struct Pairs<'a> {
    pub(crate) source: Entries<'a>,
    pub(crate) target: Entries<'a>,
}

impl Pairs<'_> {
    /// The next key that one of the stores has.
    pub(crate) async fn next(&mut self) -> Result<Option<Pair>, PairError> {
        let source = self.source.peek().await.map_err(PairError::Source)?;
        let target = self.target.peek().await.map_err(PairError::Target)?;
        let order = match (source, target) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(source), Some(target)) => source.key.cmp(&target.key),
        };
        let source = order.is_le().then(|| self.source.take()).flatten();
        let target = order.is_ge().then(|| self.target.take()).flatten();
        Ok(Some(Pair { source, target }))
    }
}

/// Reads, and tries again while the store is busy or away.
pub(crate) async fn read_patiently(
    store: &dyn Store,
    waiting: &Waiting,
    read: &Read,
) -> Result<listwatch_store::Page, ReadError> {
    let passing = |error: &ReadError| match error {
        ReadError::Overloaded { .. } | ReadError::Unavailable { .. } => true,
        ReadError::Compacted { .. } | ReadError::Future { .. } => false,
    };
    patiently(waiting, passing, async || store.read(read.clone()).await).await
}

/// The size of a key and its value.
pub(crate) fn bytes_of(entry: &Entry) -> usize {
    entry.key.as_bytes().len() + entry.value.len()
}

fn range_after(key: &Key) -> KeyRange {
    let mut next = key.as_bytes().to_vec();
    next.push(0);
    KeyRange::prefix(REGISTRY).starting_at(next)
}
