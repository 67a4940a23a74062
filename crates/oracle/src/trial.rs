//! One script on our informer.

mod listener;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Result;
use fastrand::Rng;
use listwatch::{
    DecodeError, Decoder, DeltaQueue, HandlerOptions, Object, ReflectorSettings, SharedInformer,
};
use tokio::{runtime::Builder, time::sleep};

use self::listener::Listener;
use crate::{
    log::{Line, Log},
    script::{Action, QueueKind, Resync, Script},
    source::Source,
};

/// A body is the number of the write that made it.
type Write = u64;

/// A watch that is silent, or older than it should be, is replaced here and kept for ever by
/// client-go: no script waits for so long.
const PATIENCE: Duration = Duration::from_hours(24);

/// What our jitter follows from.
const SEED: u64 = 1;

/// Runs a script in virtual time.
pub(crate) fn run(script: &Script) -> Result<Log> {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(async {
        let mut trial = Trial::new(script);
        trial.run().await;
        trial.log
    }))
}

struct Trial<'a> {
    script: &'a Script,
    source: Source,
    informer: SharedInformer<Write>,
    listeners: BTreeMap<String, Listener>,
    /// The store as it was reported last.
    store: String,
    log: Log,
}

impl<'a> Trial<'a> {
    fn new(script: &'a Script) -> Self {
        let source = Source::new(&script.header);
        Self {
            script,
            informer: informer_of(&source, script.header.queue),
            source,
            listeners: BTreeMap::new(),
            store: String::new(),
            log: Log::default(),
        }
    }

    async fn run(&mut self) {
        for (index, step) in self.script.steps.iter().enumerate() {
            self.log.begin(format!("{} {}", index + 1, step.text));
            for action in &step.actions {
                self.perform(action);
            }
            sleep(step.time).await;
            self.report();
        }
    }

    fn perform(&mut self, action: &Action) {
        match action {
            Action::Start => {
                // A second start changes nothing, and that is not what is compared here.
                let _ = self.informer.start();
            }
            Action::Stop => self.informer.stop(),
            Action::Wait(_) => {}
            Action::Handler { name, resync } => self.add_handler(name, resync),
            Action::Remove(name) => self.with_listener(name, Listener::remove),
            Action::Block(name) => self.with_listener(name, Listener::block),
            Action::Unblock(name) => self.with_listener(name, Listener::unblock),
            Action::Source(action) => self.source.perform(action),
        }
    }

    fn add_handler(&mut self, name: &str, resync: &Resync) {
        if self.listeners.contains_key(name) {
            return;
        }
        let options = HandlerOptions {
            resync: match resync {
                Resync::Default => self.script.header.resync,
                Resync::Never => None,
                Resync::Every(period) => Some(*period),
            },
            ..HandlerOptions::default()
        };
        let added = match self.is_ever_blocked(name) {
            true => Listener::asking(&self.informer, &options),
            false => Listener::called(&self.informer, options),
        };
        match added {
            Some(listener) => drop(self.listeners.insert(name.to_owned(), listener)),
            None => self.tell(name, Line::Refused),
        }
    }

    /// A handler that is called cannot wait for the script, which runs on the same thread.
    fn is_ever_blocked(&self, name: &str) -> bool {
        let mut actions = self.script.steps.iter().flat_map(|step| &step.actions);
        actions.any(|action| matches!(action, Action::Block(blocked) if blocked == name))
    }

    fn with_listener(&self, name: &str, act: fn(&Listener)) {
        if let Some(listener) = self.listeners.get(name) {
            act(listener);
        }
    }

    fn tell(&mut self, name: &str, line: Line) {
        let segment = self.log.segments.last_mut();
        segment.expect("a step has begun").tell(name, line);
    }

    /// Writes what has happened since the last report.
    fn report(&mut self) {
        let segment = self.log.segments.last_mut().expect("a step has begun");
        for (name, listener) in &mut self.listeners {
            for line in listener.take_lines() {
                segment.tell(name, line);
            }
        }
        let store = describe_store(&self.informer);
        if store != self.store {
            self.store.clone_from(&store);
            segment.store = Some(store);
        }
        segment.requests = self.source.take_requests();
    }
}

fn informer_of(source: &Source, queue: QueueKind) -> SharedInformer<Write> {
    let settings = ReflectorSettings {
        bookmark_deadline: Some(PATIENCE),
        watch_timeout_min: PATIENCE,
        random: Rng::with_seed(SEED),
        ..ReflectorSettings::default()
    };
    SharedInformer::builder(Arc::new(source.clone()), decoder())
        .reflector(settings)
        .queue(match queue {
            QueueKind::InOrder => DeltaQueue::in_order(),
            QueueKind::Compressing => DeltaQueue::compressing(),
        })
        .random(Rng::with_seed(SEED))
        .build()
}

fn decoder() -> Decoder<Write> {
    Decoder::new(|raw| {
        let text = std::str::from_utf8(&raw.body).ok();
        text.and_then(|text| text.parse().ok())
            .ok_or_else(|| DecodeError {
                reason: String::from("a body is a number"),
            })
    })
}

fn describe_store(informer: &SharedInformer<Write>) -> String {
    let snapshot = informer.cache().snapshot();
    let version = snapshot.version().map(ToString::to_string);
    let mut text = format!("@{}", version.unwrap_or_default());
    for object in snapshot.iter() {
        text += &format!(" {}", describe(object));
    }
    text
}

/// The object's name and state.
fn describe(object: &Object<Write>) -> String {
    format!("{} {}", object.key, describe_state(object))
}

/// The version, and which write made it if that is not the version's number.
fn describe_state(object: &Object<Write>) -> String {
    let version = object.version.to_string();
    match object.body.to_string() == version {
        true => format!("@{version}"),
        false => format!("@{version} of write {}", object.body),
    }
}
