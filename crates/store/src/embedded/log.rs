//! The writing end of the log: appends groups of records, and goes on in the next file when one is
//! full. Knows which files hold how much, and of when, so that it can say what is due to go.

use std::{
    collections::VecDeque,
    io,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use super::{
    disk_work::DiskWork,
    options::EmbeddedOptions,
    segment::{HEADER_BYTES, Segment, segment_name},
    state::Place,
};
use crate::{
    Revision,
    disk::{Disk, DiskFile},
};

/// The name of the next segment's file while it is being filled with zeros.
pub(crate) const NEW_SEGMENT_NAME: &str = "log.new";

/// A run begins with a segment this many times smaller than the largest, so that it begins quickly;
/// each next one is four times as large.
const FIRST_SEGMENT_PART: u32 = 64;

static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// Why nothing was appended.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// There is no room; nothing was written.
    Full(io::Error),
    /// Nothing was written; the next attempt may succeed.
    NotNow(io::Error),
    /// Nobody knows what was written: nothing may be appended any more.
    Broken(io::Error),
}

/// Where records are appended.
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    work: DiskWork,
    identity: u64,
    segment_bytes_max: u32,
    active: Arc<Segment>,
    /// Where the next record goes.
    position: u32,
    /// How much of the active segment may be filled.
    capacity: u32,
    sealed: VecDeque<Sealed>,
    /// The time of the newest record.
    time: u64,
    spare: Arc<Spare>,
}

/// A segment that is full.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) last: Revision,
    pub(crate) bytes: u64,
    /// The time of its last record.
    pub(crate) time: u64,
}

/// What the log is made of when it is opened.
pub(crate) struct LogParts {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) work: DiskWork,
    pub(crate) identity: u64,
    pub(crate) segment_bytes_max: u32,
    pub(crate) sealed: VecDeque<Sealed>,
}

impl LogParts {
    /// A log without segments.
    pub(crate) fn new(disk: &Arc<dyn Disk>, options: &EmbeddedOptions, identity: u64) -> Self {
        Self {
            disk: Arc::clone(disk),
            work: options.disk_work,
            identity,
            segment_bytes_max: options.segment_bytes,
            sealed: VecDeque::new(),
        }
    }
}

/// How much of the log may be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    pub(crate) bytes_max: u64,
    pub(crate) age_max: Duration,
    /// Less than this is not worth a new base.
    pub(crate) worth_bytes: u64,
}

impl Log {
    /// Begins a new segment after those that are there.
    pub(crate) fn begin(parts: LogParts, sequence: u64, first: Revision) -> io::Result<Self> {
        let spare = Arc::new(Spare::new(Arc::clone(&parts.disk)));
        let capacity = (parts.segment_bytes_max / FIRST_SEGMENT_PART).max(2 * HEADER_BYTES);
        let disk = &*parts.disk;
        let file = spare.take(capacity)?;
        let segment = Segment::begin(disk, file, parts.identity, sequence, first)?;
        segment.sync()?;
        disk.rename(NEW_SEGMENT_NAME, &segment_name(sequence))?;
        disk.sync_names()?;
        Ok(Self {
            disk: parts.disk,
            work: parts.work,
            identity: parts.identity,
            segment_bytes_max: parts.segment_bytes_max,
            active: Arc::new(segment),
            position: HEADER_BYTES,
            capacity,
            sealed: parts.sealed,
            time: 0,
            spare,
        })
    }

    /// The segment that is being written.
    pub(crate) fn active(&self) -> &Arc<Segment> {
        &self.active
    }

