//! The one task that follows the store and writes all caches.
//!
//! For each batch of changes: apply to the kinds, record the events, show the new states, publish
//! the revision, wake. Nothing here waits for anyone who reads.

use std::{future::ready, sync::Arc, time::Duration};

use listwatch_store::{ChangeBatch, ChangesError, Follow, KeyRange, Read, ReadError, Revision};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior},
};

use super::{
    CacheError, CacheLimits, bell::Ringer, heartbeat::Heartbeat, kind_cache::KindCache,
    kind_layout::KindLayout, kind_writer::KindWriter, origin::Origin,
};
use crate::random::Random;

/// What all keys of objects begin with.
const STORAGE_ROOT: &str = "/registry/";
/// How often history is trimmed while nothing happens.
const TRIM_INTERVAL: Duration = Duration::from_secs(5);
/// A state read back from the store is kept this long after its last use.
const PAST_VIEW_UNUSED_MAX: Duration = Duration::from_secs(30);
/// How often the past is read at the start, when the store forgets it meanwhile. Then the present
/// is read.
const LOAD_ATTEMPTS_MAX: usize = 3;
/// The pause before the store is followed again after a failure, at first and at the most. Each is
/// shortened by chance, up to a half, so that servers which lost one store do not come all at once.
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// What the feeder is asked to do between batches.
pub(super) enum Command {
    /// Begin to serve a kind.
    Add(KindLayout, oneshot::Sender<Result<KindCache, CacheError>>),
    /// Stop serving the kind with this storage prefix.
    Remove(Box<str>, oneshot::Sender<()>),
}

/// Why following ended without a failure: nobody can ask for anything any more.
pub(super) struct Stopped;

/// Follows the store.
pub(super) struct Feeder {
    origin: Arc<Origin>,
    limits: CacheLimits,
    /// In the order of their prefixes.
    writers: Vec<KindWriter>,
    ringer: Ringer,
    random: Random,
    /// The next pause after a failure.
    pause: Duration,
}

impl Feeder {
    /// Must be called on a tokio runtime.
    pub(super) fn new(origin: Arc<Origin>, limits: CacheLimits, random: Random) -> Self {
        Self {
            origin,
            limits,
            writers: Vec::new(),
            ringer: Ringer::start(),
            random,
            pause: RETRY_PAUSE.0,
        }
    }

    /// Loads the first kinds, as they were not too long ago: by following from there, the history
    /// has what happened since, and who resumes needs no cursor of its own on the store.
    pub(super) async fn load(
        &mut self,
        layouts: Vec<KindLayout>,
    ) -> Result<Vec<KindCache>, CacheError> {
        let layouts: Vec<Arc<KindLayout>> = layouts.into_iter().map(Arc::new).collect();
        let newest = self.origin.newest.ask().await?.get();
        let past = self.limits.history_at_start_revisions;
        let mut at = Revision::new(newest.saturating_sub(past));
        let mut loaded = self.load_at(&layouts, Some(at)).await;
        for attempt in 1..=LOAD_ATTEMPTS_MAX {
            // It may forget more while it is read.
            let Err(CacheError::Expired { oldest, .. }) = loaded else {
                break;
            };
            at = oldest.max(at);
            let at = (attempt < LOAD_ATTEMPTS_MAX).then_some(at);
            loaded = self.load_at(&layouts, at).await;
        }
        let reached = self.loaded().unwrap_or(at);
        self.origin.applied.advance(reached);
        loaded
    }

    async fn load_at(
        &mut self,
        layouts: &[Arc<KindLayout>],
        at: Option<Revision>,
    ) -> Result<Vec<KindCache>, CacheError> {
        self.writers.clear();
        let mut readers = Vec::with_capacity(layouts.len());
        for layout in layouts {
            readers.push(self.add(Arc::clone(layout), at).await?);
        }
        Ok(readers)
    }

    /// Loads a kind and serves it from now on.
    async fn add(
        &mut self,
        layout: Arc<KindLayout>,
        at: Option<Revision>,
    ) -> Result<KindCache, CacheError> {
        let prefix = layout.storage_prefix();
        let overlaps = |writer: &KindWriter| {
            let other = writer.layout().storage_prefix();
            other.starts_with(prefix) || prefix.starts_with(other)
        };
        if self.writers.iter().any(overlaps) || !prefix.starts_with(STORAGE_ROOT) {
            return Err(CacheError::Overlapping {
                storage_prefix: prefix.into(),
            });
        }
        let writer = KindWriter::load(layout, at, &self.origin, self.limits).await?;
        let reader = writer.reader();
        let at = self.position_of(writer.layout().storage_prefix().as_bytes());
        self.writers.insert(at, writer);
        Ok(reader)
    }

    /// The revision up to which every kind has been loaded.
    fn loaded(&self) -> Option<Revision> {
        self.writers.iter().map(KindWriter::loaded).min()
    }

