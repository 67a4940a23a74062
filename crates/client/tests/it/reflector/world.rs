//! A reflector between a scripted source and a cache, one step at a time.

use std::{
    cmp::Ordering,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use futures_util::FutureExt;
use listwatch::{
    Cache, CacheWriter, DecodeError, Decoder, Delta, DeltaQueue, InitialEvents, ListerWatcher,
    Reflector, ReflectorStatus, SetAside, SourceError, Version,
    lister_watcher::{BoxFuture, EventStream, ListOptions, ListStream, RawObject, WatchOptions},
    reflector::{BackoffSettings, ReflectorSettings},
    source::{
        ScriptedSource,
        scripted::{Checkpoint, Request},
    },
};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

/// How finely time passes.
const TICK: Duration = Duration::from_millis(100);

/// Longer lists of words are shortened to the first and the last.
const WORDS_MAX: usize = 20;

/// A body as the scenarios know it: a word.
pub(crate) type Word = String;

/// Everything that a scenario acts on.
pub(crate) struct World {
    pub(super) source: ScriptedSource,
    pub(super) settings: ReflectorSettings,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) cache: Cache<Word>,
    pub(super) status: Option<watch::Receiver<ReflectorStatus>>,
    pub(super) queue: DeltaQueue<Word>,
    pub(super) reading: Reading,
    pub(super) stop: Option<oneshot::Sender<()>>,
    pub(super) log: Log,
    pub(super) decoded: Log,
    /// Deltas that came after one of the same version or a later one.
    pub(super) out_of_order: Vec<String>,
    reached: Option<Version>,
    running: Option<Pin<Box<dyn Future<Output = ()>>>>,
    woken: Arc<Woken>,
    writer: CacheWriter<Word>,
}

/// Whether the queue is being emptied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    On,
    Off,
}

/// What a hook or the decoder has said, in order.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

/// A source whose requests go to the log.
struct Noted {
    source: ScriptedSource,
    log: Log,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

impl ListerWatcher for Noted {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        self.log.note(Request::List(options.clone()).to_string());
        self.source.list(options)
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        self.log.note(Request::Watch(options.clone()).to_string());
        self.source.watch(options)
    }

    fn initial_events(&self) -> InitialEvents {
        self.source.initial_events()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let (writer, cache) = CacheWriter::new();
        Self {
            source: ScriptedSource::new(),
            settings: ReflectorSettings {
                name: "scenario".to_owned(),
                backoff: BackoffSettings {
                    jitter: 0.0,
                    ..BackoffSettings::default()
                },
                random: fastrand::Rng::with_seed(7),
                ..ReflectorSettings::default()
            },
            checkpoint: None,
            cache,
            status: None,
            queue: DeltaQueue::in_order(),
            reading: Reading::On,
            stop: None,
            log: Log::default(),
            decoded: Log::default(),
            out_of_order: Vec::new(),
            reached: None,
            running: None,
            woken: Arc::default(),
            writer,
        }
    }

    pub(super) fn start(&mut self) {
        let (stop, stopped) = oneshot::channel();
        let errors = self.log.clone();
        let set_aside = self.log.clone();
        let reflector = Reflector::new(
            Arc::new(Noted {
                source: self.source.clone(),
                log: self.log.clone(),
            }),
            decoder(&self.decoded),
            self.queue.clone(),
            self.settings.clone(),
        )
        .with_known(self.cache.clone())
        .on_error(move |error| errors.note(format!("error: {error}")))
        .on_set_aside(move |object| set_aside.note(words(&object)));
        self.status = Some(reflector.status());
        let stopped = stopped.map(|_| ());
        let running = tokio::task::unconstrained(reflector.run(stopped));
        self.running = Some(Box::pin(running));
        self.stop = Some(stop);
    }

    /// Drops the reflector.
    pub(super) fn drop_it(&mut self) {
        self.running = None;
    }

