//! One watch, one cache, any number of handlers.
//!
//! Owns the life of an informer: what runs, what it is told to do, and its end. The order of what
//! handlers are told is the log's business.

mod builder;
mod cursor;
mod delivery;
mod factory;
mod handler;
mod log;
mod processor;
mod registration;
mod resync;
mod staleness;
mod subscription;
mod tally;
mod tasks;
mod telling;

use std::{
    any::type_name,
    fmt,
    hash::Hash,
    sync::{Arc, OnceLock},
};

use fastrand::Rng;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::{runtime::Handle, sync::watch};

use self::{
    cursor::Cursor, delivery::Delivery, log::Log, resync::ResyncTimer, staleness::Progress,
    tally::Tally, tasks::Tasks,
};
use crate::{
    Cache, CacheWriter, Decoder, DeltaQueue, Index, Lister, ListerWatcher, Object, Reflector,
    ReflectorStatus, indexed_cache::IndexNameTaken,
};

pub use self::{
    builder::InformerBuilder,
    factory::{FactoryError, InformerFactory, InformerKey, InformerShare, NotAllSynced},
    handler::{Bound, Filtered, Handler, HandlerOptions, PanicPolicy},
    log::COALESCE_CHANGES_MAX,
    registration::{HandlerRemoved, Registration},
    resync::RESYNC_PERIOD_MIN,
    staleness::{InformerStopped, NotReady, WaitError},
    subscription::Subscription,
    tally::{Backlog, HandlerStatus},
};

/// Keeps a cache of what a source holds, and tells handlers of each change.
///
/// Clones are the same informer. It stops when told to, or when the last clone and the last
/// [`Subscription`] are dropped; so a handler that holds a clone has to be removed by hand.
///
/// ```
/// # use std::sync::Arc;
/// # use listwatch::{Decoder, SharedInformer, source::ScriptedSource};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let source = ScriptedSource::new();
/// # source.put("default/web", r#"{"replicas": 1}"#);
/// let informer = SharedInformer::new(Arc::new(source), Decoder::<serde_json::Value>::json());
/// let handler = informer.add_handler(|notification| println!("{notification}"))?;
/// informer.start()?;
/// handler.synced().await?;
/// assert_eq!(informer.lister().get("default/web")?.body["replicas"], 1);
/// informer.shut_down().await;
/// # Ok(())
/// # }
/// ```
///
/// # What it promises
///
/// **The cache.** The states of one object in the cache are a subsequence of the states it had at
/// the source, in the same order; so are those that any one handler is told. An object that was
/// deleted and made again while nobody looked may show as one update: its uid tells. Changes that
/// were applied together become visible together, and a reader waits for nobody. What has not
/// changed keeps its identity over a relist.
///
/// **Order.** A handler is told of a change after the cache shows it, one notification at a time.
/// All handlers are told of all objects in one order, that of the log. What a handler is told
/// follows from what it was told before: an object is added while it is not known, updated from
/// the state that was told last, deleted while it is known; only the source's word of the deletion
/// of an object that nobody knew is passed on as it is. The same version of an object is not told
/// twice, but for a resync.
///
/// **Relists.** What a list finds changed is told as if it had been watched, deletions first. Such
/// a deletion carries the last known state and [`FinalState::Unknown`](crate::FinalState); one
/// that the source told carries the state in which the object was deleted. A list that finds
/// nothing new tells nothing. An object that could not be decoded is not taken for deleted.
///
/// **Beginning.** A handler can be added at any time. It is told what the cache holds at that
/// moment as added, with [`Origin::Initial`](crate::Origin), and then every change after that
/// moment, none missing and none twice. One that came before the first list is told the first list
/// so. It has synced when it has taken in all of these; the informer has synced when the first
/// list has been applied.
///
/// **Slowness.** Nothing is kept without bound. Each handler chooses whether it holds up everybody
/// else ([`Bound::Block`]), or is told the latest state of each object when it falls too far
/// behind ([`Bound::Coalesce`]), and perhaps that this has happened ([`Bound::Drop`]). In each case
/// what it was told adds up to the cache.
///
/// **Resync.** A handler that asks for it is told every object again, by its own clock, in order
/// with the changes around it, without a request to the source.
///
/// **Failure.** A handler that panics costs itself one notification, or its place if it chose so,
/// and nobody else anything; it still syncs. A source that fails is asked again for ever.
///
/// **End.** A removed handler is not called again once [`Registration::removed`] has returned.
/// After [`SharedInformer::shut_down`] nothing of the informer runs: what waited is not told, all
/// handlers have been dropped, and the cache can still be read.
///
/// **Staleness.** After [`SharedInformer::wait_for`] the cache shows everything up to that version,
/// and so does what [`SharedInformer::read_at_least`] returns: who writes, and waits for the
/// version that the write returned, reads what was written.
pub struct SharedInformer<T> {
    shared: Arc<Shared<T>>,
    guard: Arc<StopOnDrop<T>>,
}

