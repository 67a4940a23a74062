//! Takes keys one by one and reconciles them.

use std::{any::Any, fmt, future::Future, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use tokio::time::Instant;
use tracing::{Instrument, debug_span, warn};

use super::Next;
use crate::{ObjectKey, Permit, WorkQueue, work_queue::When};

/// One of the workers of a controller.
pub(super) struct Worker<C, R> {
    pub(super) name: Arc<str>,
    pub(super) queue: WorkQueue<ObjectKey>,
    pub(super) reconcile: Arc<R>,
    pub(super) context: Arc<C>,
    pub(super) measures: Measures,
}

/// The numbers of one controller, labelled with its name.
///
/// They belong to the recorder that is installed when the controller begins to run.
#[derive(Clone)]
pub(super) struct Measures {
    active: Gauge,
    succeeded: Counter,
    failed: Counter,
    panicked: Counter,
    seconds: Histogram,
}

/// How a run ended.
enum Outcome {
    Succeeded(Next),
    Failed,
    Panicked,
}

impl<C, R, F, E> Worker<C, R>
where
    R: Fn(ObjectKey, Arc<C>) -> F,
    F: Future<Output = Result<Next, E>>,
    E: fmt::Display,
{
    /// Works until the queue is shut down and empty.
    pub(super) async fn run(self) {
        while let Some(permit) = self.queue.get().await {
            let span = debug_span!("reconcile", controller = &*self.name, key = %permit.key());
            let outcome = self.attempt(permit.key()).instrument(span).await;
            self.settle(&permit, &outcome);
        }
    }

    async fn attempt(&self, key: &ObjectKey) -> Outcome {
        let _active = Active::begin(&self.measures.active);
        let begun = Instant::now();
        let run = async { (self.reconcile)(key.clone(), Arc::clone(&self.context)).await };
        let result = AssertUnwindSafe(run).catch_unwind().await;
        self.measures.seconds.record(begun.elapsed());
        match result {
            Ok(Ok(next)) => Outcome::Succeeded(next),
            Ok(Err(error)) => {
                let failures = self.queue.requeues(key);
                warn!(failures, "reconciling {key} failed: {error:#}");
                Outcome::Failed
            }
            Err(panic) => {
                warn!("reconciling {key} panicked: {}", text(&*panic));
                Outcome::Panicked
            }
        }
    }

    /// Decides when the key comes again. Its priority stays, so that a start stays in the
    /// background however often it fails.
    fn settle(&self, permit: &Permit<ObjectKey>, outcome: &Outcome) {
        self.measures.count(outcome);
        let key = permit.key();
        let when = match outcome {
            Outcome::Succeeded(next) => {
                self.queue.forget(key);
                match next {
                    Next::AwaitChange => return,
                    Next::After(delay) => When::After(*delay),
                }
            }
            Outcome::Failed | Outcome::Panicked => When::RateLimited,
        };
        self.queue.add_with(key.clone(), permit.priority(), when);
    }
}

impl<C, R> Clone for Worker<C, R> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            queue: self.queue.clone(),
            reconcile: Arc::clone(&self.reconcile),
            context: Arc::clone(&self.context),
            measures: self.measures.clone(),
        }
    }
}

impl Measures {
    pub(super) fn new(controller: &str) -> Self {
        let name = controller.to_owned();
        let ended = |result: &'static str| {
            let labels = [("controller", name.clone()), ("result", result.to_owned())];
            counter!("listwatch_controller_reconciles_total", &labels)
        };
        Self {
            active: gauge!("listwatch_controller_active_workers", "controller" => name.clone()),
            succeeded: ended("success"),
            failed: ended("error"),
            panicked: ended("panic"),
            seconds: histogram!(
                "listwatch_controller_reconcile_seconds", "controller" => name.clone()
            ),
        }
    }

    fn count(&self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Succeeded(_) => &self.succeeded,
            Outcome::Failed => &self.failed,
            Outcome::Panicked => &self.panicked,
        };
        counter.increment(1);
    }
}

/// Counts a worker as active for as long as it lives.
struct Active<'gauge>(&'gauge Gauge);

impl<'gauge> Active<'gauge> {
    fn begin(gauge: &'gauge Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a value without text")
}