    /// Lets the reflector do all it can do now, and tells what it did.
    pub(super) fn settle(&mut self) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let ended = self.poll();
            seen.extend(self.log.take());
            let deltas = self.read();
            if ended {
                seen.push("ended".to_owned());
            }
            if deltas.is_none() && !self.woken.0.load(SeqCst) {
                return seen;
            }
            seen.extend(deltas);
        }
    }

    fn poll(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.woken));
        let Some(running) = &mut self.running else {
            return false;
        };
        self.woken.0.store(false, SeqCst);
        let ended = running.as_mut().poll(&mut Context::from_waker(&waker));
        if ended == Poll::Pending {
            return false;
        }
        self.running = None;
        true
    }

    /// Empties the queue. How it divides deltas into batches is its own business.
    fn read(&mut self) -> Option<String> {
        let mut seen = Vec::new();
        while self.reading == Reading::On
            && let Some(Some(batch)) = self.queue.pop_batch().now_or_never()
        {
            seen.extend(batch.iter().map(delta_words));
            batch.iter().for_each(|delta| self.observe(delta));
            self.writer.apply(batch);
        }
        (!seen.is_empty()).then(|| shortened(&seen))
    }

    fn observe(&mut self, delta: &Delta<Word>) {
        let order = match (&self.reached, delta.version()) {
            (Some(reached), Some(version)) => version.compare(reached),
            (None, _) | (_, None) => None,
        };
        let repeats = delta.key().is_some() && order == Some(Ordering::Equal);
        if repeats || order == Some(Ordering::Less) {
            self.out_of_order.push(delta_words(delta));
        }
        self.reached = delta.version().cloned();
    }

    /// Lets time pass, and tells what happened when.
    pub(super) async fn wait(&mut self, duration: Duration) -> Vec<String> {
        let mut seen = Vec::new();
        let mut waited = Duration::ZERO;
        while waited < duration {
            tokio::time::advance(TICK).await;
            waited += TICK;
            let new = self.settle().into_iter();
            seen.extend(new.map(|line| format!("{:.1}s {line}", waited.as_secs_f64())));
        }
        seen
    }
}

impl Log {
    fn note(&self, line: String) {
        self.0.lock().push(line);
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

fn decoder(log: &Log) -> Decoder<Word> {
    let log = log.clone();
    Decoder::new(move |raw: &RawObject| {
        let word = String::from_utf8_lossy(&raw.body).into_owned();
        log.note(format!("{}@{}", raw.key, raw.version));
        match word.as_str() {
            "bad" => Err(DecodeError {
                reason: "a bad word".to_owned(),
            }),
            "panic" => panic!("a decoder panics"),
            _ => Ok(word),
        }
    })
}

fn words(object: &SetAside) -> String {
    let key = object.key.as_ref().map_or("?", |key| key.as_str());
    let version = object
        .version
        .as_ref()
        .map_or("?".to_owned(), ToString::to_string);
    format!("set aside {key}@{version}: {}", object.reason)
}

fn delta_words(delta: &Delta<Word>) -> String {
    match delta {
        Delta::Added(object) => format!("+{}@{}", object.key, object.version),
        Delta::Updated(object) => format!("~{}@{}", object.key, object.version),
        Delta::Deleted(deletion) => {
            let last = deletion.last.as_ref();
            let last = last.map_or("unknown", |object| &object.body);
            format!("-{}@{}({last})", deletion.key, deletion.version)
        }
        Delta::Bookmark(version) => format!("@{version}"),
        Delta::Resync => "resync".to_owned(),
        Delta::Replaced(replacement) => {
            let version = replacement.version.as_ref();
            let version = version.map_or("?".to_owned(), ToString::to_string);
            let objects = replacement.objects.iter();
            let mut words: Vec<_> = objects
                .map(|object| format!("{}@{}", object.key, object.version))
                .collect();
            words.extend(
                replacement
                    .set_aside
                    .iter()
                    .map(|key| format!("{key}@aside")),
            );
            format!("replaced@{version}[{}]", shortened(&words))
        }
    }
}

fn shortened(words: &[String]) -> String {
    match words {
        [first, .., last] if words.len() > WORDS_MAX => {
            format!("{first} .. {last} ({})", words.len())
        }
        words => words.join(" "),
    }
}
