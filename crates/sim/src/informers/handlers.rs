//! Handlers of every temper, and what each of them is told.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use listwatch::{
    Bound, HandlerOptions, Notification, Registration, SharedInformer, Subscription,
    shared_informer::PanicPolicy,
};
use tokio::time::sleep;

use super::trace::{Body, Event, HandlerId, Kind, Notice, Recorder, State};

/// How a handler behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Temper {
    /// It is called, and takes no time.
    Quick,
    /// It is called, and panics now and then.
    Panicking,
    /// It asks, and takes its time.
    Slow,
    /// It asks, and sometimes does not for minutes.
    Stalling,
}

/// A handler that is registered.
pub struct Attached {
    /// Which one.
    pub id: HandlerId,
    /// At the informer of which kind.
    pub kind: Kind,
    registration: Registration,
    synced: Synced,
}

#[derive(PartialEq, Eq)]
enum Synced {
    NotYet,
    Recorded,
}

/// Lets every slow handler hurry from some moment on.
#[derive(Clone, Debug, Default)]
pub struct Hurry(Arc<AtomicBool>);

impl Hurry {
    /// From now on.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Where a handler is added, and who takes down what it is told.
pub struct Place<'a> {
    /// The kind of the informer.
    pub kind: Kind,
    /// The informer.
    pub informer: &'a SharedInformer<Body>,
    /// Who takes it down.
    pub recorder: &'a Recorder,
    /// When to be quick.
    pub hurry: &'a Hurry,
}

impl Attached {
    /// Adds a handler of any temper, under any bound.
    pub fn join(id: HandlerId, place: &Place<'_>, random: &mut Rng) -> Option<Self> {
        let options = options(random);
        let informer = place.informer;
        let present = informer.has_synced().then(|| informer.cache().snapshot());
        place.recorder.record(Event::Joined {
            handler: id,
            kind: place.kind,
            limit: options.bound.into(),
            present: present.map(|snapshot| State::all(&snapshot)),
        });
        let tempers = [
            Temper::Quick,
            Temper::Panicking,
            Temper::Slow,
            Temper::Stalling,
        ];
        let temper = random.choice(tempers).unwrap_or(Temper::Quick);
        let registration = match temper {
            Temper::Quick | Temper::Panicking => {
                let listener = Listener {
                    id,
                    temper,
                    random: random.fork(),
                    recorder: place.recorder.clone(),
                };
                informer
                    .add_handler_with(listener.handler(), options)
                    .ok()?
            }
            Temper::Slow | Temper::Stalling => {
                let subscription = informer.subscribe(&options).ok()?;
                let registration = subscription.registration().clone();
                let reader = Reader {
                    id,
                    temper,
                    random: random.fork(),
                    recorder: place.recorder.clone(),
                    hurry: place.hurry.clone(),
                };
                tokio::spawn(reader.run(subscription));
                registration
            }
        };
        Some(Self {
            id,
            kind: place.kind,
            registration,
            synced: Synced::NotYet,
        })
    }

    /// Takes down how far it is.
    pub fn observe(&mut self, informer: &SharedInformer<Body>, recorder: &Recorder) {
        if !self.registration.has_synced() {
            return;
        }
        if self.synced == Synced::NotYet {
            self.synced = Synced::Recorded;
            recorder.record(Event::Synced(self.id));
        }
        if self.registration.status().pending == 0 {
            let cache = State::all(&informer.cache().snapshot());
            recorder.record(Event::CaughtUp(self.id, cache));
        }
    }

    /// Removes it, and takes down when that is done.
    pub fn leave(self, recorder: &Recorder) {
        let recorder = recorder.clone();
        tokio::spawn(async move {
            self.registration.shut_down().await;
            recorder.record(Event::Removed(self.id));
        });
    }
}

fn options(random: &mut Rng) -> HandlerOptions {
    let bound = match random.u32(..6) {
        0 => Bound::Block(1 + random.usize(..4)),
        1 => Bound::Block(50 + random.usize(..200)),
        2 => Bound::Drop(1 + random.usize(..4)),
        3 => Bound::Drop(50 + random.usize(..200)),
        _ => Bound::Coalesce,
    };
    let resync = (random.u32(..3) == 0).then(|| Duration::from_secs(random.u64(1..60)));
    HandlerOptions {
        name: None,
        bound,
        resync,
        panics: PanicPolicy::Skip,
    }
}

/// Is called.
struct Listener {
    id: HandlerId,
    temper: Temper,
    random: Rng,
    recorder: Recorder,
}

impl Listener {
    fn handler(mut self) -> impl FnMut(Notification<Body>) + Send + 'static {
        move |notification| {
            let notice = Notice::of(&notification);
            self.recorder.record(Event::Told(self.id, notice));
            if self.temper == Temper::Panicking && self.random.u32(..10) == 0 {
                self.recorder.record(Event::Panicked(self.id));
                // Unlike `panic!` this leaves the terminal alone.
                resume_unwind(Box::new("on purpose"));
            }
        }
    }
}

/// Asks.
struct Reader {
    id: HandlerId,
    temper: Temper,
    random: Rng,
    recorder: Recorder,
    hurry: Hurry,
}

impl Reader {
    async fn run(mut self, mut subscription: Subscription<Body>) {
        while let Some(notification) = subscription.next().await {
            let notice = Notice::of(&notification);
            self.recorder.record(Event::Told(self.id, notice));
            if !self.hurry.has_begun() {
                sleep(self.pause()).await;
            }
        }
    }

    fn pause(&mut self) -> Duration {
        match self.temper {
            Temper::Stalling if self.random.u32(..20) == 0 => {
                Duration::from_secs(self.random.u64(10..180))
            }
            _ => Duration::from_millis(self.random.u64(..300)),
        }
    }
}
