//! A watch that outlives its connections, for as long as the source remembers where it was.

use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    ListerWatcher, RawEvent, SourceError, Version,
    lister_watcher::{Bookmark, EventStream, WatchOptions, WatchStart},
};

/// Watches from a version on, and resumes after the last event when the stream breaks.
///
/// It keeps no state but that version: there is no list and no cache. It ends when resuming cannot
/// help: the version is no longer kept, the credentials do not suffice, or the request is refused
/// as it is. A [`Version`] always names a moment, so there is no watch from nowhere.
pub struct RetryWatcher {
    source: Arc<dyn ListerWatcher>,
    settings: RetryWatcherSettings,
    resume_after: Version,
    waiting: VecDeque<RawEvent>,
    state: State,
}

/// How to watch, and to watch again.
#[derive(Clone, Debug)]
pub struct RetryWatcherSettings {
    /// What becomes of bookmarks. They move the place to resume from either way.
    pub bookmarks: Bookmarks,
    /// The least time between the beginnings of two watches.
    pub restart_interval: Duration,
    /// After how long the source should end each watch in good order.
    pub timeout: Duration,
}

/// What becomes of bookmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bookmarks {
    /// They are told like other events.
    Deliver,
    /// They are kept to itself.
    Swallow,
}

enum State {
    Pausing {
        until: Instant,
    },
    Watching {
        began: Instant,
        stream: Box<dyn EventStream>,
    },
    Ended,
}

impl Default for RetryWatcherSettings {
    fn default() -> Self {
        Self {
            bookmarks: Bookmarks::Swallow,
            restart_interval: Duration::from_secs(1),
            timeout: Duration::from_secs(300),
        }
    }
}

impl RetryWatcher {
    /// A watch that has not begun. Its first event will be the first after `start`.
    pub fn new(
        source: Arc<dyn ListerWatcher>,
        start: Version,
        settings: RetryWatcherSettings,
    ) -> Self {
        Self {
            source,
            settings,
            resume_after: start,
            waiting: VecDeque::new(),
            state: State::Pausing {
                until: Instant::now(),
            },
        }
    }

    /// The next event, or the error that ends the watch; `None` after that.
    ///
    /// Cancel safe: a dropped future loses no event.
    pub async fn next(&mut self) -> Option<Result<RawEvent, SourceError>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.advance(&event);
                if self.tells(&event) {
                    return Some(Ok(event));
                }
                continue;
            }
            match self.step().await {
                Ok(Step::Go) => {}
                Ok(Step::End) => return None,
                Err(error) => {
                    self.state = State::Ended;
                    return Some(Err(error));
                }
            }
        }
    }

    /// The version after which the next event comes.
    pub fn resume_after(&self) -> &Version {
        &self.resume_after
    }

    async fn step(&mut self) -> Result<Step, SourceError> {
        match &mut self.state {
            State::Pausing { until } => {
                sleep_until(*until).await;
                self.watch().await?;
            }
            State::Watching { began, stream } => {
                let began = *began;
                match stream.next().await {
                    Some(Ok(events)) => self.waiting.extend(events),
                    Some(Err(error)) => self.pause(began, error)?,
                    None => self.pause_until(began + self.settings.restart_interval),
                }
            }
            State::Ended => return Ok(Step::End),
        }
        Ok(Step::Go)
    }

    async fn watch(&mut self) -> Result<(), SourceError> {
        let options = WatchOptions {
            start: WatchStart::After(self.resume_after.clone()),
            timeout: self.settings.timeout,
        };
        let began = Instant::now();
        match self.source.watch(&options).await {
            Ok(stream) => self.state = State::Watching { began, stream },
            Err(error) => self.pause(began, error)?,
        }
        Ok(())
    }

    /// Plans the next watch, or hands the error back if there is no sense in one.
    fn pause(&mut self, began: Instant, error: SourceError) -> Result<(), SourceError> {
        let asked_for = match &error {
            SourceError::Expired { .. }
            | SourceError::Denied { .. }
            | SourceError::Refused { .. } => return Err(error),
            SourceError::TooLarge { retry_after, .. }
            | SourceError::TooManyRequests { retry_after, .. } => *retry_after,
            SourceError::ConnectionRefused { .. }
            | SourceError::Disconnected { .. }
            | SourceError::Internal { .. }
            | SourceError::Unreadable { .. } => None,
        };
        tracing::debug!(%error, resume_after = %self.resume_after, "the watch is resumed");
        let earliest = began + self.settings.restart_interval;
        let until = asked_for.map_or(earliest, |wait| earliest.max(Instant::now() + wait));
        self.pause_until(until);
        Ok(())
    }

    fn pause_until(&mut self, until: Instant) {
        metrics::counter!("listwatch_retry_watcher_restarts_total").increment(1);
        self.state = State::Pausing { until };
    }

    fn advance(&mut self, event: &RawEvent) {
        match event {
            RawEvent::Added(object) | RawEvent::Modified(object) | RawEvent::Deleted(object) => {
                self.resume_after = object.version.clone();
            }
            RawEvent::Bookmark(
                Bookmark::Progress(version) | Bookmark::InitialEventsEnd(version),
            ) => {
                self.resume_after = version.clone();
            }
            RawEvent::Unreadable(_) => {}
        }
    }

    fn tells(&self, event: &RawEvent) -> bool {
        match event {
            RawEvent::Bookmark(_) => self.settings.bookmarks == Bookmarks::Deliver,
            RawEvent::Added(_)
            | RawEvent::Modified(_)
            | RawEvent::Deleted(_)
            | RawEvent::Unreadable(_) => true,
        }
    }
}

enum Step {
    Go,
    End,
}

impl fmt::Debug for RetryWatcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RetryWatcher")
            .field("resume_after", &self.resume_after)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
