//! Informers, a work queue and workers joined: whenever something changes, the objects that it
//! concerns are reconciled.
//!
//! Owns what is run when and how often. It never writes to a source.

#[cfg(feature = "kubernetes")]
mod owners;
mod predicate;
mod trigger;
mod worker;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    future::{Future, pending},
    num::NonZero,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use futures_util::{Stream, StreamExt};
use thiserror::Error;
use tokio::{task::JoinSet, time::timeout};
use tracing::{info, warn};

use crate::{
    Notification, Object, ObjectKey, SharedInformer, WorkQueue, WorkQueueSettings,
    work_queue::{RateLimiter, default_limiter},
};
use trigger::{Handlers, Predicates, Trigger};
use worker::{Measures, Worker};

pub use predicate::labels_changed;
#[cfg(feature = "kubernetes")]
pub use predicate::{annotations_changed, finalizers_changed, generation_changed};

/// How long a controller that was told to stop works on what is queued, unless told otherwise.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// Reconciles the objects of one informer whenever they, or others that concern them, change.
///
/// ```no_run
/// # use std::{convert::Infallible, sync::Arc, time::Duration};
/// # use listwatch::{ObjectKey, SharedInformer, controller::{Controller, ControllerError, Next}};
/// # struct Widget;
/// # async fn example(widgets: SharedInformer<Widget>) -> Result<(), ControllerError> {
/// async fn reconcile(
///     key: ObjectKey,
///     widgets: Arc<SharedInformer<Widget>>,
/// ) -> Result<Next, Infallible> {
///     match widgets.cache().snapshot().get(key.as_str()) {
///         Some(_widget) => Ok(Next::After(Duration::from_secs(300))),
///         None => Ok(Next::AwaitChange), // it is gone
///     }
/// }
///
/// Controller::new("widgets", &widgets)
///     .workers(4)
///     .run(reconcile, Arc::new(widgets))
///     .await
/// # }
/// ```
///
/// - No key is reconciled before every informer has synced and every event of its initial state
///   was taken in, so that the first run sees everything.
/// - Two runs of one key never overlap; changes that come during a run bring one more afterwards.
/// - Objects that were there at the start, and those told again by a resync, wait until all that
///   changes has been dealt with.
/// - A run that fails or panics is tried again, at the pace of the limiter.
pub struct Controller<T> {
    name: String,
    primary: SharedInformer<T>,
    predicates: Predicates<T>,
    triggers: Vec<Trigger>,
    feeds: Vec<Feed>,
    resync: Option<Duration>,
    workers: NonZero<usize>,
    limiter: Box<dyn RateLimiter<ObjectKey>>,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    drain_max: Duration,
}

/// When a key that was reconciled is to be reconciled next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something changes.
    AwaitChange,
    /// After this time, or when something changes, whichever is earlier.
    After(Duration),
}

/// Why a controller ended though nobody had told it to.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ControllerError {
    /// An informer has stopped, so that changes would go unseen.
    #[error("the informer of {informer} has stopped")]
    InformerStopped {
        /// Its name.
        informer: String,
    },
    /// There is no Tokio runtime here to run on.
    #[error("a controller runs within a Tokio runtime")]
    NoRuntime,
}

