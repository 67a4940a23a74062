//! Informers shared by all who want the same, and stopped when the last of them goes.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
    ops::Deref,
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use thiserror::Error;
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout_at},
};

use super::{InformerStopped, SharedInformer, StartError};
use crate::lister_watcher::BoxFuture;

/// Informers by what they are about.
///
/// Clones are the same factory. Dropping it leaves its informers to those who use them.
#[derive(Clone)]
pub struct InformerFactory {
    shared: Arc<Shared>,
}

/// What an informer is about. Who asks for the same key and type gets the same informer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InformerKey {
    /// Which source, such as the address of a cluster.
    pub source: String,
    /// Which kind, such as `apps/v1/deployments`.
    pub resource: String,
    /// Which namespace; `None` for all.
    pub namespace: Option<String>,
    /// Which of them, in the source's own words; `None` for all.
    pub selector: Option<String>,
}

/// One user's share in an informer, which it dereferences to.
///
/// When the last share is dropped the informer stops, after the factory's linger. Clones of the
/// [`SharedInformer`] itself do not count.
pub struct InformerShare<T: Send + Sync + 'static> {
    informer: SharedInformer<T>,
    place: Place,
    factory: Arc<Shared>,
}

/// Why the factory gave no informer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FactoryError {
    /// It has been shut down.
    #[error("the informer factory has been shut down")]
    ShutDown,
    /// It has been started, and there is no Tokio runtime here to start the informer on.
    #[error("an informer is started within a Tokio runtime")]
    NoRuntime,
}

/// Some informers have not synced in time.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("not synced: {}", laggards.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
pub struct NotAllSynced {
    /// Which, in the order of their keys.
    pub laggards: Vec<InformerKey>,
}

struct Shared {
    state: Mutex<State>,
    linger: Duration,
}

struct State {
    informers: BTreeMap<PlaceKey, Entry>,
    next_id: u64,
    life: Life,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Unstarted,
    Started,
    ShutDown,
}

type PlaceKey = (InformerKey, TypeId);

/// Where an informer stands, and which of those that stood there.
#[derive(Clone)]
struct Place {
    key: PlaceKey,
    id: u64,
}

struct Entry {
    informer: Arc<dyn AnyInformer>,
    id: u64,
    shares: usize,
    /// How often the last share was given back.
    idle_count: u64,
}

impl InformerFactory {
    /// An empty factory. An informer stops this long after its last user went, so that one who
    /// comes meanwhile finds it filled.
    pub fn new(linger: Duration) -> Self {
        let state = State {
            informers: BTreeMap::new(),
            next_id: 0,
            life: Life::Unstarted,
        };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                linger,
            }),
        }
    }

    /// A share in the informer with this key, which is made if there is none that runs. In a
    /// factory that has been started it is started at once.
    pub fn informer<T: Send + Sync + 'static>(
        &self,
        key: InformerKey,
        make: impl FnOnce() -> SharedInformer<T>,
    ) -> Result<InformerShare<T>, FactoryError> {
        let key = (key, TypeId::of::<T>());
        let found = self.shared.join(&mut *self.shared.open()?, &key);
        if let Some(share) = found {
            return Ok(share);
        }
        // Made while nobody waits, since making may itself ask this factory.
        let made = make();
        let mut state = self.shared.open()?;
        match self.shared.join(&mut state, &key) {
            Some(share) => Ok(share),
            None => self.shared.insert(&mut state, key, &made),
        }
    }

    /// Starts all informers that have not been, and from now on each new one at once.
    pub fn start(&self) -> Result<(), FactoryError> {
        let mut state = self.shared.open()?;
        for entry in state.informers.values() {
            start(&*entry.informer)?;
        }
        state.life = Life::Started;
        Ok(())
    }

    /// Waits until all informers of this moment have synced, or names those that have not.
    pub async fn wait_for_all_synced(&self, patience: Duration) -> Result<(), NotAllSynced> {
        let deadline = Instant::now() + patience;
        let mut laggards = Vec::new();
        for (key, informer) in self.shared.informers() {
            let synced = timeout_at(deadline, informer.synced()).await;
            if !matches!(synced, Ok(Ok(()))) {
                laggards.push(key);
            }
        }
        match laggards.is_empty() {
            true => Ok(()),
            false => Err(NotAllSynced { laggards }),
        }
    }

    /// Stops all informers and waits for their end. Nothing can be asked of it afterwards.
    pub async fn shut_down(&self) {
        let informers = {
            let mut state = self.shared.state.lock();
            state.life = Life::ShutDown;
            std::mem::take(&mut state.informers)
        };
        for entry in informers.values() {
            entry.informer.stop();
        }
        for entry in informers.values() {
            entry.informer.ended().await;
        }
    }

    /// The keys of all informers, in order.
    pub fn keys(&self) -> Vec<InformerKey> {
        let informers = self.shared.informers();
        informers.into_iter().map(|(key, _)| key).collect()
    }
}

