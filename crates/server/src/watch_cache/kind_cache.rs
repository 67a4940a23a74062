//! The readers' half of one kind's cache.

use std::{collections::VecDeque, sync::Arc};

use arc_swap::ArcSwap;
use listwatch_store::{Entry, Key, Page, Read, ReadError, Revision};
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use super::{
    CacheError, CacheLimits,
    cached_object::CachedObject,
    interest::{Interest, Judge},
    journal::{Journal, Recall},
    kind_layout::KindLayout,
    origin::Origin,
    snapshot::Snapshot,
    unreadable::{UnreadableValue, UnreadableValues},
    view::View,
    watcher::Watcher,
};

/// States read back from the store that are kept for the next page, at the most.
const PAST_VIEWS_MAX: usize = 2;

/// All objects of one kind, now and in the past, and the watches on them. Cheap to clone.
#[derive(Clone)]
pub struct KindCache {
    shared: Arc<KindShared>,
}

/// What the cache of a kind holds at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindStats {
    /// Objects.
    pub objects: usize,
    /// Open watches.
    pub watchers: usize,
    /// Distinct interests of these watches.
    pub groups: usize,
    /// Events that watches can resume from without asking the store.
    pub history_events: usize,
    /// Bytes that these events keep.
    pub history_bytes: usize,
    /// Events since the cache was loaded.
    pub events_applied: u64,
    /// The revision up to which the cache has everything.
    pub revision: Revision,
}

/// What readers, watchers and the feeder of one kind share.
///
/// Locks: [`Journal`]'s, `past` and that of `unreadable` are never held together, and none across
/// an await.
pub(super) struct KindShared {
    pub(super) layout: Arc<KindLayout>,
    pub(super) origin: Arc<Origin>,
    pub(super) journal: RwLock<Journal>,
    /// The newest state. The feeder replaces it before it publishes the revision.
    view: ArcSwap<View>,
    past: Mutex<VecDeque<PastView>>,
    pub(super) unreadable: UnreadableValues,
}

struct PastView {
    revision: Revision,
    view: Arc<View>,
    used: Instant,
}

impl KindCache {
    pub(super) fn new(shared: Arc<KindShared>) -> Self {
        Self { shared }
    }

    /// What the cache has now. It may be behind the store, by less than a moment as a rule.
    pub fn latest(&self) -> Snapshot {
        // The revision is read before the state, which therefore has all that it says.
        let applied = self.shared.origin.applied.get();
        let view = self.shared.view.load_full();
        let revision = applied.max(view.revision);
        Snapshot::new(view, Arc::clone(&self.shared.layout), revision)
    }

    /// A state that has every commit acknowledged before this was called.
    pub async fn fresh(&self) -> Result<Snapshot, CacheError> {
        self.shared.origin.catch_up().await?;
        Ok(self.latest())
    }

    /// A state not older than a revision, which it waits for.
    pub async fn at_least(&self, revision: Revision) -> Result<Snapshot, CacheError> {
        match self.shared.origin.reach(revision).await {
            Ok(()) => Ok(self.latest()),
            Err(current) => Err(CacheError::TooLarge {
                requested: revision,
                current,
            }),
        }
    }

    /// The state at exactly this revision, from memory or else from the store.
    pub async fn exactly(&self, revision: Revision) -> Result<Snapshot, CacheError> {
        self.shared.origin.reach_committed(revision).await?;
        let view = match self.shared.recall(revision) {
            Some(view) => view,
            None => self.shared.read_past(revision).await?,
        };
        Ok(Snapshot::new(
            view,
            Arc::clone(&self.shared.layout),
            revision,
        ))
    }

    /// Follows the events after a revision, which may lie in the future.
    ///
    /// When the past that it needs is gone, [`Watcher::next`] says so.
    pub fn watch(&self, interest: &Interest, after: Revision) -> Watcher {
        Watcher::new(Arc::clone(&self.shared), interest, after)
    }

    /// Judges objects of this kind by an interest.
    pub(crate) fn judge(&self, interest: &Interest) -> Judge {
        Judge::new(interest, &self.shared.layout)
    }

    /// The newest state that the cache has of the object under a key.
    pub fn cached(&self, key: &Key) -> Option<Arc<CachedObject>> {
        let view = self.shared.view.load();
        view.objects.get(key.as_bytes()).cloned()
    }

    /// How many events of the kind there were since the cache was loaded. While it stays, so does
    /// everything of the kind.
    pub fn events_applied(&self) -> u64 {
        self.shared.view.load().sequence
    }

    /// The object in an entry that was read from the store.
    pub fn decode(&self, entry: Entry) -> Result<Arc<CachedObject>, UnreadableValue> {
        self.shared.decode(entry)
    }

    /// The value under a key that is there and cannot be decoded.
    pub fn unreadable(&self, key: &Key) -> Option<UnreadableValue> {
        self.shared.unreadable.get(key.as_bytes())
    }

    /// How many values of the kind cannot be decoded.
    pub fn unreadable_len(&self) -> usize {
        self.shared.unreadable.len()
    }

    /// The layout of the kind.
    pub fn layout(&self) -> &KindLayout {
        &self.shared.layout
    }