struct Shared<T> {
    name: String,
    queue: DeltaQueue<T>,
    cache: Cache<T>,
    log: Arc<Log<T>>,
    progress: watch::Sender<Progress>,
    life: watch::Sender<Life>,
    reflector: Option<watch::Receiver<ReflectorStatus>>,
    unstarted: Mutex<Option<Unstarted<T>>>,
    runtime: OnceLock<Handle>,
    tasks: Tasks,
    random: Mutex<Rng>,
}

/// Where deltas come from: a queue, and who fills it if the informer has to see to that.
struct Feed<T> {
    queue: DeltaQueue<T>,
    reflector: Option<Reflector<T>>,
}

/// What waits for the start.
struct Unstarted<T> {
    writer: CacheWriter<T>,
    reflector: Option<Reflector<T>>,
}

/// What an informer is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Built,
    Running,
    Stopped,
}

struct StopOnDrop<T>(Arc<Shared<T>>);

/// Nothing more comes to a cursor.
struct Ended;

/// Why an informer was not started.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StartError {
    /// It was started before. It goes on as if nothing had happened.
    #[error("the informer has been started before")]
    AlreadyStarted,
    /// It has stopped, and an informer runs once.
    #[error(transparent)]
    Stopped(#[from] InformerStopped),
    /// There is no Tokio runtime here to run on.
    #[error("an informer is started within a Tokio runtime")]
    NoRuntime,
}

/// Why a handler was not added.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum AddHandlerError {
    /// The informer has stopped.
    #[error("the handler was not added: {0}")]
    Stopped(#[from] InformerStopped),
    /// There is no Tokio runtime here, and the informer has not been started within one.
    #[error("the handler was not added: there is no Tokio runtime to call it on")]
    NoRuntime,
}

impl<T: Send + Sync + 'static> SharedInformer<T> {
    /// An informer of what a source holds, with the settings that suit most.
    pub fn new(source: Arc<dyn ListerWatcher>, decoder: Decoder<T>) -> Self {
        Self::builder(source, decoder).build()
    }

    /// An informer of what a source holds, with settings to choose.
    pub fn builder(source: Arc<dyn ListerWatcher>, decoder: Decoder<T>) -> InformerBuilder<T> {
        InformerBuilder::new(source, decoder)
    }

    /// An informer that is fed through a queue by other means than a source. It stops when the
    /// queue is closed.
    pub fn from_queue(queue: DeltaQueue<T>) -> Self {
        let feed = Feed {
            queue,
            reflector: None,
        };
        let name = short_name::<T>().to_owned();
        Self::assemble(name, Rng::new(), feed, CacheWriter::new())
    }

    fn assemble(
        name: String,
        random: Rng,
        feed: Feed<T>,
        (writer, cache): (CacheWriter<T>, Cache<T>),
    ) -> Self {
        let Feed { queue, reflector } = feed;
        let queue = queue.named(name.clone());
        queue.feeds(cache.clone());
        let shared = Arc::new(Shared {
            name,
            queue,
            log: Log::new(cache.snapshot()),
            cache,
            progress: watch::Sender::new(Progress::none()),
            life: watch::Sender::new(Life::Built),
            reflector: reflector.as_ref().map(Reflector::status),
            unstarted: Mutex::new(Some(Unstarted { writer, reflector })),
            runtime: OnceLock::new(),
            tasks: Tasks::new(),
            random: Mutex::new(random),
        });
        let guard = Arc::new(StopOnDrop(Arc::clone(&shared)));
        Self { shared, guard }
    }

    /// Begins to list, watch and notify. An informer runs once.
    pub fn start(&self) -> Result<(), StartError> {
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        // Held until everything is counted, so that a stop at the same time finds all or nothing.
        let mut unstarted = self.shared.unstarted.lock();
        let Some(Unstarted { writer, reflector }) = unstarted.take() else {
            return Err(match *self.shared.life.borrow() {
                Life::Built | Life::Running => StartError::AlreadyStarted,
                Life::Stopped => InformerStopped.into(),
            });
        };
        self.shared.life.send_replace(Life::Running);
        self.shared.runtime.get_or_init(|| runtime);
        let shared = Arc::clone(&self.shared);
        let processor = self.part(async move { processor::run(shared, writer).await });
        let reflector = reflector.map(|reflector| {
            let mut life = self.shared.life.subscribe();
            self.part(async move {
                let stop = life.wait_for(|life| *life == Life::Stopped);
                reflector.run(async { drop(stop.await) }).await;
            })
        });
        // A runtime that is going drops what is spawned at once, and that stops the informer.
        drop(unstarted);
        tokio::spawn(processor);
        reflector.map(tokio::spawn);
        Ok(())
    }

    /// A part without which the informer is nothing: when it ends, by a panic or in good order, the
    /// informer stops.
    fn part<P>(&self, part: P) -> impl Future<Output = ()> + Send + 'static + use<T, P>
    where
        P: Future<Output = ()> + Send + 'static,
    {
        let stop = StopOnDrop(Arc::clone(&self.shared));
        let running = self.shared.tasks.begin();
        async move {
            let _running = running;
            let _stop = stop;
            part.await;
        }
    }

    /// Starts, works until `stop` is ready or somebody stops it, and shuts down.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        self.start()?;
        let mut life = self.shared.life.subscribe();
        tokio::select! {
            () = stop => {}
            _ = life.wait_for(|life| *life == Life::Stopped) => {}
        }
        self.shut_down().await;
        Ok(())
    }

    /// Adds a handler, with the options that suit most.
    pub fn add_handler(&self, handler: impl Handler<T>) -> Result<Registration, AddHandlerError> {
        self.add_handler_with(handler, HandlerOptions::default())
    }

    /// Adds a handler, before or after the start. It begins with the state of this moment.
    pub fn add_handler_with(
        &self,
        handler: impl Handler<T>,
        options: HandlerOptions,
    ) -> Result<Registration, AddHandlerError> {
        let runtime = Handle::try_current().ok();
        let runtime = runtime.or_else(|| self.shared.runtime.get().cloned());
        let runtime = runtime.ok_or(AddHandlerError::NoRuntime)?;
        let cursor = self.join(&options)?;
        let registration = Registration::new(Arc::clone(cursor.ticket()), cursor.stage());
        let delivery = Delivery {
            handler,
            name: options.name().to_owned(),
            panics: options.panics,
        };
        let running = self.shared.tasks.begin();
        runtime.spawn(async move {
            let _running = running;
            delivery.run(cursor).await;
        });
        Ok(registration)
    }

    /// A handler that is asked instead of called.
    pub fn subscribe(&self, options: &HandlerOptions) -> Result<Subscription<T>, InformerStopped> {
        let cursor = self.join(options)?;
        Ok(Subscription::new(cursor, self.clone()))
    }

    fn join(&self, options: &HandlerOptions) -> Result<Cursor<T>, InformerStopped> {
        let tally = Tally::new(&self.shared.name, options.name());
        let seat = self.shared.log.join(options.bound, tally);
        let random = self.shared.random.lock().fork();
        let timer = ResyncTimer::new(options.resync, random);
        Ok(Cursor::new(
            seat.ok_or(InformerStopped)?,
            options.bound,
            timer,
        ))
    }
}

