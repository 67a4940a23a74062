//! The whole state as the beginning of a watch, which then goes on.

use std::{collections::BTreeMap, sync::Arc};

use tokio::time::Instant;

use super::{
    ConsistencyCheck, Reflector,
    connection::{Connection, Ended},
    error::ReflectorError,
    intake::{Known, Taken},
    phase::{Next, Step},
    settings::REFUSAL_REMEMBERED,
};
use crate::{
    ListerWatcher, Object, ObjectKey, RawEvent, Replacement, SourceError, Version,
    delta_queue::QueueClosed,
    lister_watcher::{Bookmark, Freshness, InitialEvents, WatchStart},
};

/// Streams of one fill that may end before the state is complete. Then a list takes their place.
const CUTS_MAX: u32 = 3;

/// Whether the source is worth asking for a watch that begins with the state.
#[derive(Debug, Default)]
pub(super) struct StreamingSupport {
    refused: Option<Instant>,
}

/// The state as far as it has been streamed. Nothing of it is told before it is complete.
pub(super) struct Streamed<T> {
    known: Known<T>,
    objects: BTreeMap<ObjectKey, Option<Arc<Object<T>>>>,
}

/// A complete state, the watch that told it, and what that watch has told since.
struct Complete<T> {
    state: Streamed<T>,
    version: Version,
    connection: Connection,
    later: Vec<RawEvent>,
}

impl StreamingSupport {
    pub(super) fn is_worth_asking(&self, source: &dyn ListerWatcher) -> bool {
        let recent = |refused: Instant| refused.elapsed() < REFUSAL_REMEMBERED;
        match source.initial_events() {
            InitialEvents::Unsupported => false,
            InitialEvents::Offered => !self.refused.is_some_and(recent),
        }
    }
}

impl<T: Send + Sync + 'static> Reflector<T> {
    pub(super) async fn fill_from_stream(&mut self, cuts: u32) -> Result<Step, QueueClosed> {
        let begun = Instant::now();
        let freshness = self.position.of_streaming_list();
        let complete = match self.stream(&freshness).await {
            Ok(complete) => complete,
            Err(ended) => return Ok(self.after_stream(ended, &freshness, cuts)),
        };
        if let Err(error) = self.check(&complete.state, &complete.version).await {
            self.reporter.relist(error.cause());
            return Ok(self.go_on(error, Next::Listing));
        }
        self.reporter.listed(begun.elapsed());
        let replacement = complete.state.into_replacement(complete.version);
        self.replace(replacement, complete.later).await?;
        Ok(Step::Watching(complete.connection))
    }

    async fn stream(&mut self, freshness: &Freshness) -> Result<Complete<T>, Ended> {
        let mut state = Streamed::new(self.intake.known());
        let start = WatchStart::InitialEvents(freshness.clone());
        let mut connection = self.open(start).await?;
        loop {
            let events = connection.next().await?;
            self.reporter.received(&events);
            let mut events = events.into_iter();
            while let Some(event) = events.next() {
                if let RawEvent::Bookmark(Bookmark::InitialEventsEnd(version)) = event {
                    return Ok(Complete {
                        state,
                        version,
                        connection,
                        later: events.collect(),
                    });
                }
                self.take_streamed(&mut state, event);
            }
        }
    }

    fn take_streamed(&self, state: &mut Streamed<T>, event: RawEvent) {
        match event {
            RawEvent::Added(raw) | RawEvent::Modified(raw) => {
                let taken = self.intake.object(raw, &state.known, &self.reporter);
                state.put(taken);
            }
            RawEvent::Deleted(raw) => {
                state.objects.remove(&raw.key);
            }
            RawEvent::Unreadable(unreadable) => self.intake.skip(unreadable, &self.reporter),
            RawEvent::Bookmark(Bookmark::Progress(_) | Bookmark::InitialEventsEnd(_)) => {}
        }
    }

    /// What to do after a stream that ended before the state was complete.
    fn after_stream(&mut self, ended: Ended, freshness: &Freshness, cuts: u32) -> Step {
        let again = Next::StreamingList { cuts: cuts + 1 };
        let cut = if cuts + 1 < CUTS_MAX {
            again
        } else {
            Next::Listing
        };
        let error = match ended {
            Ended::InGoodOrder | Ended::Silent { .. } => {
                return self.go_on(ReflectorError::CutStream, cut);
            }
            Ended::Broken(error) => {
                return self.go_on(ReflectorError::StreamingList(error), cut);
            }
            Ended::Short => return self.go_on(ReflectorError::ShortWatch, Next::Listing),
            Ended::Failed(error) => error,
        };
        match error {
            SourceError::TooManyRequests { .. }
            | SourceError::ConnectionRefused { .. }
            | SourceError::Disconnected { .. } => self.back_off(
                ReflectorError::StreamingList(error),
                Next::StreamingList { cuts },
            ),
            SourceError::Expired { .. } | SourceError::TooLarge { .. }
                if *freshness != Freshness::MostRecent =>
            {
                self.position.refuse();
                self.go_on(
                    ReflectorError::StreamingList(error),
                    Next::StreamingList { cuts },
                )
            }
            SourceError::Refused { .. } => {
                self.streaming.refused = Some(Instant::now());
                self.go_on(ReflectorError::StreamingList(error), Next::Listing)
            }
            SourceError::Expired { .. }
            | SourceError::TooLarge { .. }
            | SourceError::Denied { .. }
            | SourceError::Internal { .. }
            | SourceError::Unreadable { .. } => {
                self.go_on(ReflectorError::StreamingList(error), Next::Listing)
            }
        }
    }

    async fn check(&self, state: &Streamed<T>, version: &Version) -> Result<(), ReflectorError> {
        match self.settings.consistency_check {
            ConsistencyCheck::Off => Ok(()),
            ConsistencyCheck::Compare => self.compare(state, version).await,
        }
    }
}

impl<T> Streamed<T> {
    fn new(known: Known<T>) -> Self {
        Self {
            known,
            objects: BTreeMap::new(),
        }
    }

    fn put(&mut self, taken: Taken<T>) {
        match taken {
            Taken::Object(object) => self.objects.insert(object.key.clone(), Some(object)),
            Taken::SetAside(key) => self.objects.insert(key, None),
        };
    }

    /// Every object with its version; one that was set aside has none.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&ObjectKey, Option<&Version>)> {
        let objects = self.objects.iter();
        objects.map(|(key, object)| (key, object.as_ref().map(|object| &object.version)))
    }

    fn into_replacement(self, version: Version) -> Replacement<T> {
        let mut objects = Vec::with_capacity(self.objects.len());
        let mut set_aside = Vec::new();
        for (key, object) in self.objects {
            match object {
                Some(object) => objects.push(object),
                None => set_aside.push(key),
            }
        }
        Replacement {
            objects,
            set_aside,
            version: Some(version),
        }
    }
}
