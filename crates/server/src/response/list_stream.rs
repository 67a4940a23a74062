//! A list from its head to its end, made of stored bytes while it is sent.

use std::sync::Arc;

use jiff::Timestamp;
use listwatch_api::ContinueToken;
use prometheus_client::metrics::counter::Counter;

use super::{
    format::{Format, ListWriter},
    partial_metadata::ListMetadata,
};
use crate::watch_cache::{CachedObject, Interest, Snapshot, resource_version};

/// Bytes that are made and sent together.
const CHUNK_BYTES: usize = 128 * 1024;

/// Part of a collection at one moment.
pub(crate) struct ListPage {
    snapshot: Snapshot,
    extent: Extent,
    continue_token: Option<String>,
    remaining: Option<u64>,
}

/// Which objects are on a page.
enum Extent {
    /// These.
    Some(Vec<Arc<CachedObject>>),
    /// All of interest from a key on, found while they are sent.
    Rest { interest: Interest, start: Vec<u8> },
}

impl ListPage {
    /// The page of a snapshot that begins at a key and has at most `limit` objects.
    ///
    /// `prefix` is the beginning of the collection's keys, which tokens leave out.
    pub(crate) fn cut(
        snapshot: Snapshot,
        interest: Interest,
        (prefix, start): (&str, Vec<u8>),
        limit: Option<usize>,
    ) -> Self {
        let Some(limit) = limit else {
            let extent = Extent::Rest { interest, start };
            return Self {
                snapshot,
                extent,
                continue_token: None,
                remaining: None,
            };
        };
        let mut selected = snapshot.select(&interest, &start);
        let objects: Vec<_> = selected.by_ref().take(limit).cloned().collect();
        let has_more = selected.next().is_some();
        drop(selected);
        let last = objects.last().filter(|_| has_more);
        let counts = interest.labels.is_everything() && interest.fields.is_everything();
        let remaining = last.filter(|_| counts).map(|object| {
            let after = [object.key().as_bytes(), b"\0"].concat();
            snapshot.count(&interest.area, &after) as u64
        });
        let continue_token = last.map(|object| {
            let below = String::from_utf8_lossy(&object.key().as_bytes()[prefix.len()..]);
            ContinueToken::after(&below, resource_version(snapshot.revision())).encode()
        });
        Self {
            snapshot,
            extent: Extent::Some(objects),
            continue_token,
            remaining,
        }
    }

    /// All objects of the page.
    pub(crate) fn objects(&self) -> Vec<Arc<CachedObject>> {
        match &self.extent {
            Extent::Some(objects) => objects.clone(),
            Extent::Rest { interest, start } => {
                self.snapshot.select(interest, start).cloned().collect()
            }
        }
    }
}

/// Writes a page in pieces.
pub(crate) struct ListStream {
    page: ListPage,
    writer: Option<ListWriter>,
    /// How many objects of a page with a limit have been written.
    written: usize,
    counter: Counter,
}

impl ListStream {
    /// A stream of the page, and its first piece.
    pub(crate) fn begin(
        page: ListPage,
        format: &Format,
        (now, counter): (Timestamp, Counter),
    ) -> (Self, Vec<u8>) {
        let mut buffer = Vec::with_capacity(4 * 1024);
        let metadata = ListMetadata {
            resource_version: resource_version(page.snapshot.revision()),
            continue_token: page.continue_token.as_deref(),
            remaining_item_count: page.remaining,
        };
        let writer = format.begin_list(&metadata, now, &mut buffer);
        let mut stream = Self {
            page,
            writer: Some(writer),
            written: 0,
            counter,
        };
        stream.fill(&mut buffer);
        (stream, buffer)
    }

    /// Whether everything has been written.
    pub(crate) fn is_complete(&self) -> bool {
        self.writer.is_none()
    }

    /// The next piece; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.writer.as_ref()?;
        let mut buffer = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        self.fill(&mut buffer);
        Some(buffer)
    }

    /// Appends objects until the piece is large enough or none is left.
    fn fill(&mut self, buffer: &mut Vec<u8>) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let mut append = |object: &CachedObject, buffer: &mut Vec<u8>| {
            writer.item(object.stored(), resource_version(object.revision()), buffer);
            self.counter.inc();
        };
        match &mut self.page.extent {
            Extent::Some(objects) => {
                while let Some(object) = objects.get(self.written) {
                    append(object, buffer);
                    self.written += 1;
                    if buffer.len() >= CHUNK_BYTES {
                        return;
                    }
                }
            }
            Extent::Rest { interest, start } => {
                for object in self.page.snapshot.select(interest, start) {
                    append(object, buffer);
                    if buffer.len() >= CHUNK_BYTES {
                        *start = [object.key().as_bytes(), b"\0"].concat();
                        return;
                    }
                }
            }
        }
        if let Some(writer) = self.writer.take() {
            writer.end(buffer);
        }
    }
}
