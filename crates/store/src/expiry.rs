//! Which keys end by themselves, and when; and the task that ends them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::Notify, task::JoinHandle};

use crate::{Key, Revision, StoreFuture};

/// Keys deleted in one round. The rest follows in the next, at once.
pub(crate) const ROUND_KEYS_MAX: usize = 128;

/// The longest wait before the clock is looked at again, in case it has been set.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The wait after a round that could not be written.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// Keys with a lifetime, in the order of their ends.
#[derive(Debug)]
pub(crate) struct ExpiryQueue<Time>(BTreeSet<(Time, Revision, Key)>);

impl<Time: Copy + Ord> ExpiryQueue<Time> {
    /// No key expires.
    pub(crate) fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// The value that `revision` wrote ends at `end`.
    pub(crate) fn insert(&mut self, end: Time, revision: Revision, key: Key) {
        self.0.insert((end, revision, key));
    }

    /// That value was replaced or removed.
    pub(crate) fn remove(&mut self, end: Time, revision: Revision, key: &Key) {
        self.0.remove(&(end, revision, key.clone()));
    }

    /// When the first of them ends.
    pub(crate) fn first(&self) -> Option<Time> {
        self.0.first().map(|(end, ..)| *end)
    }

    /// Values that have ended by `now`, [`ROUND_KEYS_MAX`] at the most.
    pub(crate) fn due(&self, now: Time) -> Vec<(Key, Revision)> {
        self.0
            .iter()
            .take_while(|(end, ..)| *end <= now)
            .take(ROUND_KEYS_MAX)
            .map(|(_, revision, key)| (key.clone(), *revision))
            .collect()
    }
}

/// What there is to do about lifetimes.
#[derive(Debug)]
pub(crate) enum Due {
    /// These values have ended.
    Now(Vec<(Key, Revision)>),
    /// The next one ends after this long.
    After(Duration),
    /// No value ends by itself.
    Never,
}

/// A store whose values may end by themselves.
pub(crate) trait Expiring: Send + Sync + 'static {
    /// What there is to do at this moment.
    fn due(&self) -> Due;

    /// Deletes the values that are still the ones named. An error means: try again later.
    fn delete(
        self: Arc<Self>,
        ended: Vec<(Key, Revision)>,
    ) -> StoreFuture<'static, Result<(), ExpiryFailed>>;
}

/// The store could not be written.
#[derive(Debug)]
pub(crate) struct ExpiryFailed;

/// The task that ends values, from the first lifetime until the store is dropped.
#[derive(Debug, Default)]
pub(crate) struct Expirer {
    changed: Arc<Notify>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Expirer {
    /// A value with a lifetime was written, or may be there.
    pub(crate) fn wake<S: Expiring>(&self, store: &Arc<S>) {
        let mut task = self.task.lock();
        // Without a runtime nothing ends now; the next opening finds what has ended.
        if task.as_ref().is_none_or(JoinHandle::is_finished)
            && let Ok(runtime) = Handle::try_current()
        {
            let changed = Arc::clone(&self.changed);
            *task = Some(runtime.spawn(expire(Arc::downgrade(store), changed)));
        }
        self.changed.notify_one();
    }
}

impl Drop for Expirer {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}

async fn expire<S: Expiring>(store: Weak<S>, changed: Arc<Notify>) {
    while let Some(store) = store.upgrade() {
        let wait = expire_round(store).await;
        tokio::select! {
            () = wait_for(wait) => {}
            () = changed.notified() => {}
        }
    }
}

/// Deletes what is due and says how long to wait then; `None` until something changes.
async fn expire_round<S: Expiring>(store: Arc<S>) -> Option<Duration> {
    match store.due() {
        Due::Now(ended) => match store.delete(ended).await {
            Ok(()) => Some(Duration::ZERO),
            Err(ExpiryFailed) => Some(RETRY_WAIT),
        },
        Due::After(wait) => Some(wait.min(WAIT_MAX)),
        Due::Never => None,
    }
}

async fn wait_for(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
