//! Keeps a delta queue told of everything a source holds: lists, watches, resumes, lists again.
//!
//! Owns the order of these and what follows each failure. It reads nothing more from the source
//! while the queue is full, and never asks for a state older than one it has told.

mod backoff;
mod connection;
mod consistency;
mod error;
mod intake;
mod paged_list;
mod patience;
mod phase;
mod position;
mod settings;
mod status;
mod streaming_list;
#[cfg(test)]
mod tests;

use std::{convert::Infallible, fmt, sync::Arc};

use tokio::{sync::watch, time::Instant};
use tracing::Instrument;

use self::{
    backoff::Backoff,
    connection::{Connection, Ended},
    intake::Intake,
    paged_list::Paging,
    patience::Patience,
    phase::{Next, Step},
    position::Position,
    status::Reporter,
    streaming_list::StreamingSupport,
};
use crate::{
    Cache, Decoder, Delta, DeltaQueue, ListerWatcher, Replacement, SetAside, Version,
    delta_queue::QueueClosed,
    lister_watcher::{RawEvent, WatchOptions, WatchStart},
};

pub use self::{
    error::{ReflectorError, RelistCause},
    phase::Phase,
    settings::{
        BackoffSettings, ConsistencyCheck, Fill, REFUSAL_REMEMBERED, ReflectorSettings, SILENCE_MIN,
    },
    status::{Counts, ReflectorStatus},
};

/// Lists a source, watches it from there, and pushes what it learns into a [`DeltaQueue`].
///
/// ```text
/// Filling ─┬─> StreamingList ─────────────┐
///    ^     │         │ refused            v
///    │     └────> Listing ─> Connecting ─> Watching
///    │                          ^ ended in good order, broken, silent │
///    │                          └─────────────────────────────────────┤
///    └── BackingOff <── expired, failed, too short ───────────────────┘
/// ```
///
/// All events that the source has at hand become one batch of deltas. An object that cannot be
/// decoded is set aside: the hook is told, the version moves on, the watch continues.
///
/// ```
/// # use std::sync::Arc;
/// # use listwatch::{Decoder, Delta, DeltaQueue, Reflector, ReflectorSettings};
/// # use listwatch::source::ScriptedSource;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let source = ScriptedSource::new();
/// source.put("default/web", "hello");
///
/// let queue = DeltaQueue::in_order();
/// let settings = ReflectorSettings::default();
/// let reflector = Reflector::new(Arc::new(source), Decoder::raw(), queue.clone(), settings);
/// let running = tokio::spawn(reflector.run(std::future::pending()));
///
/// let deltas = queue.pop_batch().await.expect("the queue is open");
/// assert!(matches!(&deltas[..], [Delta::Replaced(state)] if state.objects.len() == 1));
/// # running.abort();
/// # }
/// ```
pub struct Reflector<T> {
    source: Arc<dyn ListerWatcher>,
    intake: Intake<T>,
    queue: DeltaQueue<T>,
    settings: ReflectorSettings,
    on_error: Arc<ErrorHook>,
    position: Position,
    paging: Paging,
    streaming: StreamingSupport,
    backoff: Backoff,
    patience: Patience,
    reporter: Reporter,
}

type ErrorHook = dyn Fn(&ReflectorError) + Send + Sync;

