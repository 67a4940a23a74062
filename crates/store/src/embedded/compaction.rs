//! Moves the floor: writes the state there as a new base, then removes the files before it. Commits
//! go on meanwhile.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    base::{Base, BaseEntry, BaseHeader, BaseWriter, NEW_BASE_NAME, base_name},
    error::OpenError,
    past::PastReader,
    segment::segment_name,
    snapshot::{Files, Snapshot},
    state::Version,
};
use crate::{CommitError, KeyRange, Revision, disk::Disk};

/// Why the floor stays where it is. Nothing is lost.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompactionError {
    #[error("the new base cannot be written: {0}")]
    Write(#[from] io::Error),
    #[error("the past cannot be read: {0}")]
    Read(#[from] OpenError),
    #[error("the store is being closed")]
    Closing,
}

impl From<CompactionError> for CommitError {
    fn from(error: CompactionError) -> Self {
        let reason = error.to_string();
        match error {
            CompactionError::Write(error) if error.kind() == io::ErrorKind::StorageFull => {
                Self::Full { reason }
            }
            _ => Self::Unavailable { reason },
        }
    }
}

/// Writes the state at `floor` as a base, durably.
pub(crate) fn write_base(
    disk: &dyn Disk,
    snapshot: &Snapshot,
    floor: Revision,
    closing: &AtomicBool,
) -> Result<Base, CompactionError> {
    let files = &snapshot.files;
    let next = &files.segments[files.segment_with(floor.next())];
    let header = BaseHeader {
        identity: files.base.header.identity,
        revision: floor,
        log_sequence: next.sequence,
    };
    let written = write_entries(disk, snapshot, header, closing);
    if written.is_err() {
        // What is left of it would be removed at the next opening.
        let _ = disk.remove(NEW_BASE_NAME);
    }
    written
}

fn write_entries(
    disk: &dyn Disk,
    snapshot: &Snapshot,
    header: BaseHeader,
    closing: &AtomicBool,
) -> Result<Base, CompactionError> {
    let mut base = BaseWriter::begin(disk, header)?;
    let mut past = PastReader::new(&snapshot.files);
    for (key, version) in snapshot.state.range_at(&KeyRange::all(), header.revision) {
        if closing.load(Ordering::Relaxed) {
            return Err(CompactionError::Closing);
        }
        let entry = past.entry(key, &version)?;
        // A version of the past ended by a change that the log still has.
        let end = match &version {
            Version::Current(stored) => stored.end,
            Version::Past { .. } => None,
        };
        base.push(&BaseEntry {
            key: key.as_bytes(),
            revision: entry.revision,
            value: &entry.value,
            end,
        })?;
    }
    Ok(base.finish()?)
}

/// Removes the files that were needed before and are no longer.
pub(crate) fn remove_old(disk: &dyn Disk, before: &Files, base: &BaseHeader) -> io::Result<()> {
    let segments = before.segments.iter();
    let segments = segments.filter(|segment| segment.sequence < base.log_sequence);
    let names = segments.map(|segment| segment_name(segment.sequence));
    let old_base = base_name(before.base.header.revision);
    for name in names.chain([old_base]) {
        disk.remove(&name)?;
    }
    Ok(())
}
