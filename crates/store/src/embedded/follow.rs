//! Followers: from memory when they are nearly up to date, else from the log, in bounded batches.

use std::{ops::ControlFlow, sync::Arc};

use bytes::Bytes;
use tokio::sync::watch;

use super::{
    disk_work::DiskWork,
    error::OpenError,
    past::PastReader,
    record::{LoggedWrite, Record},
    segment::{HEADER_BYTES, Segment, Step},
    snapshot::Snapshot,
    tail::Tail,
};
use crate::{Change, ChangeBatch, Changes, ChangesError, Key, KeyRange, Revision, StoreFuture};

/// Changes in one batch. At the bound the batch ends with the commit that reached it.
const BATCH_CHANGES_MAX: usize = 1024;

/// Keys and values in one batch, in bytes. At the bound the batch ends likewise.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// How much of the log one batch is made from, in bytes, whatever is found there.
const BATCH_LOG_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A cursor on the changes of an embedded store.
pub(crate) struct EmbeddedChanges {
    pub(crate) snapshots: watch::Receiver<Arc<Snapshot>>,
    pub(crate) tail: Arc<Tail>,
    pub(crate) work: DiskWork,
    pub(crate) range: KeyRange,
    pub(crate) after: Revision,
    /// Where the log goes on after `after`, if it was read up to there.
    pub(crate) place: Option<LogPlace>,
}

/// Where a record begins.
#[derive(Clone, Copy)]
pub(crate) struct LogPlace {
    sequence: u64,
    offset: u32,
}

impl Changes for EmbeddedChanges {
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>> {
        Box::pin(self.next_batch())
    }
}

impl EmbeddedChanges {
    async fn next_batch(&mut self) -> Result<ChangeBatch, ChangesError> {
        loop {
            let snapshot = Arc::clone(&self.snapshots.borrow_and_update());
            check_kept(&snapshot, self.after)?;
            if self.after < snapshot.revision() {
                let batch = match self.batch_from_tail(&snapshot) {
                    Some(batch) => batch,
                    None => self.batch_from_log(snapshot).await?,
                };
                self.after = batch.through;
                return Ok(batch);
            }
            drop(snapshot);
            let changed = self.snapshots.changed().await;
            changed.map_err(|_| unavailable("it has been closed"))?;
        }
    }

    fn batch_from_tail(&self, snapshot: &Snapshot) -> Option<ChangeBatch> {
        let mut batch = Batch::after(self.after);
        let through = snapshot.revision();
        for committed in self.tail.between(self.after, through, BATCH_CHANGES_MAX)? {
            if batch.is_full() {
                break;
            }
            for change in &committed.changes {
                if self.range.contains(&change.key) {
                    batch.push(change.clone());
                }
            }
            batch.end_commit(committed.bytes);
        }
        Some(batch.batch)
    }

    async fn batch_from_log(
        &mut self,
        snapshot: Arc<Snapshot>,
    ) -> Result<ChangeBatch, ChangesError> {
        let log = LogBatches {
            snapshot,
            range: self.range.clone(),
        };
        let (after, place) = (self.after, self.place);
        let read = self.work.start(move || log.read(after, place)).await;
        let read = read.map_err(|error| unavailable(&error.to_string()))?;
        let (batch, place) = read.map_err(|error| unavailable(&error.to_string()))?;
        self.place = place;
        Ok(batch)
    }
}

/// Refuses a place that the floor has passed.
pub(crate) fn check_kept(snapshot: &Snapshot, after: Revision) -> Result<(), ChangesError> {
    if after < snapshot.floor() {
        return Err(ChangesError::Compacted {
            requested: after,
            oldest: snapshot.floor(),
        });
    }
    Ok(())
}

fn unavailable(reason: &str) -> ChangesError {
    let reason = reason.to_owned();
    ChangesError::Unavailable { reason }
}

struct Batch {
    batch: ChangeBatch,
    bytes: usize,
    log_bytes: usize,
}

impl Batch {
    fn after(after: Revision) -> Self {
        Self {
            batch: ChangeBatch {
                changes: Vec::new(),
                through: after,
            },
            bytes: 0,
            log_bytes: 0,
        }
    }

