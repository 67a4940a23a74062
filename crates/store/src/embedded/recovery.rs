//! Replays the log over the base, and judges where it ends: a torn write, or damage.

use std::{collections::VecDeque, num::NonZeroU32, sync::Arc};

use super::{
    base::{Base, BaseHeader},
    error::OpenError,
    log::{Log, LogParts, Sealed},
    options::EmbeddedOptions,
    record::{LoggedWrite, Record},
    segment::{HEADER_BYTES, Segment, Step, segment_name},
    snapshot::Files,
    state::{Place, State, Stored},
    writer::{Superseded, Writer},
};
use crate::{Key, KeyRange, Revision, disk::Disk, pack};

/// What the files say.
pub(crate) struct Recovery {
    base: Base,
    state: State,
    segments: VecDeque<Arc<Segment>>,
    sealed: VecDeque<Sealed>,
    superseded: VecDeque<Superseded>,
}

impl Recovery {
    /// Reads the log, of which there are these segments, in order.
    pub(crate) fn replay(
        disk: &dyn Disk,
        base: Base,
        state: State,
        sequences: &[u64],
    ) -> Result<Self, OpenError> {
        let first = base.header.log_sequence;
        let mut recovery = Self {
            base,
            state,
            segments: VecDeque::new(),
            sealed: VecDeque::new(),
            superseded: VecDeque::new(),
        };
        let needed = sequences.iter().copied().filter(|one| *one >= first);
        for (expected, sequence) in (first..).zip(needed) {
            if sequence != expected {
                return Err(missing(disk, expected));
            }
            recovery.replay_segment(disk, sequence)?;
        }
        let Some(last) = recovery.segments.back() else {
            return Err(missing(disk, first));
        };
        recovery.judge_end(last)?;
        Ok(recovery)
    }

    /// What the base says about itself.
    pub(crate) fn base(&self) -> &BaseHeader {
        &self.base.header
    }

    fn replay_segment(&mut self, disk: &dyn Disk, sequence: u64) -> Result<(), OpenError> {
        let segment = Segment::open(disk, sequence)?;
        if segment.identity != self.base.header.identity {
            let reason = "it was written by another store";
            return Err(OpenError::foreign(disk, &segment_name(sequence), reason));
        }
        self.check_first(&segment)?;
        let mut sealed = Sealed {
            last: Revision::new(segment.first.get() - 1),
            bytes: HEADER_BYTES.into(),
            time: 0,
        };
        let mut reader = segment.read_from(HEADER_BYTES)?;
        loop {
            match reader.next()? {
                Step::End { offset } => {
                    sealed.bytes = offset.into();
                    break;
                }
                Step::Record { offset, record } => {
                    let (head, last) = (record.head, sealed.last);
                    if head.revision != last.next() {
                        let reason = format!("revision {} follows {last}", head.revision);
                        return Err(segment.corrupt(offset.into(), reason));
                    }
                    segment.mark(head.revision, offset);
                    sealed.last = head.revision;
                    sealed.time = sealed.time.max(head.time);
                    if head.revision > self.base.header.revision {
                        self.apply(&record, place_in(&segment, offset));
                    }
                }
            }
        }
        self.segments.push_back(Arc::new(segment));
        self.sealed.push_back(sealed);
        Ok(())
    }

    /// A segment begins where the one before it ends, or no later than the base does.
    fn check_first(&self, segment: &Segment) -> Result<(), OpenError> {
        match (self.segments.back(), self.sealed.back()) {
            (Some(before), Some(sealed)) if segment.first != sealed.last.next() => {
                let reason = format!(
                    "its records end with revision {}, but the next file begins with {}",
                    sealed.last, segment.first
                );
                Err(before.corrupt(sealed.bytes, reason))
            }
            (None, _) if segment.first > self.base.header.revision.next() => {
                let reason = format!(
                    "it begins with revision {}, but the base ends with {}",
                    segment.first, self.base.header.revision
                );
                Err(segment.corrupt(0, reason))
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, record: &Record<'_>, place: Place) {
        let revision = record.head.revision;
        for write in record.writes() {
            let key = Key::new(write.key());
            let previous = match write {
                LoggedWrite::Delete { .. } => {
                    let gone = Superseded::gone(&key, revision);
                    self.superseded.push_back(gone);
                    self.state.delete(&key, revision)
                }
                LoggedWrite::Put { value, end, .. } => {
                    let stored = Stored {
                        revision,
                        value: pack(value),
                        end,
                        place: Some(place),
                    };
                    self.state.put(key.clone(), stored)
                }
            };
            if let Some(previous) = previous {
                let value = Superseded::value(&key, revision, previous.revision);
                self.superseded.push_back(value);
            }
        }
        self.state.revision = revision;
    }

    /// The log may end in the middle of what was being written, but not before what was durable.
    fn judge_end(&self, last: &Segment) -> Result<(), OpenError> {
        let (end, next) = self.end();
        if next <= self.base.header.revision {
            let reason = format!(
                "its records end before revision {}",
                self.base.header.revision
            );
            return Err(last.corrupt(end.into(), reason));
        }
        if let Some(proof) = last.proof_after(end, next)? {
            let reason = format!(
                "revision {next} cannot be read, but what was written later can, at byte {proof}"
            );
            return Err(last.corrupt(end.into(), reason));
        }
        Ok(())
    }

    /// Where the last segment ends, and the revision that would have come next.
    fn end(&self) -> (u32, Revision) {
        let sealed = self.sealed.back().expect("there is a last segment");
        let end = u32::try_from(sealed.bytes).expect("offsets of records fit");
        (end, sealed.last.next())
    }

    /// Makes what was found durable, and goes on after it in a new segment.
    pub(crate) fn into_writer(
        mut self,
        disk: &Arc<dyn Disk>,
        options: &EmbeddedOptions,
    ) -> Result<Writer, OpenError> {
        let (end, next) = self.end();
        let last = self.segments.back().expect("there is a last segment");
        let mut sequence = last.sequence + 1;
        // The end of the process before may have been the end of records that nobody had synced:
        // what is seen from now on must not be lost by the next end.
        let name = segment_name(last.sequence);
        last.cut(end).map_err(OpenError::io(&**disk, &name))?;
        if end == HEADER_BYTES {
            sequence = last.sequence;
            self.segments.pop_back();
            self.sealed.pop_back();
        }
        let mut parts = LogParts::new(disk, options, self.base.header.identity);
        parts.sealed = self.sealed;
        let log = Log::begin(parts, sequence, next);
        let log = log.map_err(OpenError::io(&**disk, &segment_name(sequence)))?;
        self.segments.push_back(Arc::clone(log.active()));
        let files = Files {
            base: Arc::new(self.base),
            segments: self.segments,
        };
        let mut writer = Writer::new(log, self.state, files.into(), options.tail_bytes);
        writer.superseded = self.superseded;
        for (key, stored) in writer.state.range(&KeyRange::all()) {
            if let Some(end) = stored.end {
                let mut ends = writer.ends.lock();
                ends.insert(end, stored.revision, key.clone());
            }
        }
        Ok(writer)
    }
}

fn missing(disk: &dyn Disk, sequence: u64) -> OpenError {
    OpenError::Missing {
        file: disk.path(&segment_name(sequence)),
    }
}

fn place_in(segment: &Segment, offset: u32) -> Place {
    let sequence = u32::try_from(segment.sequence).ok();
    Place {
        sequence: sequence
            .and_then(NonZeroU32::new)
            .expect("sequences begin at 1"),
        offset,
    }
}
