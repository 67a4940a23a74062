//! Copies the state of one store into another, then what changed meanwhile, then compares both.
//!
//! Every step may be interrupted at any moment and done again: the marker in the target tells how
//! far the copy is, and what is there already is not written twice.

use std::{collections::BTreeMap, time::Duration};

use listwatch_store::{
    Change, ChangeBatch, Changes, Follow, Key, KeyRange, Put, Read, Revision, Store, Write,
};
use tokio::sync::watch;

use super::{
    entries::{Entries, Pair, Pairs, REGISTRY, bytes_of, read_patiently},
    error::{CopyError, Difference},
    marker::{MARKER_KEY, Phase, Position},
    patience::{Waiting, patiently},
    progress::{Progress, Stage},
    start::{Begun, Start, check_order},
    target::{Batch, CommitBounds, Target},
};

/// Objects under this prefix end by themselves. How long one has still to live is not known, so
/// that its copy gets a whole life.
const EVENTS: &str = "/registry/events/";

/// How often a copy may start over since the source forgot what was being copied. What is there
/// already is not written again, so that each try is faster than the one before.
const STARTS_MAX: usize = 5;

/// How often the newest revision of the source is asked for. A source that is written all the time
/// is copied as it was at the last answer.
const FOLLOW_ROUNDS_MAX: usize = 20;

/// What a copy may be told.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What tells the source from others.
    pub(crate) source_name: String,
    /// What tells this run from others.
    pub(crate) run: String,
    /// What happens to a target that holds objects.
    pub(crate) existing: Existing,
    /// How long copied events live.
    pub(crate) event_lifetime: Duration,
    /// What one commit may hold.
    pub(crate) commits: CommitBounds,
    /// Entries of one page of either store.
    pub(crate) page_entries_max: usize,
}

/// What happens to a target that holds objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It is refused.
    Refused,
    /// Its objects stay, unless the source has one with the same key.
    Merged,
}

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Objects of the source.
    pub(crate) objects: u64,
    /// Their keys and values.
    pub(crate) bytes: u64,
    /// How many objects each kind has.
    pub(crate) kinds: BTreeMap<String, u64>,
    /// Objects of the target that were there before and stay.
    pub(crate) kept: u64,
    /// Changes that came while the state was copied.
    pub(crate) followed: u64,
    /// Whether an earlier run began it.
    pub(crate) begun: Begun,
    /// The revision of the source that the target equals.
    pub(crate) source_revision: Revision,
    /// All copies are newer than this revision of the target.
    pub(crate) target_began: Revision,
    /// The newest revision of the target.
    pub(crate) target_revision: Revision,
}

/// What others may see while a copy runs.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) waiting: Waiting,
}

/// A copy of one store into another.
#[derive(Clone, Copy)]
pub(crate) struct Transfer<'a> {
    pub(crate) source: &'a dyn Store,
    pub(crate) target: &'a dyn Store,
    pub(crate) plan: &'a Plan,
    pub(crate) observed: &'a Observed,
}

impl<'a> Transfer<'a> {
    /// Copies everything. May be dropped at any moment and started again.
    pub(crate) async fn run(self, start: Start) -> Result<Copied, CopyError> {
        let mut run = Run {
            writer: Target {
                store: self.target,
                waiting: &self.observed.waiting,
                marker: start.condition,
            },
            batch: Batch::new(self.plan.commits),
            start,
            followed: 0,
            transfer: self,
        };
        if run.start.marker.phase == Phase::Differing {
            run.start_over().await?;
        }
        for _ in 0..STARTS_MAX {
            match run.attempt().await {
                Err(CopyError::Forgotten) => run.start_over().await?,
                ended => return ended,
            }
        }
        Err(CopyError::ForgetsTooFast)
    }

    fn pairs(self, at: Revision, after: Option<&Key>) -> Pairs<'a> {
        let (waiting, entries_max) = (&self.observed.waiting, self.plan.page_entries_max);
        let entries = |store, at| {
            let entries = Entries::new(store, waiting, at);
            entries.after(after).pages_of(entries_max)
        };
        Pairs {
            source: entries(self.source, Some(at)),
            target: entries(self.target, None),
        }
    }
}

