//! Informers fed by hand.

mod bounds;
mod factory;
mod filtered;
mod hammer;
mod handlers;
mod lifecycle;
mod measures;
mod panics;
mod promises;
mod property;
mod resync;
mod source;
mod staleness;
mod sync;

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::*;
use crate::{
    Deletion, Delta, FinalState, Labels, Notification, Object, ObjectKey, Origin, Replacement,
    Version,
};

/// An informer of numbers, and the queue that feeds it.
struct World {
    informer: SharedInformer<u64>,
    queue: DeltaQueue<u64>,
}

/// What a handler was told, as text.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl World {
    fn started() -> Self {
        let world = Self::unstarted();
        world.informer.start().unwrap();
        world
    }

    fn unstarted() -> Self {
        let queue = DeltaQueue::in_order();
        let informer = SharedInformer::from_queue(queue.clone());
        Self { informer, queue }
    }

    /// Feeds `+a1 ~a2 -a3 =4:a1,b2 !5`: added, updated, deleted, replaced, bookmark.
    async fn feed(&self, script: &str) {
        let deltas = script.split_whitespace().map(delta).collect();
        self.queue.push(deltas).await.unwrap();
    }

    /// Feeds, and waits until everything has been applied and every handler had its turn.
    async fn settle(&self, script: &str) {
        self.feed(script).await;
        settled().await;
    }

    fn listen(&self) -> (Registration, Told) {
        self.listen_with(HandlerOptions::default())
    }

    fn listen_with(&self, options: HandlerOptions) -> (Registration, Told) {
        let told = Told::default();
        let registration = self.informer.add_handler_with(told.handler(), options);
        (registration.unwrap(), told)
    }
}

impl Told {
    fn handler(&self) -> impl Handler<u64> + use<> {
        let told = Arc::clone(&self.0);
        move |notification| told.lock().push(line(&notification))
    }

    /// What came since it was asked last.
    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock()).join(" ")
    }
}

/// With paused time, a sleep ends when no task has anything left to do.
async fn settled() {
    tokio::time::sleep(Duration::from_micros(1)).await;
}

fn delta(text: &str) -> Delta<u64> {
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
        "=" => Delta::Replaced(replacement(rest)),
        "!" => Delta::Bookmark(version(rest)),
        other => unreachable!("no such verb: {other}"),
    }
}

fn replacement(text: &str) -> Replacement<u64> {
    let (at, objects) = text.split_once(':').unwrap();
    let objects = objects.split(',').filter(|object| !object.is_empty());
    Replacement {
        objects: objects.map(object).collect(),
        set_aside: Vec::new(),
        version: Some(version(at)),
    }
}

/// `a3`: the object a at version 3, with its version as its body.
fn object(text: &str) -> Arc<Object<u64>> {
    let digits = text.find(|letter: char| letter.is_ascii_digit()).unwrap();
    let (key, number) = text.split_at(digits);
    Arc::new(Object {
        key: ObjectKey::from(key),
        version: version(number),
        uid: None,
        labels: Labels::default(),
        body: number.parse().unwrap(),
    })
}

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

/// `+a1!` initial, `+a1` later, `~a1>2`, `-a2`, `-a2?` when the end was not seen, `lag 3`.
fn line(notification: &Notification<u64>) -> String {
    match notification {
        Notification::Added { object, origin } => {
            let mark = match origin {
                Origin::Initial => "!",
                Origin::Later => "",
            };
            format!("+{}{}{mark}", object.key, object.version)
        }
        Notification::Updated { old, new } => {
            format!("~{}{}>{}", new.key, old.version, new.version)
        }
        Notification::Deleted(deleted) => {
            let mark = match deleted.final_state {
                FinalState::Known => "",
                FinalState::Unknown => "?",
            };
            let last = deleted.last.as_ref();
            let last = last.map_or_else(|| "_".to_owned(), |last| last.version.to_string());
            format!("-{}{last}{mark}", deleted.key)
        }
        Notification::Lagged { missed } => format!("lag({missed})"),
    }
}
