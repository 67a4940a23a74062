//! A handler that writes down what it is told.

use std::{
    mem,
    sync::{Arc, OnceLock},
};

use listwatch::{
    FinalState, HandlerOptions, Notification, Origin, Registration, SharedInformer, Subscription,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Write, describe, describe_state};
use crate::log::{Initial, Line};

/// One handler of a script.
pub(super) struct Listener {
    registration: Registration,
    told: Arc<Mutex<Vec<Line>>>,
    gate: watch::Sender<Gate>,
    /// Whether it is through with what it was told.
    pace: Arc<Mutex<Pace>>,
    sync: Sync,
}

/// Whether the handler may go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
}

/// Where the handler is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    Waiting,
    Working,
}

/// Whether the informer, and then the log, says that the handler has synced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Unreported,
    Reported,
}

impl Listener {
    /// A handler that is called; `None` if the informer takes none.
    pub(super) fn called(
        informer: &SharedInformer<Write>,
        options: HandlerOptions,
    ) -> Option<Self> {
        let told = Arc::default();
        let lines: Arc<Mutex<Vec<Line>>> = Arc::clone(&told);
        let known = Arc::new(OnceLock::new());
        let registration: Arc<OnceLock<Registration>> = Arc::clone(&known);
        let handler = move |notification: Notification<Write>| {
            let sync = registration.get().map_or(Sync::Unreported, sync_of);
            lines.lock().extend(lines_of(&notification, sync));
        };
        let registration = informer.add_handler_with(handler, options).ok()?;
        known.get_or_init(|| registration.clone());
        Some(Self::new(registration, told))
    }

    /// A handler that asks, and can be made to wait before it asks again.
    pub(super) fn asking(
        informer: &SharedInformer<Write>,
        options: &HandlerOptions,
    ) -> Option<Self> {
        let subscription = informer.subscribe(options).ok()?;
        let told = Arc::default();
        let registration = subscription.registration().clone();
        let listener = Self::new(registration, Arc::clone(&told));
        let gate = listener.gate.subscribe();
        let pace = Arc::clone(&listener.pace);
        tokio::spawn(ask(subscription, told, gate, pace));
        Some(listener)
    }

    fn new(registration: Registration, told: Arc<Mutex<Vec<Line>>>) -> Self {
        Self {
            registration,
            told,
            gate: watch::Sender::new(Gate::Open),
            pace: Arc::new(Mutex::new(Pace::Waiting)),
            sync: Sync::Unreported,
        }
    }

    pub(super) fn remove(&self) {
        self.registration.remove();
    }

    pub(super) fn block(&self) {
        self.gate.send_replace(Gate::Closed);
    }

    pub(super) fn unblock(&self) {
        self.gate.send_replace(Gate::Open);
    }

    /// What it was told since the last call.
    pub(super) fn take_lines(&mut self) -> Vec<Line> {
        let mut lines = mem::take(&mut *self.told.lock());
        // What it still works on is not taken in, whatever the subscription says.
        let is_through = *self.pace.lock() == Pace::Waiting;
        if is_through && self.sync == Sync::Unreported && self.registration.has_synced() {
            self.sync = Sync::Reported;
            lines.push(Line::Synced);
        }
        lines
    }
}

async fn ask(
    mut subscription: Subscription<Write>,
    told: Arc<Mutex<Vec<Line>>>,
    mut gate: watch::Receiver<Gate>,
    pace: Arc<Mutex<Pace>>,
) {
    let mut sync = sync_of(subscription.registration());
    while let Some(notification) = subscription.next().await {
        told.lock().extend(lines_of(&notification, sync));
        sync = sync_of(subscription.registration());
        *pace.lock() = Pace::Working;
        if gate.wait_for(|gate| *gate == Gate::Open).await.is_err() {
            return;
        }
        *pace.lock() = Pace::Waiting;
    }
}

fn sync_of(registration: &Registration) -> Sync {
    match registration.has_synced() {
        true => Sync::Reported,
        false => Sync::Unreported,
    }
}

/// What it is told, and before it that its sync came too early if there is more of the beginning.
fn lines_of(notification: &Notification<Write>, sync: Sync) -> Vec<Line> {
    let line = line_of(notification);
    match (&line, sync) {
        (
            Line::Add {
                initial: Initial::Yes,
                ..
            },
            Sync::Reported,
        ) => vec![Line::Synced, line],
        _ => vec![line],
    }
}

fn line_of(notification: &Notification<Write>) -> Line {
    match notification {
        Notification::Added { object, origin } => Line::Add {
            object: describe(object),
            initial: match origin {
                Origin::Initial => Initial::Yes,
                Origin::Later => Initial::No,
            },
        },
        Notification::Updated { old, new } if Arc::ptr_eq(old, new) => Line::Resync(describe(new)),
        Notification::Updated { old, new } => Line::Update {
            key: new.key.to_string(),
            old: describe_state(old),
            new: describe_state(new),
        },
        Notification::Deleted(deleted) => {
            let last = match &deleted.last {
                Some(last) => describe(last),
                None => deleted.key.to_string(),
            };
            match deleted.final_state {
                FinalState::Known => Line::Delete(last),
                FinalState::Unknown => Line::DeleteUnknown(last),
            }
        }
        Notification::Lagged { missed } => Line::Lagged(*missed),
    }
}
