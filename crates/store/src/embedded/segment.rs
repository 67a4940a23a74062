//! One file of the log: a header, then records, then zeros.

use std::{io, path::PathBuf};

use bytes::{Buf, BufMut};
use parking_lot::Mutex;

use super::{
    error::OpenError,
    record::{ALIGNMENT, Found, Head, PREFIX_BYTES, Record, glimpse},
};
use crate::{
    Revision,
    disk::{Disk, DiskFile},
};

/// The room that the header takes up; the first record follows.
pub(crate) const HEADER_BYTES: u32 = 64;

const MAGIC: &[u8; 8] = b"LWLOG001";

/// How many bytes of log lie between two places that can be found without reading.
const MARK_DISTANCE_BYTES: u32 = 64 * 1024;

/// How much a reader reads at once.
const READ_BYTES: usize = 256 * 1024;

/// A part of the log, from one revision on.
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    /// The revision of its first record.
    pub(crate) first: Revision,
    pub(crate) identity: u64,
    path: PathBuf,
    seed: u32,
    file: Box<dyn DiskFile>,
    /// Where some of the revisions begin, in order.
    marks: Mutex<Vec<(Revision, u32)>>,
}

/// The name of a segment's file.
pub(crate) fn segment_name(sequence: u64) -> String {
    format!("log-{sequence:010}")
}

/// The number in the name of a segment's file.
pub(crate) fn segment_sequence(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?;
    digits.parse().ok().filter(|_| digits.len() == 10)
}

impl Segment {
    /// Makes a file of zeros the segment that begins with revision `first`. Not yet durable.
    pub(crate) fn begin(
        disk: &dyn Disk,
        file: Box<dyn DiskFile>,
        identity: u64,
        sequence: u64,
        first: Revision,
    ) -> io::Result<Self> {
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        header.put_slice(MAGIC);
        header.put_u64_le(identity);
        header.put_u64_le(sequence);
        header.put_u64_le(first.get());
        header.put_u32_le(crc32c::crc32c(&header));
        file.write_at(&header, 0)?;
        Ok(Self::new(disk, file, identity, sequence, first))
    }