    fn push(&mut self, change: Change) {
        self.bytes += change.key.as_bytes().len() + change.value.as_ref().map_or(0, Bytes::len);
        self.batch.changes.push(change);
    }

    /// Every revision has a commit, so the next commit is the next revision.
    fn end_commit(&mut self, log_bytes: usize) {
        self.batch.through = self.batch.through.next();
        self.log_bytes += log_bytes;
    }

    fn is_full(&self) -> bool {
        self.batch.changes.len() >= BATCH_CHANGES_MAX
            || self.bytes >= BATCH_BYTES_MAX
            || self.log_bytes >= BATCH_LOG_BYTES_MAX
    }
}

/// Makes batches out of the log as it was at one moment.
struct LogBatches {
    snapshot: Arc<Snapshot>,
    range: KeyRange,
}

impl LogBatches {
    /// The batch after a revision, and where the log goes on.
    fn read(
        &self,
        after: Revision,
        place: Option<LogPlace>,
    ) -> Result<(ChangeBatch, Option<LogPlace>), OpenError> {
        let segments = &self.snapshot.files.segments;
        let first = self.snapshot.files.segment_with(after.next());
        let mut batch = Batch::after(after);
        let mut past = PastReader::new(&self.snapshot.files);
        for segment in segments.range(first..) {
            let offset = match place {
                Some(place) if place.sequence == segment.sequence => place.offset,
                _ => segment.place_before(after.next()),
            };
            if let ControlFlow::Break(place) =
                self.read_segment((segment, offset), &mut past, &mut batch)?
            {
                return Ok((batch.batch, place));
            }
        }
        let through = batch.batch.through;
        let reason = format!("there is nothing after revision {through}");
        Err(segments[first].corrupt(HEADER_BYTES.into(), reason))
    }

    /// Adds the commits of a segment, until it ends or the batch does.
    fn read_segment(
        &self,
        (segment, offset): (&Segment, u32),
        past: &mut PastReader<'_>,
        batch: &mut Batch,
    ) -> Result<ControlFlow<Option<LogPlace>>, OpenError> {
        let mut reader = segment.read_from(offset)?;
        while let Step::Record { offset, record } = reader.next()? {
            let (revision, through) = (record.head.revision, batch.batch.through);
            if revision <= through {
                continue;
            }
            if batch.is_full() {
                let sequence = segment.sequence;
                return Ok(ControlFlow::Break(Some(LogPlace { sequence, offset })));
            }
            if revision != through.next() {
                let reason = format!("revision {revision} follows {through}");
                return Err(segment.corrupt(offset.into(), reason));
            }
            self.add(past, batch, &record)?;
            if revision == self.snapshot.revision() {
                return Ok(ControlFlow::Break(None));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn add(
        &self,
        past: &mut PastReader<'_>,
        batch: &mut Batch,
        record: &Record<'_>,
    ) -> Result<(), OpenError> {
        let revision = record.head.revision;
        let wanted = record
            .writes()
            .filter(|write| self.range.contains(write.key()));
        for write in wanted {
            batch.push(self.change(past, revision, &write)?);
        }
        batch.end_commit(record.bytes());
        Ok(())
    }

    fn change(
        &self,
        past: &mut PastReader<'_>,
        revision: Revision,
        write: &LoggedWrite<'_>,
    ) -> Result<Change, OpenError> {
        let state = &self.snapshot.state;
        let key = Key::new(write.key());
        let before = Revision::new(revision.get() - 1);
        let previous = state.version_at(&key, before);
        let previous = previous.map(|version| past.entry(&key, &version));
        let value = match write {
            LoggedWrite::Delete { .. } => None,
            LoggedWrite::Put { value, .. } => {
                let current = state.get(write.key());
                let current = current.filter(|stored| stored.revision == revision);
                let shared = current.map(|stored| stored.value.clone());
                Some(shared.unwrap_or_else(|| Bytes::copy_from_slice(value)))
            }
        };
        Ok(Change {
            revision,
            key,
            value,
            previous: previous.transpose()?,
        })
    }
}
