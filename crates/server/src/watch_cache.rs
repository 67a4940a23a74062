//! The present and the recent past of each kind, and who wants to hear of it.
//!
//! One feeder follows the store and is the only writer. Readers take a [`Snapshot`] of a
//! [`KindCache`]; a [`Watcher`] is a cursor on what the feeder has recorded. The cache never
//! answers from a revision that it has not reached: it waits or refuses. It knows no HTTP.

mod bell;
mod cached_object;
mod counted_tree;
mod event;
mod fanout;
mod feed;
mod feeder;
mod freshness;
mod heartbeat;
mod history;
mod interest;
mod journal;
mod kind_cache;
mod kind_layout;
mod kind_writer;
mod origin;
mod question;
mod snapshot;
mod store_cursor;
mod term_index;
mod unreadable;
mod view;
mod watcher;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use listwatch_store::{Revision, Store};
use parking_lot::RwLock;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use feeder::{Command, Feeder};
use origin::Origin;

use crate::random::Random;

pub use cached_object::{CachedObject, resource_version};
pub use event::{EncodingId, Event, append_json_frame, frame_len};
pub use feed::{FeedState, FeedStats};
pub(crate) use interest::Judge;
pub use interest::{Area, Interest};
pub use kind_cache::{KindCache, KindStats};
pub use kind_layout::KindLayout;
pub use snapshot::{Selection, Snapshot};
pub use unreadable::UnreadableValue;
pub use watcher::{WatchBatch, WatchError, WatchEvent, Watcher, WatcherStage};

/// Requests to add or remove a kind that may wait; further ones wait to be accepted.
const COMMANDS_MAX: usize = 16;

/// How much of the past is kept in memory, for each kind. What is older is read from the store.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Events in the history; the oldest leave.
    pub history_events_max: usize,
    /// Bytes of former states that the history keeps; the oldest leave.
    pub history_bytes_max: usize,
    /// How old an event may become; older ones leave.
    pub history_age_max: Duration,
    /// How many revisions before the newest the history begins when the caches are loaded, so that
    /// watches can resume from there. Fewer where the store or the bounds above keep fewer.
    ///
    /// The start takes longer by it: what was replaced since then is read from the disk, one by
    /// one. A store to which cursors are dear, being far away, deserves more than one at hand.
    pub history_at_start_revisions: u64,
    /// Events that a group of watchers has at hand. A watcher that is further behind looks through
    /// the history itself.
    pub group_log_events_max: usize,
    /// The newest events whose encoded frames are shared. Of older ones each watcher builds its
    /// own.
    pub shared_frames_events_max: u64,
    /// Bytes of the objects of these events.
    pub shared_frames_bytes_max: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            history_events_max: 100_000,
            history_bytes_max: 16 << 20,
            history_age_max: Duration::from_secs(300),
            history_at_start_revisions: 1_000,
            group_log_events_max: 256,
            shared_frames_events_max: 1_024,
            shared_frames_bytes_max: 4 << 20,
        }
    }
}

/// Why the cache does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// The revision has not happened, or is not known here yet. Ask again later.
    #[error("Too large resource version: {requested}, current: {current}")]
    TooLarge {
        /// What was asked for.
        requested: Revision,
        /// How far the cache or the store is.
        current: Revision,
    },
    /// The revision has been forgotten. Ask for a newer one.
    #[error("too old resource version: {requested} ({oldest})")]
    Expired {
        /// What was asked for.
        requested: Revision,
        /// The oldest revision that can be had.
        oldest: Revision,
    },
    /// The store or the cache cannot keep up. Come back in a second or more.
    #[error("{reason}")]
    Overloaded {
        /// What happened, for a person.
        reason: String,
    },
    /// The store cannot be reached. Try again later.
    #[error("{reason}")]
    Unavailable {
        /// What happened, for a person.
        reason: String,
    },
    /// A kind may neither live outside the registry's keys nor among those of another kind.
    #[error("the keys under {storage_prefix} are not free")]
    Overlapping {
        /// The prefix that was asked for.
        storage_prefix: Box<str>,
    },
}

/// The caches of all kinds that are served. They are fed until this is dropped.
pub struct WatchCaches {
    kinds: RwLock<BTreeMap<Box<str>, KindCache>>,
    origin: Arc<Origin>,
    commands: mpsc::Sender<Command>,
}

impl WatchCaches {
    /// Loads the kinds and follows the store from there. Must be called on a tokio runtime.
    pub async fn start(
        store: Arc<dyn Store>,
        kinds: Vec<KindLayout>,
        limits: CacheLimits,
        random: Random,
    ) -> Result<Self, CacheError> {
        let origin = Arc::new(Origin::new(store));
        let mut feeder = Feeder::new(Arc::clone(&origin), limits, random);
        let loaded = feeder.load(kinds).await?;
        let caches = loaded.into_iter().map(|cache| {
            let prefix = cache.layout().storage_prefix().into();
            (prefix, cache)
        });
        let caches: BTreeMap<_, _> = caches.collect();
        let (commands, obeyed) = mpsc::channel(COMMANDS_MAX);
        tokio::spawn(feeder.run(obeyed));
        origin.feed.loaded().await?;
        Ok(Self {
            kinds: RwLock::new(caches),
            origin,
            commands,
        })
    }

    /// The cache of the kind with this storage prefix.
    pub fn kind(&self, storage_prefix: &str) -> Option<KindCache> {
        self.kinds.read().get(storage_prefix).cloned()
    }

    /// The caches of all kinds with their storage prefixes.
    pub fn kinds(&self) -> Vec<(Box<str>, KindCache)> {
        let kinds = self.kinds.read();
        let pairs = kinds.iter();
        pairs
            .map(|(prefix, cache)| (prefix.clone(), cache.clone()))
            .collect()
    }

    /// Serves one more kind.
    pub async fn add(&self, layout: KindLayout) -> Result<KindCache, CacheError> {
        let prefix = layout.storage_prefix().into();
        let (reply, added) = oneshot::channel();
        self.command(Command::Add(layout, reply)).await?;
        let cache = added.await.map_err(|_| stopped())??;
        self.kinds.write().insert(prefix, cache.clone());
        Ok(cache)
    }

    /// Stops serving a kind. Its watches end.
    pub async fn remove(&self, storage_prefix: &str) -> Result<(), CacheError> {
        self.kinds.write().remove(storage_prefix);
        let (reply, removed) = oneshot::channel();
        self.command(Command::Remove(storage_prefix.into(), reply))
            .await?;
        removed.await.map_err(|_| stopped())
    }

    /// The revision up to which every kind has everything.
    pub fn revision(&self) -> Revision {
        self.origin.applied.get()
    }

    /// How the store has been followed so far.
    pub fn feed(&self) -> FeedStats {
        self.origin.feed.stats()
    }

    /// The store's newest revision. All who ask at the same time share one question.
    pub async fn newest_revision(&self, patience: Duration) -> Result<Revision, CacheError> {
        self.origin.newest_by(Instant::now() + patience).await
    }

    /// Whether every kind has everything up to a revision, or soon will.
    pub async fn reaches(&self, revision: Revision, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let reached = self.origin.applied.reach(revision, deadline).await;
        reached.is_ok() && self.origin.feed.is_following()
    }

    async fn command(&self, command: Command) -> Result<(), CacheError> {
        self.commands.send(command).await.map_err(|_| stopped())
    }
}

fn stopped() -> CacheError {
    CacheError::Unavailable {
        reason: "the watch cache has stopped".to_owned(),
    }
}