    /// Opens a segment and checks its header.
    pub(crate) fn open(disk: &dyn Disk, sequence: u64) -> Result<Self, OpenError> {
        let name = segment_name(sequence);
        let file = disk.open(&name).map_err(OpenError::io(disk, &name))?;
        let mut header = [0; HEADER_BYTES as usize];
        match file.read_at(&mut header, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let reason = "it is too short for a header";
                return Err(OpenError::corrupt(disk.path(&name), 0, reason));
            }
            read => read.map_err(OpenError::io(disk, &name))?,
        }
        let mut rest = &header[MAGIC.len()..];
        let (identity, written, first) = (rest.get_u64_le(), rest.get_u64_le(), rest.get_u64_le());
        if !header.starts_with(MAGIC) {
            let reason = "it does not begin as a log of this version does";
            return Err(OpenError::foreign(disk, &name, reason));
        }
        if rest.get_u32_le() != crc32c::crc32c(&header[..32]) {
            let reason = "the checksum of the header is wrong";
            return Err(OpenError::corrupt(disk.path(&name), 0, reason));
        }
        if written != sequence {
            let reason = format!("it was written as {}", segment_name(written));
            return Err(OpenError::foreign(disk, &name, reason));
        }
        let first = Revision::new(first);
        Ok(Self::new(disk, file, identity, sequence, first))
    }

    fn new(
        disk: &dyn Disk,
        file: Box<dyn DiskFile>,
        identity: u64,
        sequence: u64,
        first: Revision,
    ) -> Self {
        let seed = crc32c::crc32c(&identity.to_le_bytes());
        Self {
            sequence,
            first,
            identity,
            path: disk.path(&segment_name(sequence)),
            seed: crc32c::crc32c_append(seed, &sequence.to_le_bytes()),
            file,
            marks: Mutex::new(vec![(first, HEADER_BYTES)]),
        }
    }

    /// What the checksums of its records begin with, so that no record of another file fits.
    pub(crate) fn seed(&self) -> u32 {
        self.seed
    }

    /// Writes records.
    pub(crate) fn write(&self, bytes: &[u8], offset: u32) -> io::Result<()> {
        self.file.write_at(bytes, offset.into())
    }

    /// Makes all written records durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Cuts off everything from `end`, durably.
    pub(crate) fn cut(&self, end: u32) -> io::Result<()> {
        self.file.set_length(end.into())?;
        self.file.sync()
    }

    /// Remembers where a revision begins, if the last place remembered is far enough away.
    pub(crate) fn mark(&self, revision: Revision, offset: u32) {
        let mut marks = self.marks.lock();
        let last = marks.last().map_or(0, |(_, offset)| *offset);
        if offset >= last + MARK_DISTANCE_BYTES {
            marks.push((revision, offset));
        }
    }

    /// Where to begin reading to come upon a revision.
    pub(crate) fn place_before(&self, revision: Revision) -> u32 {
        let marks = self.marks.lock();
        let after = marks.partition_point(|(marked, _)| *marked <= revision);
        marks[after.saturating_sub(1)].1
    }

    /// Reads records one after the other.
    pub(crate) fn read_from(&self, offset: u32) -> Result<SegmentReader<'_>, OpenError> {
        Ok(SegmentReader {
            segment: self,
            length: self.file.length().map_err(|error| self.failed(error))?,
            offset: offset.into(),
            buffer: Vec::new(),
            start: 0,
            read_bytes: READ_BYTES,
        })
    }

    /// The writes of the record at `offset`, checked.
    pub(crate) fn writes_at(&self, offset: u32) -> Result<Vec<u8>, OpenError> {
        let mut reader = self.read_from(offset)?;
        reader.read_bytes = 4096;
        match reader.next()? {
            Step::Record { record, .. } => Ok(record.encoded_writes().to_vec()),
            Step::End { .. } => Err(self.vanished(offset)),
        }
    }

    /// The error that something is gone that was found there before.
    pub(crate) fn vanished(&self, offset: u32) -> OpenError {
        let reason = "a record that was there before cannot be read";
        self.corrupt(offset.into(), reason)
    }

    /// Looks beyond the end of the records for one that proves `missing` to have been durable:
    /// then the end is no torn write, but damage. Returns its place.
    pub(crate) fn proof_after(
        &self,
        end: u32,
        missing: Revision,
    ) -> Result<Option<u64>, OpenError> {
        let length = self.file.length().map_err(|error| self.failed(error))?;
        let rest = length.saturating_sub(end.into());
        let mut bytes = vec![0; usize::try_from(rest).expect("segments fit into memory")];
        let read = self.file.read_at(&mut bytes, end.into());
        read.map_err(|error| self.failed(error))?;
        let places = (0..bytes.len()).step_by(ALIGNMENT);
        let proof = places.into_iter().find(|place| {
            let bytes = &bytes[*place..];
            let proves = |head: Head| head.synced >= missing && head.revision > head.synced;
            glimpse(bytes).is_some_and(proves)
                && matches!(Record::find(bytes, self.seed), Found::Record(_))
        });
        Ok(proof.map(|place| u64::from(end) + place as u64))
    }

    /// The error that the file is damaged.
    pub(crate) fn corrupt(&self, offset: u64, reason: impl Into<String>) -> OpenError {
        OpenError::corrupt(self.path.clone(), offset, reason)
    }

    fn failed(&self, source: io::Error) -> OpenError {
        OpenError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

/// What a [`SegmentReader`] comes upon.
pub(crate) enum Step<'a> {
    /// A record that begins at this offset.
    Record { offset: u32, record: Record<'a> },
    /// Here are no more records: zeros, the end of the file, or something else.
    End { offset: u32 },
}

/// A place in a segment, with the bytes around it.
pub(crate) struct SegmentReader<'a> {
    segment: &'a Segment,
    length: u64,
    /// Where the next record begins.
    offset: u64,
    /// The bytes of the file from `offset` on begin at `start`.
    buffer: Vec<u8>,
    start: usize,
    read_bytes: usize,
}

impl SegmentReader<'_> {
    /// The next record, or the end of them, which stays the end.
    pub(crate) fn next(&mut self) -> Result<Step<'_>, OpenError> {
        let offset = u32::try_from(self.offset)
            .map_err(|_| self.segment.corrupt(self.offset, "the file is too long"))?;
        self.fill(PREFIX_BYTES)?;
        self.fill(Record::extent(&self.buffer[self.start..]))?;
        let bytes = &self.buffer[self.start..];
        match Record::find(bytes, self.segment.seed) {
            Found::Record(record) => {
                let extent = Record::extent(bytes).min(bytes.len());
                self.start += extent;
                self.offset += extent as u64;
                Ok(Step::Record { offset, record })
            }
            Found::Nothing | Found::Garbage => Ok(Step::End { offset }),
        }
    }

    /// Has at least this many bytes in the buffer, where the file has them.
    fn fill(&mut self, bytes: usize) -> Result<(), OpenError> {
        let held = self.buffer.len() - self.start;
        let read_from = self.offset + held as u64;
        let left = self.length.saturating_sub(read_from);
        if held >= bytes || (bytes - held) as u64 > left {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let wanted = (bytes - held).max(self.read_bytes) as u64;
        let wanted = usize::try_from(wanted.min(left)).unwrap_or(usize::MAX);
        self.buffer.resize(held + wanted, 0);
        let read = self
            .segment
            .file
            .read_at(&mut self.buffer[held..], read_from);
        read.map_err(|error| self.segment.failed(error))
    }
}