impl<T: Send + Sync + 'static> Reflector<T> {
    /// A reflector that has not begun.
    pub fn new(
        source: Arc<dyn ListerWatcher>,
        decoder: Decoder<T>,
        queue: DeltaQueue<T>,
        settings: ReflectorSettings,
    ) -> Self {
        Self {
            source,
            intake: Intake::new(decoder),
            queue,
            on_error: Arc::new(|_| {}),
            position: Position::default(),
            paging: Paging::new(settings.page_size),
            streaming: StreamingSupport::default(),
            backoff: Backoff::new(settings.backoff.clone()),
            patience: Patience::new(settings.internal_error_patience),
            reporter: Reporter::new(&settings.name),
            settings,
        }
    }

    /// Looks into this cache when it lists: an object of the same version is taken from there, and
    /// not decoded again.
    #[must_use]
    pub fn with_known(mut self, cache: Cache<T>) -> Self {
        self.intake.know(cache);
        self
    }

    /// Calls this with everything that goes wrong. The reflector goes on by itself, once the hook
    /// has returned.
    #[must_use]
    pub fn on_error(mut self, hook: impl Fn(&ReflectorError) + Send + Sync + 'static) -> Self {
        self.on_error = Arc::new(hook);
        self
    }

    /// Calls this with every object that could not be decoded, as often as it comes.
    #[must_use]
    pub fn on_set_aside(mut self, hook: impl Fn(SetAside) + Send + Sync + 'static) -> Self {
        self.intake.on_set_aside(hook);
        self
    }

    /// What it is doing, now and whenever that changes.
    pub fn status(&self) -> watch::Receiver<ReflectorStatus> {
        self.reporter.subscribe()
    }

    /// Works until `stop` is ready, a push finds the queue closed, or the future is dropped.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let span = tracing::info_span!("reflector", name = %self.settings.name);
        let work = async {
            tokio::select! {
                biased;
                () = stop => {}
                Err(QueueClosed) = self.work() => {}
            }
        };
        work.instrument(span).await;
    }

    async fn work(&mut self) -> Result<Infallible, QueueClosed> {
        let mut step = Step::Filling;
        loop {
            self.reporter.enter(step.phase());
            step = match step {
                Step::Filling => self.choose_how_to_fill(),
                Step::StreamingList { cuts } => self.fill_from_stream(cuts).await?,
                Step::Listing => self.fill_from_list().await?,
                Step::Connecting => self.connect().await,
                Step::Watching(connection) => self.follow(connection).await?,
                Step::BackingOff { delay, next } => {
                    tokio::time::sleep(delay).await;
                    next.into()
                }
            };
        }
    }

    fn choose_how_to_fill(&self) -> Step {
        match self.settings.fill {
            Fill::Stream if self.streaming.is_worth_asking(&*self.source) => {
                Step::StreamingList { cuts: 0 }
            }
            Fill::Stream | Fill::List => Step::Listing,
        }
    }

    async fn fill_from_list(&mut self) -> Result<Step, QueueClosed> {
        let begun = Instant::now();
        let replacement = match self.list().await {
            Ok(replacement) => replacement,
            Err(error) => return Ok(self.back_off(ReflectorError::List(error), Next::Filling)),
        };
        self.reporter.listed(begun.elapsed());
        let version = replacement.version.clone();
        self.replace(replacement, Vec::new()).await?;
        Ok(match version {
            Some(_) => Step::Connecting,
            None => self.back_off(ReflectorError::NoVersion, Next::Filling),
        })
    }

    async fn connect(&mut self) -> Step {
        let Some(version) = self.position.version().cloned() else {
            return Step::Filling;
        };
        match self.open(WatchStart::After(version)).await {
            Ok(connection) => Step::Watching(connection),
            Err(ended) => self.after(ended),
        }
    }

    async fn follow(&mut self, mut connection: Connection) -> Result<Step, QueueClosed> {
        loop {
            match connection.next().await {
                Ok(events) => self.tell(events).await?,
                Err(ended) => return Ok(self.after(ended)),
            }
        }
    }

    fn after(&mut self, ended: Ended) -> Step {
        match ended {
            Ended::InGoodOrder => Step::Connecting,
            Ended::Broken(error) => self.go_on(ReflectorError::Watch(error), Next::Connecting),
            Ended::Silent { silent_for } => {
                self.go_on(ReflectorError::SilentWatch { silent_for }, Next::Connecting)
            }
            Ended::Short => self.back_off(ReflectorError::ShortWatch, Next::Filling),
            Ended::Failed(error) => {
                let next = phase::after_failed_watch(&error, &mut self.patience);
                self.back_off(ReflectorError::Watch(error), next)
            }
        }
    }

    async fn open(&mut self, start: WatchStart) -> Result<Connection, Ended> {
        let timeout = self.settings.watch_timeout();
        self.reporter.watch_begun();
        let options = WatchOptions { start, timeout };
        Connection::open(&*self.source, &options, self.settings.bookmark_deadline).await
    }

    async fn tell(&mut self, events: Vec<RawEvent>) -> Result<(), QueueClosed> {
        self.reporter.received(&events);
        let (deltas, version) = self.take_in(events);
        if !deltas.is_empty() {
            self.queue.push(deltas).await?;
        }
        if let Some(version) = version {
            self.position.advance(version);
        }
        self.reporter.heard(&self.position);
        Ok(())
    }

    /// Tells the whole state, and what the source said right after it.
    async fn replace(
        &mut self,
        replacement: Replacement<T>,
        events: Vec<RawEvent>,
    ) -> Result<(), QueueClosed> {
        let (later, latest) = self.take_in(events);
        let version = newest(replacement.version.iter().chain(&latest)).cloned();
        let mut deltas = vec![Delta::Replaced(replacement)];
        deltas.extend(later);
        self.queue.push(deltas).await?;
        if let Some(version) = version {
            self.position.fill(version);
        }
        self.reporter.heard(&self.position);
        Ok(())
    }

    fn take_in(&self, events: Vec<RawEvent>) -> (Vec<Delta<T>>, Option<Version>) {
        let deltas = events.into_iter();
        let deltas = deltas.filter_map(|event| self.intake.event(event, &self.reporter));
        let deltas: Vec<_> = deltas.collect();
        let version = newest(deltas.iter().filter_map(Delta::version)).cloned();
        (deltas, version)
    }

    fn go_on(&mut self, error: ReflectorError, next: Next) -> Step {
        self.trouble(&error);
        next.into()
    }

    fn back_off(&mut self, error: ReflectorError, next: Next) -> Step {
        self.trouble(&error);
        if next == Next::Filling && !matches!(error, ReflectorError::List(_)) {
            self.reporter.relist(error.cause());
        }
        let delay = self.backoff.delay(&mut self.settings.random);
        let delay = delay.max(error.retry_after().unwrap_or_default());
        Step::BackingOff { delay, next }
    }

    fn trouble(&self, error: &ReflectorError) {
        self.reporter.failed(error);
        (self.on_error)(error);
    }
}

/// The latest of versions that come in order, but for those of events that are told again.
fn newest<'a>(versions: impl Iterator<Item = &'a Version>) -> Option<&'a Version> {
    versions.reduce(|newest, version| match newest.reaches(version) {
        true => newest,
        false => version,
    })
}

impl<T> fmt::Debug for Reflector<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reflector")
            .field("settings", &self.settings)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