    /// Follows until nobody can ask for anything any more.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        loop {
            let reason = match self.follow(&mut commands).await {
                Ok(Stopped) => return,
                Err(ChangesError::Unavailable { reason }) => reason,
                Err(forgotten @ ChangesError::Compacted { .. }) => {
                    self.origin.feed.fell_behind(&forgotten.to_string());
                    match self.reload().await {
                        Ok(()) => continue,
                        Err(error) => error.to_string(),
                    }
                }
            };
            self.origin.feed.lost(&reason);
            if let Some(Stopped) = self.pause(&mut commands).await {
                return;
            }
        }
    }

    /// Applies batches and obeys commands until the store fails.
    async fn follow(
        &mut self,
        commands: &mut mpsc::Receiver<Command>,
    ) -> Result<Stopped, ChangesError> {
        let after = self.origin.applied.get();
        // What a change replaces is in the caches already.
        let follow = Follow::new(KeyRange::prefix(STORAGE_ROOT), after).without_previous();
        let mut changes = self.origin.store.changes(follow).await?;
        let mut missing = match self.origin.feed.is_following() {
            true => None,
            false => Some(self.newest().await?),
        };
        let mut heartbeat = Heartbeat::new(&self.origin);
        let mut trim = tokio::time::interval(TRIM_INTERVAL);
        trim.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_even = missing.is_some_and(|newest| newest <= self.origin.applied.get());
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.obey(command).await,
                    None => return Ok(Stopped),
                },
                batch = changes.next() => {
                    self.apply(batch?);
                    missing = self.still_missing(missing);
                }
                // Not before the cursor has nothing to say, not even that it is broken.
                () = ready(()), if is_even => missing = self.still_missing(missing),
                answer = heartbeat.next() => missing = self.judge(missing, answer),
                _ = trim.tick() => self.trim(),
            }
        }
    }

    /// What of it has not come. When nothing is missing any more, the store is followed.
    fn still_missing(&mut self, missing: Option<Revision>) -> Option<Revision> {
        let newest = missing?;
        if newest <= self.origin.applied.get() {
            self.pause = RETRY_PAUSE.0;
            self.origin.feed.found();
            return None;
        }
        missing
    }

    /// Notes what is missing, now that the store has told its newest revision, or could not.
    fn judge(
        &self,
        missing: Option<Revision>,
        answer: Result<Revision, CacheError>,
    ) -> Option<Revision> {
        match (missing, answer) {
            (_, Err(error)) => {
                self.origin.feed.lost(&error.to_string());
                missing
            }
            // It had a whole beat to come.
            (Some(missing), Ok(newest)) => {
                let applied = self.origin.applied.get();
                let reason = format!("the watch cache is at {applied} and the store at {newest}");
                self.origin.feed.fell_behind(&reason);
                Some(missing)
            }
            (None, Ok(newest)) => Some(newest),
        }
    }

    /// How far the store is.
    async fn newest(&self) -> Result<Revision, ChangesError> {
        let newest = self.origin.newest.ask().await.and_then(|newest| {
            went_back(self.origin.applied.get(), newest)?;
            Ok(newest)
        });
        newest.map_err(|error| ChangesError::Unavailable {
            reason: error.to_string(),
        })
    }

    /// Waits a little, longer each time, and obeys meanwhile.
    async fn pause(&mut self, commands: &mut mpsc::Receiver<Command>) -> Option<Stopped> {
        let pause = self.random.duration(self.pause / 2..self.pause);
        self.pause = (self.pause * 2).min(RETRY_PAUSE.1);
        let end = Instant::now() + pause;
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(end) => return None,
                command = commands.recv() => match command {
                    Some(command) => self.obey(command).await,
                    None => return Some(Stopped),
                },
            }
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Add(layout, reply) => {
                let added = self.add(Arc::new(layout), None).await;
                // Whoever asked may have stopped waiting; the kind is served all the same.
                let _ = reply.send(added);
            }
            Command::Remove(prefix, reply) => {
                let at = self.position_of(prefix.as_bytes());
                let found = |writer: &KindWriter| writer.layout().storage_prefix() == &*prefix;
                if self.writers.get(at).is_some_and(found) {
                    let wakes = self.writers.remove(at).remove();
                    self.ringer.wake(wakes);
                }
                let _ = reply.send(());
            }
        }
    }

    fn apply(&mut self, batch: ChangeBatch) {
        for change in batch.changes {
            if let Some(writer) = self.writer_of(change.key.as_bytes()) {
                writer.apply(change);
            }
        }
        let now = Instant::now();
        let news = self.writers.iter_mut().filter(|writer| writer.has_news());
        let wakes = news.flat_map(|writer| writer.publish(now)).collect();
        self.origin.applied.advance(batch.through);
        self.ringer.wake(wakes);
    }

    /// Reads all kinds anew after changes have been missed. What it has done when it fails stays
    /// done: the next attempt goes on from there.
    async fn reload(&mut self) -> Result<(), ReadError> {
        for index in 0..self.writers.len() {
            let range = self.writers[index].layout().range();
            let page = self.origin.store.read(Read::newest(range)).await?;
            went_back(self.writers[index].known(), page.revision)?;
            let wakes = self.writers[index].reconcile(page, Instant::now());
            self.ringer.wake(wakes);
        }
        let reached = match self.loaded() {
            Some(loaded) => loaded,
            None => self.origin.newest.ask().await?,
        };
        self.origin.applied.advance(reached);
        self.origin.feed.reloaded();
        Ok(())
    }

    fn trim(&self) {
        let now = Instant::now();
        for writer in &self.writers {
            writer.trim(now, now.checked_sub(PAST_VIEW_UNUSED_MAX));
        }
    }

    fn writer_of(&mut self, key: &[u8]) -> Option<&mut KindWriter> {
        let at = self.position_of(key);
        // The prefix of a key sorts before it, and no prefix begins with another.
        let writer = self.writers.get_mut(at.checked_sub(1)?)?;
        key.starts_with(writer.layout().storage_prefix().as_bytes())
            .then_some(writer)
    }

    /// How many prefixes are less than this.
    fn position_of(&self, key: &[u8]) -> usize {
        self.writers
            .partition_point(|writer| writer.layout().storage_prefix().as_bytes() < key)
    }
}

/// Refuses a store that has less than it had, since a backup was put in its place.
fn went_back(known: Revision, newest: Revision) -> Result<(), ReadError> {
    match newest < known {
        true => Err(ReadError::Unavailable {
            reason: format!("it went back from revision {known} to {newest}"),
        }),
        false => Ok(()),
    }
}
