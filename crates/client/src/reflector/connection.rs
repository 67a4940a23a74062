//! One watch from its request to its end.

use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::settings::SILENCE_MIN;
use crate::{
    ListerWatcher, RawEvent, SourceError, Version,
    lister_watcher::{Bookmark, EventStream, WatchOptions, WatchStart},
};

/// A watch that ends sooner, and has told nothing, counts as failed.
const SHORT_WATCH: Duration = Duration::from_secs(1);

/// How long after its time a watch may end. One that is still there then is taken for dead.
const OVERDUE_AFTER: Duration = Duration::from_secs(30);

/// An open watch.
pub(super) struct Connection {
    stream: Box<dyn EventStream>,
    opened: Instant,
    overdue: Instant,
    progress: Progress,
    silence: Silence,
}

/// What a watch has told, as far as it matters for its end.
enum Progress {
    /// Nothing beyond this version.
    None {
        start: Option<Version>,
    },
    Some,
}

/// How long a watch may tell nothing.
enum Silence {
    Chosen(Duration),
    /// Nobody knows whether this source sends bookmarks.
    Unlimited,
    /// It does: when the last one came, and the longest time between two.
    Learned {
        last: Instant,
        longest: Duration,
    },
}

/// How a watch ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The source closed it in good order.
    InGoodOrder,
    /// The source closed it at once, and had told nothing.
    Short,
    /// The connection broke after it had served.
    Broken(SourceError),
    /// It told nothing for too long.
    Silent { silent_for: Duration },
    /// The source refused it, or ended it with an error.
    Failed(SourceError),
}

impl Connection {
    pub(super) async fn open(
        source: &dyn ListerWatcher,
        options: &WatchOptions,
        bookmark_deadline: Option<Duration>,
    ) -> Result<Self, Ended> {
        let asked = Instant::now();
        let overdue = asked + options.timeout + OVERDUE_AFTER;
        let stream = match timeout_at(overdue, source.watch(options)).await {
            Ok(answer) => answer.map_err(Ended::Failed)?,
            Err(_) => return Err(silent_since(asked)),
        };
        let start = match &options.start {
            WatchStart::After(version) => Some(version.clone()),
            WatchStart::InitialEvents(_) => None,
        };
        Ok(Self {
            stream,
            opened: Instant::now(),
            overdue,
            progress: Progress::None { start },
            silence: bookmark_deadline.map_or(Silence::Unlimited, Silence::Chosen),
        })
    }

    /// The next events, or why there are none.
    pub(super) async fn next(&mut self) -> Result<Vec<RawEvent>, Ended> {
        let asked = Instant::now();
        let next = timeout_at(self.overdue, self.stream.next());
        let answer = match self.silence.limit() {
            Some(limit) => timeout(limit, next).await.unwrap_or_else(Err),
            None => next.await,
        };
        match answer {
            Ok(Some(Ok(events))) => {
                self.observe(&events);
                Ok(events)
            }
            Ok(Some(Err(error))) => Err(self.failed(error)),
            Ok(None) if self.is_short() => Err(Ended::Short),
            Ok(None) => Err(Ended::InGoodOrder),
            Err(_) => Err(silent_since(asked)),
        }
    }

    fn observe(&mut self, events: &[RawEvent]) {
        for event in events {
            match event {
                RawEvent::Bookmark(Bookmark::Progress(version)) => {
                    self.silence.learn();
                    self.progress.reach(version);
                }
                RawEvent::Bookmark(Bookmark::InitialEventsEnd(version)) => {
                    self.progress.reach(version);
                }
                RawEvent::Added(raw) | RawEvent::Modified(raw) | RawEvent::Deleted(raw) => {
                    self.progress.reach(&raw.version);
                }
                RawEvent::Unreadable(_) => {}
            }
        }
    }

    fn failed(&self, error: SourceError) -> Ended {
        match error {
            SourceError::Disconnected { .. } if !self.is_short() => Ended::Broken(error),
            error => Ended::Failed(error),
        }
    }

    fn is_short(&self) -> bool {
        matches!(self.progress, Progress::None { .. }) && self.opened.elapsed() < SHORT_WATCH
    }
}

impl Progress {
    fn reach(&mut self, version: &Version) {
        if let Self::None { start } = self
            && start.as_ref() != Some(version)
        {
            *self = Self::Some;
        }
    }
}

impl Silence {
    fn limit(&self) -> Option<Duration> {
        match self {
            Self::Chosen(limit) => Some(*limit),
            Self::Unlimited => None,
            Self::Learned { longest, .. } => Some(longest.saturating_mul(3).max(SILENCE_MIN)),
        }
    }

    fn learn(&mut self) {
        let now = Instant::now();
        let longest = match self {
            Self::Chosen(_) => return,
            Self::Unlimited => Duration::ZERO,
            Self::Learned { last, longest } => (now - *last).max(*longest),
        };
        *self = Self::Learned { last: now, longest };
    }
}

fn silent_since(asked: Instant) -> Ended {
    Ended::Silent {
        silent_for: asked.elapsed(),
    }
}