impl<T> SharedInformer<T> {
    /// The objects. Reading them asks nothing of the source and waits for nobody.
    pub fn cache(&self) -> &Cache<T> {
        &self.shared.cache
    }

    /// Adds an index to the cache, at any time: see [`Cache::add_index`].
    pub fn add_index<V, I>(
        &self,
        name: &str,
        values: impl Fn(&Object<T>) -> I + Send + Sync + 'static,
    ) -> Result<Index<T, V>, IndexNameTaken>
    where
        T: 'static,
        V: Hash + Eq + Send + Sync + 'static,
        I: IntoIterator<Item = V>,
    {
        self.shared.cache.add_index(name, values)
    }

    /// The objects, by namespace, by label or by index.
    pub fn lister(&self) -> Lister<T> {
        Lister::new(self.shared.cache.clone())
    }

    /// What the reflector is doing; `None` if the informer is fed by other means.
    pub fn reflector_status(&self) -> Option<ReflectorStatus> {
        let status = self.shared.reflector.as_ref()?;
        Some(status.borrow().clone())
    }

    /// What waits in memory. It has a bound whatever the handlers do: see [`Bound`].
    pub fn backlog(&self) -> Backlog {
        Backlog {
            deltas: self.shared.queue.depth(),
            changes: self.shared.log.len(),
        }
    }

    /// What it is called in logs and metrics.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Tells it to stop. The cache stays readable; no handler is called any more, but for calls
    /// that are under way.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Stops, and waits until nothing of it runs any more and all handlers were dropped.
    pub async fn shut_down(&self) {
        self.stop();
        self.shared.tasks.ended().await;
    }
}

impl<T> Shared<T> {
    fn stop(&self) {
        let mut unstarted = self.unstarted.lock();
        self.life.send_replace(Life::Stopped);
        let unused = unstarted.take();
        drop(unstarted);
        drop(unused);
        self.log.close();
        self.queue.close();
    }
}

impl<T> Drop for StopOnDrop<T> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<T> Clone for SharedInformer<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            guard: Arc::clone(&self.guard),
        }
    }
}

impl<T> fmt::Debug for SharedInformer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SharedInformer")
            .field("name", &self.shared.name)
            .field("life", &*self.shared.life.borrow())
            .field("cache", &self.shared.cache)
            .finish_non_exhaustive()
    }
}

/// The type's own name, without the modules around it.
fn short_name<T>() -> &'static str {
    let name = type_name::<T>();
    let path = name.split('<').next().unwrap_or(name);
    path.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