    /// Where a record lies that stands at `offset` in the next group.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let sequence = u32::try_from(self.active.sequence).ok();
        Place {
            sequence: sequence
                .and_then(NonZeroU32::new)
                .expect("sequences begin at 1"),
            offset: self.position + u32::try_from(offset).expect("a group fits into a segment"),
        }
    }

    /// Has room for a group of this many bytes, which begins with revision `first`.
    pub(crate) fn make_room(&mut self, bytes: usize, first: Revision) -> Result<(), AppendError> {
        let bytes = u32::try_from(bytes).expect("a group is smaller than GROUP_BYTES_MAX");
        if self.capacity - self.position >= bytes {
            return Ok(());
        }
        let needed = HEADER_BYTES + bytes;
        match self.roll(self.next_capacity().max(needed), first) {
            // Where there is no room for a whole segment there may be for what is needed now.
            Err(AppendError::Full(_)) => self.roll(needed, first),
            rolled => rolled,
        }
    }

    fn next_capacity(&self) -> u32 {
        self.capacity.saturating_mul(4).min(self.segment_bytes_max)
    }

    fn roll(&mut self, capacity: u32, first: Revision) -> Result<(), AppendError> {
        let sequence = self.active.sequence + 1;
        let file = self.spare.take(capacity).map_err(not_written)?;
        let begun = Segment::begin(&*self.disk, file, self.identity, sequence, first);
        let segment = begun.and_then(|segment| segment.sync().map(|()| segment));
        let segment = segment.map_err(not_written)?;
        let renamed = self.disk.rename(NEW_SEGMENT_NAME, &segment_name(sequence));
        renamed.map_err(not_written)?;
        self.disk.sync_names().map_err(AppendError::Broken)?;
        self.sealed.push_back(Sealed {
            last: Revision::new(first.get() - 1),
            bytes: self.position.into(),
            time: self.time,
        });
        self.active = Arc::new(segment);
        self.position = HEADER_BYTES;
        self.capacity = capacity;
        Ok(())
    }

    /// Appends a group that there is room for, durably.
    pub(crate) fn append(
        &mut self,
        group: &[u8],
        first: Revision,
        time: u64,
    ) -> Result<(), AppendError> {
        if let Err(error) = self.active.write(group, self.position) {
            return Err(self.take_back(error));
        }
        self.active.sync().map_err(AppendError::Broken)?;
        self.active.mark(first, self.position);
        self.position += u32::try_from(group.len()).expect("there was room");
        self.time = self.time.max(time);
        self.prepare_next();
        Ok(())
    }

    /// Undoes a write that failed, so that no part of it can ever be read.
    fn take_back(&mut self, error: io::Error) -> AppendError {
        match self.active.cut(self.position) {
            Ok(()) => {
                self.capacity = self.position;
                not_written(error)
            }
            Err(error) => AppendError::Broken(error),
        }
    }

    /// Lets the next file be filled with zeros while there is still room in this one.
    fn prepare_next(&mut self) {
        if self.position > self.capacity / 2 && self.spare.wish() {
            let spare = Arc::clone(&self.spare);
            let capacity = self.next_capacity();
            let prepare = move || spare.prepare(capacity);
            self.work.start_if_possible(prepare);
        }
    }

    /// The revision up to which the log should be dropped by now.
    pub(crate) fn due(&self, keep: Keep, now: u64) -> Option<Revision> {
        let age_max = u64::try_from(keep.age_max.as_millis()).unwrap_or(u64::MAX);
        let is_old = |sealed: &&Sealed| sealed.time.saturating_add(age_max) < now;
        let old_bytes: u64 = self
            .sealed
            .iter()
            .take_while(is_old)
            .map(|one| one.bytes)
            .sum();
        if old_bytes >= keep.worth_bytes {
            return self
                .sealed
                .iter()
                .take_while(is_old)
                .last()
                .map(|one| one.last);
        }
        let bytes_max = keep.bytes_max.max(keep.worth_bytes);
        (self.bytes() > bytes_max).then(|| self.oldest_half())?
    }

    /// The revision up to which half of the log lies.
    pub(crate) fn oldest_half(&self) -> Option<Revision> {
        let mut left = self.bytes();
        let half = left / 2;
        let dropped = self.sealed.iter().take_while(|sealed| {
            let more = left > half;
            left -= sealed.bytes;
            more
        });
        dropped.last().map(|sealed| sealed.last)
    }

    /// How many bytes the log has.
    pub(crate) fn bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|sealed| sealed.bytes).sum();
        sealed + u64::from(self.position)
    }

    /// The files up to this revision are gone.
    pub(crate) fn dropped_through(&mut self, floor: Revision) {
        while self
            .sealed
            .front()
            .is_some_and(|sealed| sealed.last <= floor)
        {
            self.sealed.pop_front();
        }
    }

    /// Ends the log: gives back the room that was not used.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.capacity = self.position;
        self.active.cut(self.position)?;
        self.spare.discard();
        Ok(())
    }
}

