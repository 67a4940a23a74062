//! Controllers whose informers are fed by hand.

mod ends;
mod runs;
mod triggers;

use std::{
    collections::HashSet,
    convert::Infallible,
    future::{Future, ready},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use super::*;
use crate::{Deletion, Delta, DeltaQueue, Labels, Object, Replacement, Version};

type Ended = JoinHandle<Result<(), ControllerError>>;

/// An informer of objects whose body is the key of their owner, and the queue that feeds it.
struct World {
    informer: SharedInformer<String>,
    queue: DeltaQueue<String>,
}

/// The keys that were reconciled.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<String>>>);

impl World {
    fn new() -> Self {
        let queue = DeltaQueue::in_order();
        let informer = SharedInformer::from_queue(queue.clone());
        Self { informer, queue }
    }

    async fn synced(script: &str) -> Self {
        let world = Self::new();
        world.feed(script).await;
        world
    }

    /// Feeds `+a1 ~a2@owner -a3 =4:a1,b2`: added, updated, deleted, replaced.
    async fn feed(&self, script: &str) {
        let deltas = script.split_whitespace().map(delta).collect();
        self.queue.push(deltas).await.unwrap();
    }

    /// Feeds, and waits until nobody has anything left to do.
    async fn settle(&self, script: &str) {
        self.feed(script).await;
        settled().await;
    }

    fn controller(&self) -> Controller<String> {
        Controller::new("test", &self.informer)
    }
}

impl Runs {
    fn add(&self, key: &ObjectKey) {
        self.0.lock().push(key.to_string());
    }

    /// What ran since it was asked last.
    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock()).join(" ")
    }

    /// Runs a controller that only records.
    fn of(controller: Controller<String>) -> (Self, Ended) {
        let runs = Self::default();
        let ended = runs.with(controller, |_| {
            ready(Ok::<_, Infallible>(Next::AwaitChange))
        });
        (runs, ended)
    }

    /// Runs a controller that records, and then does as told.
    fn with<F, E>(
        &self,
        controller: Controller<String>,
        reconcile: impl Fn(ObjectKey) -> F + Send + Sync + 'static,
    ) -> Ended
    where
        F: Future<Output = Result<Next, E>> + Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        let reconcile = move |key: ObjectKey, runs: Arc<Self>| {
            runs.add(&key);
            reconcile(key)
        };
        tokio::spawn(controller.run(reconcile, Arc::new(self.clone())))
    }
}

/// With paused time, a sleep ends when no task has anything left to do.
async fn settled() {
    sleep(Duration::from_micros(1)).await;
}

fn delta(text: &str) -> Delta<String> {
    let (verb, rest) = text.split_at(1);
    match verb {
        "+" => Delta::Added(object(rest)),
        "~" => Delta::Updated(object(rest)),
        "-" => {
            let last = object(rest);
            Delta::Deleted(Deletion {
                key: last.key.clone(),
                version: last.version.clone(),
                last: Some(last),
            })
        }
        "=" => {
            let (at, objects) = rest.split_once(':').unwrap();
            let objects = objects.split(',').filter(|object| !object.is_empty());
            Delta::Replaced(Replacement {
                objects: objects.map(object).collect(),
                set_aside: Vec::new(),
                version: Version::parse(at),
            })
        }
        other => unreachable!("no such verb: {other}"),
    }
}

/// `a3@b`: the object a at version 3, owned by b.
fn object(text: &str) -> Arc<Object<String>> {
    let (state, owner) = text.split_once('@').unwrap_or((text, ""));
    let digits = state.find(|letter: char| letter.is_ascii_digit()).unwrap();
    let (key, version) = state.split_at(digits);
    Arc::new(Object {
        key: key.into(),
        version: Version::parse(version).unwrap(),
        uid: None,
        labels: Labels::default(),
        body: owner.to_owned(),
    })
}

fn owner(object: &Object<String>) -> Option<ObjectKey> {
    (!object.body.is_empty()).then(|| object.body.as_str().into())
}
