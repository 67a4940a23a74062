//! The one task that writes events, and tries again where that can help.

use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    Command, RecorderSettings, Reporter,
    correlator::{Correlator, Growth, SeriesKey, Verdict},
};

pub(super) struct Writer {
    client: Client,
    settings: RecorderSettings,
    correlator: Correlator,
}

/// A request to the server.
enum Write {
    Create(Box<Event>),
    Count(Growth),
}

/// What came of a request, by what to do next.
enum Outcome {
    Written,
    /// There is an event of this name: ours, if an answer was lost, or another's.
    NameTaken,
    /// There is no such event any more.
    Gone,
    /// The server will never take it.
    Rejected(kube::Error),
    /// The same may be taken later.
    Unanswered(String),
}

impl Writer {
    pub(super) fn new(client: Client, reporter: Reporter, settings: RecorderSettings) -> Self {
        Self {
            client,
            settings,
            correlator: Correlator::new(reporter),
        }
    }

    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        while let Some(command) = commands.recv().await {
            match command {
                Command::Record(occurrence) => match self.correlator.observe(*occurrence) {
                    Verdict::TooMany => count_dropped("too many"),
                    Verdict::Create(key, event) => self.write(&key, Write::Create(event)).await,
                    Verdict::Count(key, growth) => self.write(&key, Write::Count(growth)).await,
                },
                // Whoever asked may have gone away.
                Command::Flush(done) => drop(done.send(())),
            }
        }
    }

    async fn write(&mut self, key: &SeriesKey, mut write: Write) {
        for attempt in 1..=self.settings.attempts_max {
            match self.send(&write).await {
                Outcome::NameTaken if attempt > 1 => return,
                Outcome::Written => {
                    metrics::counter!("listwatch_events_written_total").increment(1);
                    return;
                }
                Outcome::NameTaken | Outcome::Gone => match self.correlator.recreate(key) {
                    Some(event) => write = Write::Create(event),
                    None => break,
                },
                Outcome::Rejected(error) => {
                    tracing::warn!(%error, "an event was refused");
                    count_dropped("refused");
                    self.correlator.forget(key);
                    return;
                }
                Outcome::Unanswered(reason) => {
                    tracing::debug!(reason, attempt, "an event was not written yet");
                    sleep(self.pause(attempt)).await;
                }
            }
        }
        tracing::warn!("an event was given up");
        count_dropped("unanswered");
        self.correlator.forget(key);
    }

    async fn send(&self, write: &Write) -> Outcome {
        let request = async {
            match write {
                Write::Create(event) => self.create(event).await,
                Write::Count(growth) => self.count(growth).await,
            }
        };
        match timeout(self.settings.request_timeout, request).await {
            Ok(Ok(_)) => Outcome::Written,
            Ok(Err(error)) => judge(write, error),
            Err(_) => Outcome::Unanswered("no answer in time".to_owned()),
        }
    }

    async fn create(&self, event: &Event) -> Result<Event, kube::Error> {
        let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        events.create(&PostParams::default(), event).await
    }

    async fn count(&self, growth: &Growth) -> Result<Event, kube::Error> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &growth.namespace);
        let patch = Patch::Merge(json!({"series": growth.series}));
        let options = PatchParams::default();
        events.patch(&growth.name, &options, &patch).await
    }

    /// No pause after the last try; the first is cut short by chance.
    fn pause(&mut self, attempt: u32) -> Duration {
        match attempt {
            1 => self
                .settings
                .retry_pause
                .mul_f64(self.settings.random.f64()),
            last if last >= self.settings.attempts_max => Duration::ZERO,
            _ => self.settings.retry_pause,
        }
    }
}

/// Counts an event that will not be written.
pub(super) fn count_dropped(reason: &'static str) {
    metrics::counter!("listwatch_events_dropped_total", "reason" => reason).increment(1);
}

fn judge(write: &Write, error: kube::Error) -> Outcome {
    let kube::Error::Api(status) = &error else {
        return Outcome::Unanswered(error.to_string());
    };
    match (write, status.code) {
        (Write::Create(_), 409) if status.is_already_exists() => Outcome::NameTaken,
        (Write::Count(_), 404) => Outcome::Gone,
        (_, 429 | 500..) => Outcome::Unanswered(error.to_string()),
        _ => Outcome::Rejected(error),
    }
}