type Feed = Box<dyn FnOnce(WorkQueue<ObjectKey>) -> FeedTask + Send>;
type FeedTask = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<T: Send + Sync + 'static> Controller<T> {
    /// A controller with one worker for the objects of an informer. The name labels its metrics,
    /// which go to the recorder that is installed when it runs.
    pub fn new(name: &str, primary: &SharedInformer<T>) -> Self {
        Self {
            name: name.to_owned(),
            primary: primary.clone(),
            predicates: Predicates::default(),
            triggers: Vec::new(),
            feeds: Vec::new(),
            resync: None,
            workers: NonZero::<usize>::MIN,
            limiter: Box::new(default_limiter()),
            stop: Box::pin(pending()),
            drain_max: DRAIN_MAX,
        }
    }

    /// Reconciles after an update only if a predicate says that the change from the first state
    /// to the second is worth it; of several predicates one is enough. Additions, deletions and
    /// resyncs are always worth it.
    #[must_use]
    pub fn predicate(
        mut self,
        predicate: impl Fn(&Object<T>, &Object<T>) -> bool + Send + 'static,
    ) -> Self {
        self.predicates.add(predicate);
        self
    }

    /// Reconciles the owners of the objects of another informer when those change. `owners` says
    /// who they are; after an update both the owners before and the owners now are reconciled.
    #[must_use]
    pub fn owns_through<C, I>(
        self,
        children: &SharedInformer<C>,
        owners: impl Fn(&Object<C>) -> I + Send + 'static,
    ) -> Self
    where
        C: Send + Sync + 'static,
        I: IntoIterator<Item = ObjectKey>,
    {
        self.watches(children, move |notification| {
            let (before, now) = trigger::states(notification);
            let states = before.into_iter().chain(now);
            states.flat_map(&owners).collect::<Vec<_>>()
        })
    }

    /// Reconciles the keys that `concerned` names when an object of another informer changes.
    #[must_use]
    pub fn watches<W, I>(
        mut self,
        informer: &SharedInformer<W>,
        concerned: impl Fn(&Notification<W>) -> I + Send + 'static,
    ) -> Self
    where
        W: Send + Sync + 'static,
        I: IntoIterator<Item = ObjectKey>,
    {
        self.triggers.push(Trigger::new(informer, concerned));
        self
    }

    /// Reconciles each key that a stream yields.
    #[must_use]
    pub fn reconcile_on(mut self, keys: impl Stream<Item = ObjectKey> + Send + 'static) -> Self {
        self.feeds.push(Box::new(|queue| {
            Box::pin(keys.for_each(move |key| {
                queue.add(key);
                std::future::ready(())
            }))
        }));
        self
    }

    /// Reconciles everything each time a stream yields, as when the configuration has changed.
    #[must_use]
    pub fn reconcile_all_on(mut self, times: impl Stream<Item = ()> + Send + 'static) -> Self {
        let cache = self.primary.cache().clone();
        self.feeds.push(Box::new(|queue| {
            Box::pin(times.for_each(move |()| {
                for object in cache.snapshot().iter() {
                    queue.add(object.key.clone());
                }
                std::future::ready(())
            }))
        }));
        self
    }

    /// Reconciles everything again after each period, behind all that changes. It costs the source
    /// nothing; see [`HandlerOptions::resync`](crate::HandlerOptions::resync) for its bounds.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// How many keys are reconciled at the same time; at least one.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = NonZero::new(workers).unwrap_or(NonZero::<usize>::MIN);
        self
    }

    /// Decides how long a key that failed waits; [`default_limiter`] unless told otherwise.
    #[must_use]
    pub fn limiter(mut self, limiter: impl RateLimiter<ObjectKey> + 'static) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Stops when this is ready: no change is taken in any more, what is queued is reconciled,
    /// and what waits for its time is dropped.
    #[must_use]
    pub fn stop_on(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stop = Box::pin(stop);
        self
    }

    /// How long it may take to reconcile what is queued after the stop; half a minute unless told
    /// otherwise. What still runs then is dropped where it waits.
    #[must_use]
    pub fn drain_max(mut self, drain_max: Duration) -> Self {
        self.drain_max = drain_max;
        self
    }

    /// Reconciles until told to stop, see [`Controller::stop_on`]. Starts the informers that have
    /// not been started. If the future is dropped, everything ends at once.
    ///
    /// The key may be that of an object that is gone. The context is yours.
    pub async fn run<C, R, F, E>(
        mut self,
        reconcile: R,
        context: Arc<C>,
    ) -> Result<(), ControllerError>
    where
        C: Send + Sync + 'static,
        R: Fn(ObjectKey, Arc<C>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Next, E>> + Send + 'static,
        E: fmt::Display + 'static,
    {
        let primary = Trigger::primary(&self.primary, self.predicates);
        self.triggers.insert(0, primary.with_resync(self.resync));
        let settings = WorkQueueSettings {
            limiter: self.limiter,
            keys_max: None,
        };
        let queue = WorkQueue::with_settings(&self.name, settings);
        let handlers = Handlers::attach(self.triggers, &self.name, &queue)?;
        tokio::select! {
            biased;
            () = &mut self.stop => return Ok(()),
            synced = handlers.synced() => synced?,
        }
        info!(controller = self.name, "all informers have synced");
        let _feeds = spawn_feeds(self.feeds, &queue);
        let worker = Worker {
            name: self.name.as_str().into(),
            queue: queue.clone(),
            reconcile: Arc::new(reconcile),
            context,
            measures: Measures::new(&self.name),
        };
        let mut workers = JoinSet::new();
        for _ in 0..self.workers.get() {
            workers.spawn(worker.clone().run());
        }
        let ended = tokio::select! {
            biased;
            () = &mut self.stop => Ok(()),
            informer = handlers.ended() => Err(ControllerError::InformerStopped { informer }),
        };
        let drained = timeout(self.drain_max, queue.shut_down_with_drain()).await;
        if drained.is_err() {
            let left = queue.len();
            warn!(controller = self.name, left, "ended before all was done");
        }
        ended
    }
}

/// Starts what feeds the queue from streams, and what reports on it.
fn spawn_feeds(feeds: Vec<Feed>, queue: &WorkQueue<ObjectKey>) -> JoinSet<()> {
    let feeds = feeds.into_iter().map(|feed| feed(queue.clone()));
    let mut tasks: JoinSet<()> = feeds.collect();
    let queue = queue.clone();
    tasks.spawn(async move { queue.report_unfinished_work().await });
    tasks
}

impl<T> fmt::Debug for Controller<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Controller")
            .field("name", &self.name)
            .field("primary", &self.primary)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}
