//! From files to a running store: finds them, judges them, and replays the log over the base.

use std::{io, sync::Arc};

use super::{
    base::{Base, BaseHeader, BaseWriter, NEW_BASE_NAME, base_name, base_revision},
    error::OpenError,
    log::{Log, LogParts, NEW_SEGMENT_NAME},
    options::EmbeddedOptions,
    recovery::Recovery,
    segment::{HEADER_BYTES, Segment, Step, segment_name, segment_sequence},
    snapshot::Files,
    state::State,
    writer::Writer,
};
use crate::{
    Revision,
    disk::{Disk, DiskLock, LOCK_NAME},
};

/// What a file system leaves in an empty directory.
const LOST_AND_FOUND: &str = "lost+found";

/// A store that is ready to be written, and the lock that keeps others out.
pub(crate) struct Opened {
    pub(crate) lock: DiskLock,
    pub(crate) writer: Writer,
}

/// What may be found on the disk, and what is made of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// A store, or nothing: then a new one is made.
    StoreOrNothing,
    /// A store.
    Store,
    /// Nothing, or a store that was never written: a new one is made, whose first commit comes
    /// after this revision.
    NothingWritten(Revision),
}

/// Opens the store on a disk, or makes a new one.
pub(crate) fn open(
    disk: &Arc<dyn Disk>,
    options: &EmbeddedOptions,
    wanted: Wanted,
    new_identity: u64,
) -> Result<Opened, OpenError> {
    let no_store = || OpenError::NoStore {
        directory: disk.path(""),
    };
    // Before the lock, whose file would be left behind in somebody's directory.
    if matches!(wanted, Wanted::Store) && Found::on(&**disk)?.is_nothing() {
        return Err(no_store());
    }
    let lock = lock(&**disk)?;
    let found = Found::on(&**disk)?;
    let writer = match (found.newest_base(&**disk)?, wanted) {
        (Some(base), Wanted::StoreOrNothing | Wanted::Store) => {
            open_existing(disk, options, &found, base)?
        }
        (Some(base), Wanted::NothingWritten(after)) => {
            found.remove_unwritten(&**disk, base)?;
            make_new(disk, options, new_identity, after)?
        }
        (None, Wanted::NothingWritten(after)) => make_new(disk, options, new_identity, after)?,
        (None, Wanted::StoreOrNothing) => make_new(disk, options, new_identity, Revision::ZERO)?,
        (None, Wanted::Store) => return Err(no_store()),
    };
    Ok(Opened { lock, writer })
}

fn lock(disk: &dyn Disk) -> Result<DiskLock, OpenError> {
    disk.lock().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenError::InUse {
            directory: disk.path(""),
        },
        _ => OpenError::io(disk, LOCK_NAME)(error),
    })
}

/// The log comes first: a base without a log would look like a store that has lost everything.
fn make_new(
    disk: &Arc<dyn Disk>,
    options: &EmbeddedOptions,
    identity: u64,
    after: Revision,
) -> Result<Writer, OpenError> {
    let header = BaseHeader {
        identity,
        revision: after,
        log_sequence: 1,
    };
    let parts = LogParts::new(disk, options, identity);
    let log = Log::begin(parts, header.log_sequence, after.next());
    let log = log.map_err(OpenError::io(&**disk, &segment_name(header.log_sequence)))?;
    let base = BaseWriter::begin(&**disk, header).and_then(BaseWriter::finish);
    let base = base.map_err(OpenError::io(&**disk, &base_name(header.revision)))?;
    let files = Files {
        base: Arc::new(base),
        segments: [Arc::clone(log.active())].into(),
    };
    let mut state = State::default();
    state.revision = after;
    Ok(Writer::new(log, state, files.into(), options.tail_bytes))
}

fn open_existing(
    disk: &Arc<dyn Disk>,
    options: &EmbeddedOptions,
    found: &Found,
    revision: Revision,
) -> Result<Writer, OpenError> {
    let mut state = State::default();
    state.revision = revision;
    let base = Base::open(&**disk, revision, |entry| state.load(&entry))?;
    let recovery = Recovery::replay(&**disk, base, state, &found.segments)?;
    // Names that only the last process could see must be durable before others are removed.
    let synced = disk.sync_names();
    synced.map_err(OpenError::io(&**disk, ""))?;
    found.remove_leftovers(&**disk, recovery.base())?;
    recovery.into_writer(disk, options)
}