struct Run<'a> {
    transfer: Transfer<'a>,
    writer: Target<'a>,
    batch: Batch,
    start: Start,
    followed: u64,
}

impl Run<'_> {
    async fn attempt(&mut self) -> Result<Copied, CopyError> {
        if let Phase::Copying(position) = self.start.marker.phase.clone() {
            let after = position.map(|position| position.key());
            self.copy_state(after).await?;
        }
        self.follow().await?;
        check_order(
            self.start.marker.target_began(),
            self.start.marker.source_revision(),
        )?;
        let mut copied = self.compare().await?;
        copied.target_revision = self.writer.finish().await?;
        Ok(copied)
    }

    /// The next attempt is about the newest revision, and looks at every key again.
    async fn start_over(&mut self) -> Result<(), CopyError> {
        let newest = self.newest_of_source().await?;
        let marker = &mut self.start.marker;
        marker.source_revision = newest.get();
        marker.phase = Phase::Copying(None);
        marker.objects = 0;
        self.batch = Batch::new(self.transfer.plan.commits);
        self.tell(|progress| progress.starts_over += 1);
        self.write().await
    }

    async fn copy_state(&mut self, after: Option<Key>) -> Result<(), CopyError> {
        let at = self.start.marker.source_revision();
        let mut pairs = self.transfer.pairs(at, after.as_ref());
        let left = pairs.source.count().await;
        let left = left.map_err(CopyError::read_source)? as u64;
        let done = self.start.marker.objects;
        self.tell(|progress| progress.begin(Stage::Copying, done, done + left));
        while let Some(pair) = pairs.next().await? {
            self.copy_pair(pair).await?;
        }
        self.start.marker.phase = Phase::Following;
        self.write().await
    }

    async fn copy_pair(&mut self, pair: Pair) -> Result<(), CopyError> {
        let is_object = pair.source.is_some();
        if let Some((key, write)) = self.wanted(&pair) {
            if self.batch.is_too_full_for(&key, &write) {
                self.write().await?;
            }
            self.batch.push(key, write);
        }
        if let Some(entry) = pair.source.or(pair.target) {
            let position = Position::of(&entry.key);
            self.start.marker.phase = Phase::Copying(Some(position));
        }
        if is_object {
            self.start.marker.objects += 1;
        }
        Ok(())
    }

    /// What makes the target equal to the source at one key.
    fn wanted(&self, pair: &Pair) -> Option<(Key, Write)> {
        let ours = |revision| revision > self.start.marker.target_began();
        match (&pair.source, &pair.target) {
            (Some(source), Some(target))
                if source.value == target.value && ours(target.revision) =>
            {
                None
            }
            (Some(source), _) => {
                let write = self.put(&source.key, &source.value);
                Some((source.key.clone(), write))
            }
            (None, Some(target)) if ours(target.revision) => {
                Some((target.key.clone(), Write::Delete))
            }
            (None, _) => None,
        }
    }

    fn put(&self, key: &Key, value: &bytes::Bytes) -> Write {
        Write::Put(Put {
            value: value.clone(),
            lifetime: ends(key).then_some(self.transfer.plan.event_lifetime),
        })
    }

    async fn follow(&mut self) -> Result<(), CopyError> {
        self.tell(|progress| progress.begin(Stage::Following, 0, 0));
        let mut cursor = self.cursor().await?;
        for _ in 0..FOLLOW_ROUNDS_MAX {
            let newest = self.newest_of_source().await?;
            if self.start.marker.source_revision() >= newest {
                break;
            }
            while self.start.marker.source_revision() < newest {
                match cursor.next().await {
                    Ok(batch) => self.apply(batch).await?,
                    Err(error) => match CopyError::follow_source(error) {
                        CopyError::FollowSource(_) => cursor = self.cursor().await?,
                        error => return Err(error),
                    },
                }
            }
        }
        Ok(())
    }

    async fn cursor(&self) -> Result<Box<dyn Changes>, CopyError> {
        let follow = Follow::new(
            KeyRange::prefix(REGISTRY),
            self.start.marker.source_revision(),
        );
        let follow = follow.without_previous();
        let passing = |error: &CopyError| matches!(error, CopyError::FollowSource(_));
        let source = self.transfer.source;
        patiently(&self.transfer.observed.waiting, passing, async || {
            let cursor = source.changes(follow.clone()).await;
            cursor.map_err(CopyError::follow_source)
        })
        .await
    }

    async fn apply(&mut self, batch: ChangeBatch) -> Result<(), CopyError> {
        for Change { key, value, .. } in batch.changes {
            if key.as_bytes() == MARKER_KEY.as_bytes() {
                continue;
            }
            let write = match &value {
                Some(value) => self.put(&key, value),
                None => Write::Delete,
            };
            if self.batch.is_too_full_for(&key, &write) {
                self.write().await?;
            }
            self.batch.push(key, write);
            self.followed += 1;
            let followed = self.followed;
            self.tell(|progress| progress.done = followed);
        }
        self.start.marker.source_revision = batch.through.get();
        match self.batch.is_empty() {
            true => Ok(()),
            false => self.write().await,
        }
    }

    /// Writes what is waiting, and how far the copy is.
    async fn write(&mut self) -> Result<(), CopyError> {
        let marker = &self.start.marker;
        self.writer.write(&mut self.batch, marker).await?;
        if let Phase::Copying(_) = marker.phase {
            self.tell(|progress| progress.done = marker.objects);
        }
        Ok(())
    }

    /// Reads both from end to end.
    async fn compare(&mut self) -> Result<Copied, CopyError> {
        let marker = &self.start.marker;
        let mut copied = Copied {
            objects: 0,
            bytes: 0,
            kinds: BTreeMap::new(),
            kept: 0,
            followed: self.followed,
            begun: self.start.begun,
            source_revision: marker.source_revision(),
            target_began: marker.target_began(),
            target_revision: marker.target_began(),
        };
        let mut pairs = self.transfer.pairs(copied.source_revision, None);
        let total = pairs.source.count().await;
        let total = total.map_err(CopyError::read_source)? as u64;
        self.tell(|progress| progress.begin(Stage::Comparing, 0, total));
        while let Some(pair) = pairs.next().await? {
            if let Some((key, how)) = difference(&pair, copied.target_began) {
                self.start.marker.phase = Phase::Differing;
                self.write().await?;
                return Err(CopyError::Differs { key, how });
            }
            copied.count(&pair);
            self.tell(|progress| progress.done = copied.objects);
        }
        Ok(copied)
    }

    async fn newest_of_source(&self) -> Result<Revision, CopyError> {
        let waiting = &self.transfer.observed.waiting;
        let page = read_patiently(self.transfer.source, waiting, &Read::revision_only()).await;
        Ok(page.map_err(CopyError::ReadSource)?.revision)
    }

    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        self.transfer.observed.progress.send_modify(change);
    }
}

