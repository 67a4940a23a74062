//! The store's contract again, with everything read and followed through the watch cache.

use std::sync::Arc;

use bytes::Bytes;
use listwatch_server::{
    random::Random,
    registry::Scope,
    watch_cache::{
        Area, CacheError, CacheLimits, CachedObject, Event, Interest, KindCache, KindLayout,
        Snapshot, WatchCaches, WatchError, Watcher,
    },
};
use listwatch_store::{
    Change, ChangeBatch, Changes, ChangesError, Commit, CommitError, Entry, Follow, Key, KeyRange,
    MemoryStore, Page, Read, ReadError, Revision, Store, StoreFuture, Write, contract,
};

const PREFIX: &str = "/registry/bytes/";

#[tokio::test(start_paused = true)]
async fn a_cache_without_history_keeps_the_contract_of_a_store() {
    let limits = CacheLimits {
        history_events_max: 0,
        group_log_events_max: 1,
        ..CacheLimits::default()
    };
    contract::run(contract::Terms::paused(), async || {
        ThroughCache::new(limits).await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_with_history_reads_and_follows_as_a_store_does() {
    let terms = &contract::Terms::paused();
    let make = async || Arc::new(ThroughCache::new(CacheLimits::default()).await);
    contract::read::an_old_revision_is_read_as_it_was(&*make().await).await;
    contract::read::pages_at_one_revision_make_one_list(&*make().await).await;
    contract::read::a_future_revision_is_refused(&*make().await).await;
    contract::changes::every_change_comes_once_and_in_order(&*make().await).await;
    contract::changes::a_cursor_resumes_from_any_revision(&*make().await).await;
    contract::changes::a_commit_is_never_split(&*make().await, terms).await;
    contract::changes::a_change_tells_what_it_replaced(&*make().await).await;
    contract::changes::only_the_range_is_followed(&*make().await).await;
    contract::changes::a_waiting_cursor_is_woken(&make().await, terms).await;
    contract::changes::a_cursor_in_the_future_begins_after_it(&*make().await, terms).await;
    contract::changes::a_dropped_wait_loses_nothing(&*make().await).await;
    contract::changes::many_followers_see_the_same_order(&make().await).await;
    contract::changes::an_acknowledged_commit_is_seen_by_reads_and_cursors(&*make().await).await;
}

/// A store in memory of which only the cache is read. Keys and values become names and objects.
struct ThroughCache {
    store: Arc<MemoryStore>,
    cache: KindCache,
    _caches: WatchCaches,
}

impl ThroughCache {
    async fn new(limits: CacheLimits) -> Self {
        let store = Arc::new(MemoryStore::new());
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let layout = KindLayout::new(PREFIX, Scope::Cluster, []);
        let caches = WatchCaches::start(shared, vec![layout], limits, Random::seeded(1))
            .await
            .unwrap();
        Self {
            store,
            cache: caches.kind(PREFIX).unwrap(),
            _caches: caches,
        }
    }
}

impl Store for ThroughCache {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        Box::pin(async move {
            let snapshot = match read.at {
                None => self.cache.fresh().await,
                Some(revision) => self.cache.exactly(revision).await,
            };
            snapshot
                .map(|snapshot| page(&snapshot, &read))
                .map_err(read_error)
        })
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        Box::pin(async move {
            let mut outer = commit;
            for requirement in &mut outer.requirements {
                requirement.key = outer_key(requirement.key.as_bytes());
            }
            for operation in &mut outer.operations {
                operation.key = outer_key(operation.key.as_bytes());
                if let Write::Put(put) = &mut operation.write {
                    put.value = outer_value(&put.value);
                }
            }
            self.store.commit(outer).await.map_err(|error| match error {
                CommitError::Conflict { key, current } => CommitError::Conflict {
                    key: inner_key(&key),
                    current: current.map(inner_entry),
                },
                other => other,
            })
        })
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        let Follow { range, after, .. } = follow;
        Box::pin(async move {
            let everything = Interest::everything_in(Area::Everywhere);
            // A cursor on the forgotten past is refused at once.
            let mut probe = self.cache.watch(&everything, after);
            tokio::select! {
                biased;
                batch = probe.next(1) => drop(batch.map_err(changes_error)?),
                () = settled() => {}
            }
            let changes = ThroughWatcher {
                watcher: self.cache.watch(&everything, after),
                cache: self.cache.clone(),
                range,
                told: after,
            };
            Ok(Box::new(changes) as Box<dyn Changes>)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        self.store.compact(before)
    }
}

struct ThroughWatcher {
    watcher: Watcher,
    cache: KindCache,
    range: KeyRange,
    told: Revision,
}

impl Changes for ThroughWatcher {
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>> {
        Box::pin(self.read())
    }
}

impl ThroughWatcher {
    /// Waits for events, or for the cache to go past what was told.
    async fn read(&mut self) -> Result<ChangeBatch, ChangesError> {
        loop {
            let (events, through) = tokio::select! {
                biased;
                batch = self.watcher.next(1 << 20) => {
                    let batch = batch.map_err(changes_error)?;
                    (batch.events, batch.through)
                }
                _ = self.cache.at_least(self.told.next()) => (Vec::new(), self.watcher.position()),
            };
            if through <= self.told {
                tokio::task::yield_now().await;
                continue;
            }
            self.told = through;
            let changes = events.iter().map(|event| change(&event.event));
            return Ok(ChangeBatch {
                changes: changes
                    .filter(|change| self.range.contains(&change.key))
                    .collect(),
                through,
            });
        }
    }
}

async fn settled() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn page(snapshot: &Snapshot, read: &Read) -> Page {
    let all = snapshot.select(&Interest::everything_in(Area::Everywhere), b"");
    let entries = all.map(|object| entry(object));
    let mut found: Vec<Entry> = entries
        .filter(|entry| read.range.contains(&entry.key))
        .collect();
    let kept = read.limit.unwrap_or(found.len()).min(found.len());
    let remaining = found.len() - kept;
    found.truncate(kept);
    Page {
        revision: snapshot.revision(),
        entries: found,
        remaining,
    }
}

fn change(event: &Event) -> Change {
    Change {
        revision: event.revision(),
        key: inner_key(event.key()),
        value: event
            .object()
            .map(|object| inner_value(object.stored().value())),
        previous: event.previous().map(|object| entry(object)),
    }
}

fn entry(object: &CachedObject) -> Entry {
    inner_entry(Entry {
        key: object.key().clone(),
        revision: object.revision(),
        value: object.stored().value().clone(),
    })
}

fn inner_entry(entry: Entry) -> Entry {
    Entry {
        key: inner_key(&entry.key),
        revision: entry.revision,
        value: inner_value(&entry.value),
    }
}

fn outer_key(key: &[u8]) -> Key {
    Key::new(format!("{PREFIX}{}", hex(key)))
}

fn inner_key(key: &Key) -> Key {
    Key::new(unhex(&key.as_bytes()[PREFIX.len()..]))
}

/// `{"metadata":{},"data":"…"}`
fn outer_value(value: &[u8]) -> Bytes {
    format!(r#"{{"metadata":{{}},"data":"{}"}}"#, hex(value)).into()
}

fn inner_value(value: &Bytes) -> Bytes {
    let around = r#"{"metadata":{},"data":""#.len();
    unhex(&value[around..value.len() - 2]).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    text.chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn read_error(error: CacheError) -> ReadError {
    match error {
        CacheError::TooLarge { requested, current } => ReadError::Future {
            requested,
            newest: current,
        },
        CacheError::Expired { requested, oldest } => ReadError::Compacted { requested, oldest },
        CacheError::Overloaded { reason } => ReadError::Overloaded { reason },
        CacheError::Unavailable { .. } | CacheError::Overlapping { .. } => ReadError::Unavailable {
            reason: error.to_string(),
        },
    }
}

fn changes_error(error: WatchError) -> ChangesError {
    match error {
        WatchError::Expired { requested, oldest } => ChangesError::Compacted { requested, oldest },
        WatchError::Removed | WatchError::Unavailable { .. } => ChangesError::Unavailable {
            reason: error.to_string(),
        },
    }
}
