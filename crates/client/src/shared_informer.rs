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
mod tasks;
mod telling;

use std::{
    any::type_name,
    fmt,
    sync::{Arc, OnceLock},
};

use fastrand::Rng;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::{runtime::Handle, sync::watch};

use self::{
    cursor::Cursor,
    delivery::{Delivery, HandlerMetrics},
    log::Log,
    registration::Tally,
    resync::ResyncTimer,
    staleness::Progress,
    tasks::Tasks,
};
use crate::{
    Cache, CacheWriter, Decoder, DeltaQueue, Lister, ListerWatcher, Reflector, ReflectorStatus,
};

pub use self::{
    builder::InformerBuilder,
    factory::{FactoryError, InformerFactory, InformerKey, InformerShare, NotAllSynced},
    handler::{Bound, Filtered, Handler, HandlerOptions, PanicPolicy},
    log::COALESCE_CHANGES_MAX,
    registration::{HandlerRemoved, HandlerStatus, Registration},
    resync::RESYNC_PERIOD_MIN,
    staleness::{InformerStopped, NotReady, WaitError},
    subscription::Subscription,
};

/// Keeps a cache of what a source holds, and tells handlers of each change.
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
        let Some(unstarted) = self.shared.unstarted.lock().take() else {
            return Err(match *self.shared.life.borrow() {
                Life::Built | Life::Running => StartError::AlreadyStarted,
                Life::Stopped => InformerStopped.into(),
            });
        };
        self.shared.life.send_replace(Life::Running);
        self.shared.runtime.get_or_init(|| runtime);
        let Unstarted { writer, reflector } = unstarted;
        let shared = Arc::clone(&self.shared);
        self.spawn(async move { processor::run(shared, writer).await });
        if let Some(reflector) = reflector {
            let mut life = self.shared.life.subscribe();
            self.spawn(async move {
                let stop = life.wait_for(|life| *life == Life::Stopped);
                reflector.run(async { drop(stop.await) }).await;
            });
        }
        Ok(())
    }

    /// Runs a part without which the informer is nothing: when it ends, by a panic or in good
    /// order, the informer stops.
    fn spawn(&self, part: impl Future<Output = ()> + Send + 'static) {
        let stop = StopOnDrop(Arc::clone(&self.shared));
        let running = self.shared.tasks.begin();
        tokio::spawn(async move {
            let _running = running;
            let _stop = stop;
            part.await;
        });
    }

    /// Starts, works until `stop` is ready, and shuts down.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        self.start()?;
        stop.await;
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
        let (cursor, tally) = self.join(&options)?;
        let ticket = Arc::clone(cursor.ticket());
        let registration = Registration::new(ticket, cursor.stage(), Arc::clone(&tally));
        let name = options.name.unwrap_or_else(|| "handler".to_owned());
        let delivery = Delivery {
            handler,
            metrics: HandlerMetrics::new(&self.shared.name, &name),
            name,
            panics: options.panics,
            tally,
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
        let (cursor, tally) = self.join(options)?;
        Ok(Subscription::new(cursor, tally, self.clone()))
    }

    fn join(&self, options: &HandlerOptions) -> Result<(Cursor<T>, Arc<Tally>), InformerStopped> {
        let seat = self.shared.log.join(options.bound).ok_or(InformerStopped)?;
        let random = self.shared.random.lock().fork();
        let timer = ResyncTimer::new(options.resync, random);
        let tally = Arc::new(Tally::default());
        let cursor = Cursor::new(seat, options.bound, timer, Arc::clone(&tally));
        Ok((cursor, tally))
    }
}

impl<T> SharedInformer<T> {
    /// The objects. Reading them asks nothing of the source and waits for nobody.
    pub fn cache(&self) -> &Cache<T> {
        &self.shared.cache
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
        self.life.send_replace(Life::Stopped);
        self.unstarted.lock().take();
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
