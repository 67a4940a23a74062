//! Tells people what a program did to an object: what `kubectl describe` lists under Events.
//!
//! Recording never waits. Occurrences go through a bounded queue to one task, which counts those
//! that repeat, combines those that differ in their note only, thins out those about an object
//! with too many, and writes the rest as `events.k8s.io/v1`.

mod correlator;
mod naming;
mod recent_map;
mod writer;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::Client;
use thiserror::Error;
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::{Instant, timeout},
};

use crate::wall_clock::WallClock;
use correlator::Occurrence;
use writer::Writer;

/// The namespace for events about objects outside of any.
const CLUSTER_EVENTS_NAMESPACE: &str = "default";

/// Records events. Clones share one queue and one writer.
///
/// The program needs the rights to `create` and `patch` `events` of `events.k8s.io`, in the
/// namespaces of the objects, and in `default` for objects without a namespace.
#[derive(Clone)]
pub struct EventRecorder {
    shared: Arc<Shared>,
}

struct Shared {
    queue: mpsc::Sender<Command>,
    wall_clock: WallClock,
    flush_timeout: Duration,
    dropped: AtomicU64,
    writing: AbortHandle,
}

enum Command {
    Record(Box<Occurrence>),
    Flush(oneshot::Sender<()>),
}

/// Who reports: the FROM column of `kubectl describe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporter {
    /// The program, such as `example.com/my-controller`.
    pub controller: String,
    /// Which of its processes, such as the pod's name.
    pub instance: String,
}

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// Whether anybody has to care.
    pub severity: Severity,
    /// Why it happened, in one word such as `Scheduled`: what programs look at.
    pub reason: String,
    /// What was done or failed, in one word such as `Binding`.
    pub action: String,
    /// What happened, for a person. Cut off after 1024 bytes.
    pub note: String,
    /// The object: see `kube::Resource::object_ref`.
    pub regarding: ObjectReference,
    /// Another object that has to do with it.
    pub related: Option<ObjectReference>,
}

/// Whether anybody has to care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Something is wrong.
    Warning,
}

/// How to record.
#[derive(Clone, Debug)]
pub struct RecorderSettings {
    /// Occurrences that may wait to be written, at least one. At the bound new ones are dropped
    /// and counted.
    pub queue_events_max: usize,
    /// Tries to write one event. At the bound it is dropped and counted.
    pub attempts_max: u32,
    /// The pause between two tries; the first is shorter by chance, so that a server that comes
    /// back does not meet all its clients at once.
    pub retry_pause: Duration,
    /// How long to wait for the server's answer to one try.
    pub request_timeout: Duration,
    /// How long [`EventRecorder::shutdown`] waits for what is queued.
    pub flush_timeout: Duration,
    /// Where the times come from that are written down.
    pub wall_clock: WallClock,
    /// Where chance comes from.
    pub random: fastrand::Rng,
}

/// Not everything was written in time.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("events were left unwritten")]
pub struct NotFlushed;

impl Default for RecorderSettings {
    fn default() -> Self {
        Self {
            queue_events_max: 1000,
            attempts_max: 12,
            retry_pause: Duration::from_secs(10),
            request_timeout: Duration::from_secs(10),
            flush_timeout: Duration::from_secs(5),
            wall_clock: WallClock::system(),
            random: fastrand::Rng::new(),
        }
    }
}

impl EventRecorder {
    /// Starts the task that writes. It ends when the last clone is dropped and all is written.
    pub fn start(client: Client, reporter: Reporter, settings: RecorderSettings) -> Self {
        let (queue, commands) = mpsc::channel(settings.queue_events_max.max(1));
        let wall_clock = settings.wall_clock.clone();
        let flush_timeout = settings.flush_timeout;
        let writer = Writer::new(client, reporter, settings);
        let writing = tokio::spawn(writer.run(commands)).abort_handle();
        let shared = Shared {
            queue,
            wall_clock,
            flush_timeout,
            dropped: AtomicU64::new(0),
            writing,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Queues an event. Returns at once, always: when the queue is full the event is dropped.
    pub fn record(&self, mut event: NewEvent) {
        event.note = naming::bounded_note(event.note);
        let occurrence = Box::new(Occurrence {
            event,
            at: Instant::now(),
            wall: self.shared.wall_clock.now(),
        });
        let queued = self.shared.queue.try_send(Command::Record(occurrence));
        if queued.is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            writer::count_dropped("queue");
        }
    }

    /// Events dropped because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything recorded before is written, or given up.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.shared.queue.send(Command::Flush(done)).await.is_ok() {
            // A writer that has ended leaves nothing to wait for.
            let _ = flushed.await;
        }
    }

    /// Writes what is queued, then ends: later events, also of clones, are dropped.
    pub async fn shutdown(self) -> Result<(), NotFlushed> {
        let flushed = timeout(self.shared.flush_timeout, self.flush()).await;
        self.shared.writing.abort();
        flushed.map_err(|_| NotFlushed)
    }
}

impl NewEvent {
    fn into_event(self, reporter: &Reporter, wall: &MicroTime, number: u64) -> Event {
        let namespace = self.regarding.namespace.clone();
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        let name = naming::event_name(Some(&self.regarding), wall, number);
        Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: namespace.or_else(|| Some(CLUSTER_EVENTS_NAMESPACE.to_owned())),
                ..ObjectMeta::default()
            },
            type_: Some(self.severity.as_str().to_owned()),
            reason: Some(self.reason),
            action: Some(self.action),
            note: Some(naming::bounded_note(self.note)),
            regarding: Some(self.regarding),
            related: self.related,
            reporting_controller: Some(reporter.controller.clone()),
            reporting_instance: Some(reporter.instance.clone()),
            event_time: Some(wall.clone()),
            ..Event::default()
        }
    }
}

impl Severity {
    /// As Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EventRecorder")
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}
