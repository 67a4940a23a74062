//! What readers and followers hold: one moment of the store, which nothing changes any more.

use std::{collections::VecDeque, sync::Arc};

use super::{base::Base, error::OpenError, past::PastReader, segment::Segment, state::State};
use crate::{Page, Read, ReadError, Revision};

/// The store at one moment.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) state: State,
    pub(crate) files: Arc<Files>,
}

/// The files that hold everything since the floor. They stay readable while somebody has them.
pub(crate) struct Files {
    pub(crate) base: Arc<Base>,
    /// In order; the last one is being written.
    pub(crate) segments: VecDeque<Arc<Segment>>,
}

impl Snapshot {
    /// The newest revision.
    pub(crate) fn revision(&self) -> Revision {
        self.state.revision
    }

    /// The oldest revision that can be read.
    pub(crate) fn floor(&self) -> Revision {
        self.files.base.header.revision
    }

    /// The revision that a read is at.
    pub(crate) fn revision_of(&self, read: &Read) -> Result<Revision, ReadError> {
        let (oldest, newest) = (self.floor(), self.revision());
        match read.at.unwrap_or(newest) {
            requested if requested > newest => Err(ReadError::Future { requested, newest }),
            requested if requested < oldest => Err(ReadError::Compacted { requested, oldest }),
            requested => Ok(requested),
        }
    }

    /// Reads the newest state, without the disk.
    pub(crate) fn read_newest(&self, read: &Read) -> Page {
        let mut range = self.state.range(&read.range);
        let limit = read.limit.unwrap_or(usize::MAX);
        let found = range.by_ref().take(limit);
        Page {
            revision: self.revision(),
            entries: found.map(|(key, stored)| stored.entry(key)).collect(),
            remaining: range.count(),
        }
    }

    /// Reads the state at a revision that is kept; takes values of the past from the disk.
    pub(crate) fn read_at(&self, read: &Read, at: Revision) -> Result<Page, OpenError> {
        let mut range = self.state.range_at(&read.range, at);
        let limit = read.limit.unwrap_or(usize::MAX);
        let found = range.by_ref().take(limit);
        let mut past = PastReader::new(&self.files);
        let entries = found.map(|(key, version)| past.entry(key, &version));
        Ok(Page {
            revision: at,
            entries: entries.collect::<Result<_, _>>()?,
            remaining: range.count(),
        })
    }
}

impl Files {
    /// The segment with a number, which a place has named.
    pub(crate) fn segment(&self, sequence: u64) -> &Segment {
        let first = self.segments[0].sequence;
        let index = usize::try_from(sequence - first).expect("a segment for each place");
        &self.segments[index]
    }

    /// The index of the segment that holds a revision, or will.
    pub(crate) fn segment_with(&self, revision: Revision) -> usize {
        let after = self.segments.partition_point(|one| one.first <= revision);
        after.saturating_sub(1)
    }
}