impl Copied {
    fn count(&mut self, pair: &Pair) {
        let Some(source) = &pair.source else {
            self.kept += 1;
            return;
        };
        self.objects += 1;
        self.bytes += bytes_of(source) as u64;
        *self.kinds.entry(kind_of(&source.key)).or_default() += 1;
    }
}

/// How the target differs from the source at one key.
fn difference(pair: &Pair, began: Revision) -> Option<(Key, Difference)> {
    match (&pair.source, &pair.target) {
        (Some(source), Some(target)) => {
            let same = source.value == target.value && target.revision > began;
            (!same).then(|| (source.key.clone(), Difference::Value))
        }
        // It may have ended meanwhile.
        (Some(source), None) if ends(&source.key) => None,
        (Some(source), None) => Some((source.key.clone(), Difference::Missing)),
        (None, Some(target)) if target.revision > began => {
            Some((target.key.clone(), Difference::Extra))
        }
        (None, _) => None,
    }
}

/// Whether an object ends by itself.
fn ends(key: &Key) -> bool {
    key.as_bytes().starts_with(EVENTS.as_bytes())
}

/// `/registry/pods/…` holds pods, `/registry/example.com/gadgets/…` gadgets.example.com.
fn kind_of(key: &Key) -> String {
    let key = String::from_utf8_lossy(key.as_bytes());
    let mut parts = key.trim_start_matches(REGISTRY).split('/');
    let first = parts.next().unwrap_or_default();
    match parts.next() {
        Some(resource) if first.contains('.') => format!("{resource}.{first}"),
        _ => first.to_owned(),
    }
}