fn not_written(error: io::Error) -> AppendError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => AppendError::Full(error),
        _ => AppendError::NotNow(error),
    }
}

/// The file that will be the next segment.
struct Spare {
    disk: Arc<dyn Disk>,
    wished: AtomicBool,
    /// Held while the file is being filled, so that whoever needs it waits for it.
    file: Mutex<SpareState>,
}

enum SpareState {
    None,
    Ready(SpareFile),
    /// Nothing may be written any more.
    Closed,
}

struct SpareFile {
    file: Box<dyn DiskFile>,
    bytes: u32,
}

impl Spare {
    fn new(disk: Arc<dyn Disk>) -> Self {
        Self {
            disk,
            wished: AtomicBool::new(false),
            file: Mutex::new(SpareState::None),
        }
    }

    /// True for the first wish since the last file was taken.
    fn wish(&self) -> bool {
        !self.wished.swap(true, Ordering::AcqRel)
    }

    fn prepare(&self, bytes: u32) {
        let mut held = self.file.lock();
        // Who could not wait has made a file of the same name, which may not have its own yet.
        if !self.wished.load(Ordering::Acquire) {
            return;
        }
        // When it fails, whoever takes it tries again, and has somebody to tell.
        if let SpareState::None = *held
            && let Ok(spare) = self.filled(None, bytes)
        {
            *held = SpareState::Ready(spare);
        }
    }

    /// A file of at least this many zeros, durable but for its name.
    fn take(&self, bytes: u32) -> io::Result<Box<dyn DiskFile>> {
        let mut held = self.file.lock();
        let spare = match std::mem::replace(&mut *held, SpareState::None) {
            SpareState::Ready(spare) => Some(spare),
            SpareState::None | SpareState::Closed => None,
        };
        let filled = self.filled(spare, bytes)?;
        self.wished.store(false, Ordering::Release);
        Ok(filled.file)
    }

    fn filled(&self, spare: Option<SpareFile>, bytes: u32) -> io::Result<SpareFile> {
        let mut spare = match spare {
            Some(spare) => spare,
            None => SpareFile {
                file: self.disk.create(NEW_SEGMENT_NAME)?,
                bytes: 0,
            },
        };
        let filled = spare.fill(bytes);
        if let Err(error) = filled {
            // Room that nobody can use is given back; a name that stays does no harm.
            let _ = spare.file.set_length(0);
            let _ = self.disk.remove(NEW_SEGMENT_NAME);
            return Err(error);
        }
        Ok(spare)
    }

    fn discard(&self) {
        let spare = std::mem::replace(&mut *self.file.lock(), SpareState::Closed);
        if let SpareState::Ready(_) = spare {
            // Otherwise it is removed at the next opening.
            let _ = self.disk.remove(NEW_SEGMENT_NAME);
        }
    }
}

impl SpareFile {
    fn fill(&mut self, bytes: u32) -> io::Result<()> {
        if self.bytes >= bytes {
            return Ok(());
        }
        while self.bytes < bytes {
            let zeros = &ZEROS[..ZEROS.len().min((bytes - self.bytes) as usize)];
            self.file.write_at(zeros, self.bytes.into())?;
            self.bytes += zeros.len() as u32;
        }
        self.file.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Directory;

    #[test]
    fn a_wish_that_is_heard_late_leaves_the_file_alone_that_was_taken_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let spare = Spare::new(Arc::new(Directory::create(directory.path()).unwrap()));
        assert!(spare.wish());
        let taken = spare.take(100).unwrap();
        taken.write_at(b"header", 0).unwrap();
        spare.prepare(100);
        let mut bytes = [0; 6];
        taken.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"header");
    }
}
