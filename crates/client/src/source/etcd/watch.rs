//! A watch as a stream of events that notices when nobody answers any more.

use std::time::Duration;

use futures_util::FutureExt;
use listwatch_etcd::{Error, ProgressRequests, Watch, WatchUpdate};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use super::{EtcdSource, key_names::KeyNames};
use crate::{
    RawEvent, SourceError, Version,
    lister_watcher::{Bookmark, BoxFuture, EventStream},
};

/// Events that are handed over together; the rest waits on the connection.
const BATCH_EVENTS_MAX: usize = 1000;
/// How many progress requests in a row may stay unanswered.
const UNANSWERED_MAX: u32 = 3;

/// An open watch.
pub(super) struct EtcdWatch {
    watch: Watch,
    names: KeyNames,
    ends: Instant,
    questions: Interval,
    patience: Duration,
    /// Since when a question has not been answered.
    asked: Option<Instant>,
    /// Everything up to here has been told.
    told: u64,
    /// What ended the watch behind the last events.
    failed: Option<Error>,
}

impl EtcdWatch {
    pub(super) fn new(watch: Watch, source: &EtcdSource, after: u64, timeout: Duration) -> Self {
        let period = source.progress_interval;
        let now = Instant::now();
        let mut questions = interval_at(now + period, period);
        questions.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            watch,
            names: source.keys.names.clone(),
            ends: now + timeout,
            questions,
            patience: period * UNANSWERED_MAX,
            asked: None,
            told: after,
            failed: None,
        }
    }

    async fn read(&mut self) -> Option<Result<Vec<RawEvent>, SourceError>> {
        loop {
            if let Some(error) = self.failed.take() {
                return Some(Err(error.into()));
            }
            let asks = self.watch.progress_requests() == ProgressRequests::Reliable;
            tokio::select! {
                biased;
                update = self.watch.next() => {
                    let events = self.take_all_at_hand(update);
                    if !events.is_empty() {
                        return Some(Ok(events));
                    }
                }
                () = sleep_until(self.ends) => return None,
                _ = self.questions.tick(), if asks => {
                    if let Err(error) = self.ask() {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    /// Asks how far the watch has come, unless earlier questions stay unanswered for too long.
    fn ask(&mut self) -> Result<(), SourceError> {
        let since = *self.asked.get_or_insert_with(Instant::now);
        let silent_for = since.elapsed();
        if silent_for >= self.patience {
            return Err(SourceError::Disconnected {
                reason: format!("etcd has not answered for {silent_for:?}"),
            });
        }
        self.watch.request_progress();
        Ok(())
    }

    fn take_all_at_hand(&mut self, first: Result<WatchUpdate, Error>) -> Vec<RawEvent> {
        let mut events = Vec::new();
        let mut next = Some(first);
        while let Some(update) = next {
            match update {
                Ok(update) => self.take(update, &mut events),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
            next = match events.len() {
                ..BATCH_EVENTS_MAX => self.watch.next().now_or_never(),
                BATCH_EVENTS_MAX.. => None,
            };
        }
        events
    }

    fn take(&mut self, update: WatchUpdate, events: &mut Vec<RawEvent>) {
        self.asked = None;
        match update {
            WatchUpdate::Events(changes) => {
                for change in changes {
                    let (revision, event) = self.names.event(change);
                    self.told = self.told.max(revision);
                    events.push(event);
                }
                // A version to go on from, where the last event has none.
                if matches!(events.last(), Some(RawEvent::Unreadable(_))) {
                    events.push(bookmark(self.told));
                }
            }
            // A member that lags behind tells less than is known: nothing.
            WatchUpdate::Progress { revision } if revision < self.told => {}
            WatchUpdate::Progress { revision } => {
                self.told = revision;
                events.push(bookmark(revision));
            }
        }
    }
}

fn bookmark(revision: u64) -> RawEvent {
    RawEvent::Bookmark(Bookmark::Progress(Version::Number(revision)))
}

impl EventStream for EtcdWatch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(self.read())
    }
}