impl Shared {
    fn open(&self) -> Result<MutexGuard<'_, State>, FactoryError> {
        let state = self.state.lock();
        match state.life {
            Life::Unstarted | Life::Started => Ok(state),
            Life::ShutDown => Err(FactoryError::ShutDown),
        }
    }

    fn join<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        state: &mut State,
        key: &PlaceKey,
    ) -> Option<InformerShare<T>> {
        let entry = state.informers.get_mut(key);
        let entry = entry.filter(|entry| !entry.informer.has_stopped())?;
        let informer = Arc::clone(&entry.informer).as_any();
        let informer = informer.downcast::<SharedInformer<T>>();
        let informer = informer.expect("the key holds the type");
        entry.shares += 1;
        Some(self.share(&informer, key, entry.id))
    }

    fn insert<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        state: &mut State,
        key: PlaceKey,
        informer: &SharedInformer<T>,
    ) -> Result<InformerShare<T>, FactoryError> {
        if state.life == Life::Started {
            start(informer)?;
        }
        let id = state.next_id;
        state.next_id += 1;
        let share = self.share(informer, &key, id);
        let entry = Entry {
            informer: Arc::new(informer.clone()),
            id,
            shares: 1,
            idle_count: 0,
        };
        state.informers.insert(key, entry);
        Ok(share)
    }

    fn share<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        informer: &SharedInformer<T>,
        key: &PlaceKey,
        id: u64,
    ) -> InformerShare<T> {
        InformerShare {
            informer: informer.clone(),
            place: Place {
                key: key.clone(),
                id,
            },
            factory: Arc::clone(self),
        }
    }

    fn informers(&self) -> Vec<(InformerKey, Arc<dyn AnyInformer>)> {
        let state = self.state.lock();
        let informers = state.informers.iter();
        informers
            .map(|((key, _), entry)| (key.clone(), Arc::clone(&entry.informer)))
            .collect()
    }

    /// Gives a share back. The last one stops the informer, now or after the linger.
    fn leave(self: &Arc<Self>, place: &Place) {
        let idle_count = match self.state.lock().entry(place) {
            Some(entry) => entry.give_back(),
            None => None,
        };
        let Some(idle_count) = idle_count else { return };
        match Handle::try_current() {
            Ok(runtime) if !self.linger.is_zero() => {
                let (factory, place) = (Arc::clone(self), place.clone());
                runtime.spawn(async move {
                    sleep(factory.linger).await;
                    factory.stop_idle(&place, idle_count);
                });
            }
            Ok(_) | Err(_) => self.stop_idle(place, idle_count),
        }
    }

    fn stop_idle(&self, place: &Place, idle_count: u64) {
        let entry = self.state.lock().take_idle(place, idle_count);
        if let Some(entry) = entry {
            entry.informer.stop();
        }
    }
}

impl State {
    fn entry(&mut self, place: &Place) -> Option<&mut Entry> {
        let entry = self.informers.get_mut(&place.key);
        entry.filter(|entry| entry.id == place.id)
    }

    fn take_idle(&mut self, place: &Place, idle_count: u64) -> Option<Entry> {
        let entry = self.entry(place)?;
        let still_idle = entry.shares == 0 && entry.idle_count == idle_count;
        still_idle
            .then(|| self.informers.remove(&place.key))
            .flatten()
    }
}

impl Entry {
    /// Counts one share less; if that was the last, how often that has happened.
    fn give_back(&mut self) -> Option<u64> {
        self.shares -= 1;
        if self.shares > 0 {
            return None;
        }
        self.idle_count += 1;
        Some(self.idle_count)
    }
}

/// An informer whose type only its key knows.
trait AnyInformer: Send + Sync {
    fn start(&self) -> Result<(), StartError>;
    fn stop(&self);
    fn has_stopped(&self) -> bool;
    fn synced(&self) -> BoxFuture<'_, Result<(), InformerStopped>>;
    fn ended(&self) -> BoxFuture<'_, ()>;
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Send + Sync + 'static> AnyInformer for SharedInformer<T> {
    fn start(&self) -> Result<(), StartError> {
        SharedInformer::start(self)
    }

    fn stop(&self) {
        SharedInformer::stop(self);
    }

    fn has_stopped(&self) -> bool {
        *self.shared.life.borrow() == super::Life::Stopped
    }

    fn synced(&self) -> BoxFuture<'_, Result<(), InformerStopped>> {
        Box::pin(self.wait_until_synced())
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shut_down())
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

fn start(informer: &dyn AnyInformer) -> Result<(), FactoryError> {
    match informer.start() {
        Ok(()) | Err(StartError::AlreadyStarted | StartError::Stopped(_)) => Ok(()),
        Err(StartError::NoRuntime) => Err(FactoryError::NoRuntime),
    }
}

impl<T: Send + Sync + 'static> Deref for InformerShare<T> {
    type Target = SharedInformer<T>;

    fn deref(&self) -> &SharedInformer<T> {
        &self.informer
    }
}

impl<T: Send + Sync + 'static> Clone for InformerShare<T> {
    fn clone(&self) -> Self {
        if let Some(entry) = self.factory.state.lock().entry(&self.place) {
            entry.shares += 1;
        }
        Self {
            informer: self.informer.clone(),
            place: self.place.clone(),
            factory: Arc::clone(&self.factory),
        }
    }
}

impl<T: Send + Sync + 'static> Drop for InformerShare<T> {
    fn drop(&mut self) {
        self.factory.leave(&self.place);
    }
}

/// `apps/v1/deployments in default where app=web of https://10.0.0.1`.
impl fmt::Display for InformerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.resource)?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, " in {namespace}")?;
        }
        if let Some(selector) = &self.selector {
            write!(formatter, " where {selector}")?;
        }
        write!(formatter, " of {}", self.source)
    }
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("InformerFactory")
            .field("keys", &self.keys())
            .finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for InformerShare<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.informer.fmt(formatter)
    }
}