/// The files of a store, by their names.
struct Found {
    bases: Vec<Revision>,
    segments: Vec<u64>,
    unfinished: Vec<String>,
    others: Vec<String>,
}

impl Found {
    fn on(disk: &dyn Disk) -> Result<Self, OpenError> {
        let mut found = Self {
            bases: Vec::new(),
            segments: Vec::new(),
            unfinished: Vec::new(),
            others: Vec::new(),
        };
        for name in disk.list().map_err(OpenError::io(disk, ""))? {
            if let Some(revision) = base_revision(&name) {
                found.bases.push(revision);
            } else if let Some(sequence) = segment_sequence(&name) {
                found.segments.push(sequence);
            } else if name == NEW_BASE_NAME || name == NEW_SEGMENT_NAME {
                found.unfinished.push(name);
            } else if name != LOCK_NAME && name != LOST_AND_FOUND && !name.starts_with('.') {
                found.others.push(name);
            }
        }
        found.bases.sort_unstable();
        found.segments.sort_unstable();
        found.others.sort_unstable();
        Ok(found)
    }

    /// The base to begin with; `None` where a new store may be made.
    fn newest_base(&self, disk: &dyn Disk) -> Result<Option<Revision>, OpenError> {
        if let Some(newest) = self.bases.last() {
            return Ok(Some(*newest));
        }
        match self.segments.as_slice() {
            [] => self.check_empty(disk)?,
            [1] if is_without_records(disk, 1)? => {}
            _ => {
                return Err(OpenError::Missing {
                    file: disk.path("base-*"),
                });
            }
        }
        Ok(None)
    }

    /// Whether there is nothing of a store.
    fn is_nothing(&self) -> bool {
        self.bases.is_empty() && self.segments.is_empty()
    }

    /// Removes a store that was never written. Its base goes first, and durably: a log without
    /// records and without a base is where a new store may be made.
    fn remove_unwritten(&self, disk: &dyn Disk, base: Revision) -> Result<(), OpenError> {
        let mut entries = 0;
        let opened = Base::open(disk, base, |_| entries += 1)?;
        let first = opened.header.log_sequence;
        let written = entries > 0 || self.segments != [first] || !is_without_records(disk, first)?;
        if written || first != 1 || self.bases != [base] {
            let directory = disk.path("");
            return Err(OpenError::AlreadyWritten { directory });
        }
        let name = base_name(base);
        disk.remove(&name).map_err(OpenError::io(disk, &name))?;
        disk.sync_names().map_err(OpenError::io(disk, ""))
    }

    fn check_empty(&self, disk: &dyn Disk) -> Result<(), OpenError> {
        match self.others.first() {
            None => Ok(()),
            Some(found) => Err(OpenError::NotAStore {
                directory: disk.path(""),
                found: found.clone(),
            }),
        }
    }

    /// Removes what was about to be removed, or was never finished, when the last process ended.
    fn remove_leftovers(&self, disk: &dyn Disk, base: &BaseHeader) -> Result<(), OpenError> {
        let bases = self.bases.iter().filter(|one| **one < base.revision);
        let segments = self.segments.iter();
        let segments = segments.filter(|one| **one < base.log_sequence);
        let names = bases.map(|revision| base_name(*revision));
        let names = names.chain(segments.map(|sequence| segment_name(*sequence)));
        for name in names.chain(self.unfinished.iter().cloned()) {
            disk.remove(&name).map_err(OpenError::io(disk, &name))?;
        }
        Ok(())
    }
}

/// Whether a segment holds nothing: the making of a store ended before its base was there.
fn is_without_records(disk: &dyn Disk, sequence: u64) -> Result<bool, OpenError> {
    let segment = Segment::open(disk, sequence)?;
    let mut reader = segment.read_from(HEADER_BYTES)?;
    Ok(matches!(reader.next()?, Step::End { .. }))
}
