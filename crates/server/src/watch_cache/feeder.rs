//! The one task that follows the store and writes all caches.
//!
//! For each batch of changes: apply to the kinds, record the events, show the new states, publish
//! the revision, wake. Nothing here waits for anyone who reads.

use std::{sync::Arc, time::Duration};

use listwatch_store::{
    ChangeBatch, Changes, ChangesError, Follow, KeyRange, Read, ReadError, Revision, Store,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior},
};

use super::{
    CacheError, CacheLimits, fanout::Wake, freshness::Applied, kind_cache::KindCache,
    kind_layout::KindLayout, kind_writer::KindWriter,
};

/// What all keys of objects begin with.
const STORAGE_ROOT: &str = "/registry/";
/// How often history is trimmed while nothing happens.
const TRIM_INTERVAL: Duration = Duration::from_secs(5);
/// A state read back from the store is kept this long after its last use.
const PAST_VIEW_UNUSED_MAX: Duration = Duration::from_secs(30);
/// The pause before the store is asked again after a failure, at first and at the most.
const RETRY_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Up to this many watchers of a group the feeder wakes by itself; more are left to another task.
const INLINE_WAKES_MAX: usize = 16;
/// Batches of wakes that may wait for that task. At the bound the feeder wakes by itself again.
pub(super) const WAKE_QUEUE_MAX: usize = 64;

/// What the feeder is asked to do between batches.
pub(super) enum Command {
    /// Begin to serve a kind.
    Add(KindLayout, oneshot::Sender<Result<KindCache, CacheError>>),
    /// Stop serving the kind with this storage prefix.
    Remove(Box<str>, oneshot::Sender<()>),
}

/// Follows the store.
pub(super) struct Feeder {
    store: Arc<dyn Store>,
    applied: Arc<Applied>,
    limits: CacheLimits,
    /// In the order of their prefixes.
    writers: Vec<KindWriter>,
    wakes: mpsc::Sender<Vec<Wake>>,
}

impl Feeder {
    pub(super) fn new(
        store: Arc<dyn Store>,
        applied: Arc<Applied>,
        limits: CacheLimits,
        wakes: mpsc::Sender<Vec<Wake>>,
    ) -> Self {
        Self {
            store,
            applied,
            limits,
            writers: Vec::new(),
            wakes,
        }
    }

    /// Loads a kind and serves it from now on.
    pub(super) async fn add(&mut self, layout: KindLayout) -> Result<KindCache, CacheError> {
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
        let writer = KindWriter::load(layout, &self.store, &self.applied, self.limits).await?;
        let reader = writer.reader();
        let at = self.position_of(writer.layout().storage_prefix().as_bytes());
        self.writers.insert(at, writer);
        Ok(reader)
    }

    /// The revision up to which every kind has been loaded.
    pub(super) fn loaded(&self) -> Option<Revision> {
        self.writers.iter().map(KindWriter::loaded).min()
    }

    /// Follows until nobody can ask for anything any more.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut pause = RETRY_PAUSE.0;
        loop {
            let begun = self.applied.get();
            // What a change replaces is in the caches already.
            let follow = Follow::new(KeyRange::prefix(STORAGE_ROOT), begun).without_previous();
            let failure = match self.store.changes(follow).await {
                Ok(changes) => self.follow(changes, &mut commands).await,
                Err(error) => Some(error),
            };
            let repaired = match failure {
                None => return,
                Some(ChangesError::Compacted { oldest, .. }) => {
                    tracing::warn!(%begun, %oldest, "the watch cache fell behind and reads anew");
                    self.reload().await.map_err(|error| error.to_string())
                }
                Some(ChangesError::Unavailable { reason }) => Err(reason),
            };
            if let Err(reason) = repaired {
                tracing::warn!(reason, "the watch cache cannot follow the store");
                if self.applied.get() > begun {
                    pause = RETRY_PAUSE.0;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(RETRY_PAUSE.1);
            }
        }
    }

    /// Applies batches and obeys commands until the store fails, or returns `None` at the end.
    async fn follow(
        &mut self,
        mut changes: Box<dyn Changes>,
        commands: &mut mpsc::Receiver<Command>,
    ) -> Option<ChangesError> {
        let mut trim = tokio::time::interval(TRIM_INTERVAL);
        trim.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => self.obey(command?).await,
                batch = changes.next() => match batch {
                    Ok(batch) => self.apply(batch),
                    Err(error) => return Some(error),
                },
                _ = trim.tick() => self.trim(),
            }
        }
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Add(layout, reply) => {
                let added = self.add(layout).await;
                // Whoever asked may have stopped waiting; the kind is served all the same.
                let _ = reply.send(added);
            }
            Command::Remove(prefix, reply) => {
                let at = self.position_of(prefix.as_bytes());
                let found = |writer: &KindWriter| writer.layout().storage_prefix() == &*prefix;
                if self.writers.get(at).is_some_and(found) {
                    let wakes = self.writers.remove(at).remove();
                    self.wake(wakes);
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
        self.applied.advance(batch.through);
        self.wake(wakes);
    }

    /// Reads all kinds anew after changes have been missed.
    async fn reload(&mut self) -> Result<(), ReadError> {
        let mut wakes = Vec::new();
        for writer in &mut self.writers {
            let page = self
                .store
                .read(Read::newest(writer.layout().range()))
                .await?;
            wakes.extend(writer.reconcile(page, Instant::now()));
        }
        let newest = self.store.read(Read::revision_only()).await?.revision;
        self.applied.advance(self.loaded().unwrap_or(newest));
        self.wake(wakes);
        Ok(())
    }

    fn trim(&self) {
        let now = Instant::now();
        for writer in &self.writers {
            writer.trim(now, now.checked_sub(PAST_VIEW_UNUSED_MAX));
        }
    }

    fn wake(&self, wakes: Vec<Wake>) {
        let is_large = |wake: &mut Wake| wake.watchers > INLINE_WAKES_MAX;
        let mut wakes = wakes;
        let large: Vec<Wake> = wakes.extract_if(.., is_large).collect();
        wake_all(&wakes);
        if !large.is_empty()
            && let Err(refused) = self.wakes.try_send(large)
        {
            wake_all(&refused.into_inner());
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

/// Wakes the watchers of large groups, so that the feeder need not.
pub(super) async fn wake_groups(mut wakes: mpsc::Receiver<Vec<Wake>>) {
    while let Some(groups) = wakes.recv().await {
        wake_all(&groups);
    }
}

fn wake_all(wakes: &[Wake]) {
    for wake in wakes {
        wake.notify.notify_waiters();
    }
}