    /// Numbers for people.
    pub fn stats(&self) -> KindStats {
        let snapshot = self.latest();
        let events_applied = self.shared.view.load().sequence;
        let journal = self.shared.journal.read();
        KindStats {
            objects: snapshot.len(),
            watchers: journal.fanout.watchers(),
            groups: journal.fanout.groups(),
            history_events: journal.history.len(),
            history_bytes: journal.history.bytes(),
            events_applied,
            revision: snapshot.revision(),
        }
    }
}

impl KindShared {
    pub(super) fn new(
        layout: Arc<KindLayout>,
        origin: Arc<Origin>,
        view: Arc<View>,
        limits: CacheLimits,
    ) -> Self {
        let journal = Journal::new(Arc::clone(&layout), view.revision, limits);
        Self {
            layout,
            origin,
            journal: RwLock::new(journal),
            view: ArcSwap::new(view),
            past: Mutex::new(VecDeque::new()),
            unreadable: UnreadableValues::default(),
        }
    }

    /// Makes the newest state visible. Its events are in the journal already.
    pub(super) fn publish(&self, view: Arc<View>) {
        self.view.store(view);
    }

    /// Lets go of states of the far past that nobody has used since.
    pub(super) fn forget_past(&self, unused_since: Instant) {
        let unused = |past: &PastView| past.used < unused_since;
        self.past.lock().retain(|past| !unused(past));
    }

    /// The object in an entry of the past; one that cannot be read is as good as absent.
    pub(super) fn read_object(&self, entry: Entry) -> Option<Arc<CachedObject>> {
        self.decode(entry).ok()
    }

    /// The object in an entry of the present; of one that cannot be read, note is taken.
    pub(super) fn read_present(&self, entry: Entry) -> Option<Arc<CachedObject>> {
        let key = entry.key.clone();
        match self.decode(entry) {
            Ok(object) => {
                self.unreadable.forget(&key);
                Some(object)
            }
            Err(value) => {
                self.unreadable.note(value);
                None
            }
        }
    }

    fn decode(&self, entry: Entry) -> Result<Arc<CachedObject>, UnreadableValue> {
        let Entry {
            key,
            revision,
            value,
        } = entry;
        CachedObject::read(&self.layout, key.clone(), revision, value)
            .map(Arc::new)
            .map_err(|reason| UnreadableValue {
                key,
                revision,
                reason,
            })
    }

    /// The objects of a page, in order; those that `known` has in the same state are shared.
    pub(super) fn read_objects(&self, page: Page, known: &View) -> Vec<Arc<CachedObject>> {
        let entries = page.entries.into_iter();
        let read = entries.filter_map(|entry| {
            let known = known.objects.get(entry.key.as_bytes());
            match known.filter(|object| object.revision() == entry.revision) {
                Some(object) => Some(Arc::clone(object)),
                None => self.read_object(entry),
            }
        });
        read.collect()
    }

    /// The state at a revision that has been applied, from memory; `None` if it is not there.
    fn recall(&self, revision: Revision) -> Option<Arc<View>> {
        let newest = self.view.load_full();
        let Recall { from, undo } = self.journal.read().recall(revision, &newest)?;
        if undo.is_empty() {
            return Some(from);
        }
        let mut view = View::clone(&from);
        for event in &undo {
            view.undo(event, &self.layout);
        }
        let view = Arc::new(view);
        self.journal.write().keep(&view);
        Some(view)
    }

    /// The state at a revision, from the store.
    async fn read_past(&self, revision: Revision) -> Result<Arc<View>, CacheError> {
        if let Some(view) = self.kept_past(revision) {
            // What the store has forgotten must not be had through its cache either.
            let still_there = self
                .origin
                .store
                .read(Read::revision_only().at(revision))
                .await;
            return Ok(still_there.map(|_| view)?);
        }
        let read = Read::newest(self.layout.range()).at(revision);
        let page = self
            .origin
            .store
            .read(read)
            .await
            .map_err(CacheError::from)?;
        let known = self.view.load_full();
        let objects = self.read_objects(page, &known);
        let view = Arc::new(View::loaded(&objects, revision, &self.layout));
        let mut past = self.past.lock();
        past.truncate(PAST_VIEWS_MAX - 1);
        past.push_front(PastView {
            revision,
            view: Arc::clone(&view),
            used: Instant::now(),
        });
        Ok(view)
    }

    fn kept_past(&self, revision: Revision) -> Option<Arc<View>> {
        let mut past = self.past.lock();
        let kept = past.iter_mut().find(|past| past.revision == revision)?;
        kept.used = Instant::now();
        Some(Arc::clone(&kept.view))
    }
}

impl From<ReadError> for CacheError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Compacted { requested, oldest } => Self::Expired { requested, oldest },
            ReadError::Future { requested, newest } => Self::TooLarge {
                requested,
                current: newest,
            },
            ReadError::Overloaded { reason } => Self::Overloaded { reason },
            ReadError::Unavailable { reason } => Self::Unavailable { reason },
        }
    }
}

/// An entry under its key.
pub(super) fn entry(key: Key, revision: Revision, value: bytes::Bytes) -> Entry {
    Entry {
        key,
        revision,
        value,
    }
}
