//! The watch cache of a running server as a source.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use listwatch::{
    Labels, ListerWatcher, ObjectKey, RawEvent, RawObject, SourceError,
    lister_watcher::{
        Bookmark, BoxFuture, EventStream, Freshness, ListEnd, ListOptions, ListPart, ListStream,
        WatchOptions, WatchStart,
    },
};
use listwatch_api::{EventType, object::Header};
use listwatch_server::{
    ServerHandle,
    registry::Conversion,
    watch_cache::{
        Area, CacheError, CachedObject, Interest, KindCache, Snapshot, WatchError, WatchEvent,
        Watcher, resource_version,
    },
};
use listwatch_store::Revision;
use thiserror::Error;
use tokio::time::{Instant, Interval, timeout_at};

use crate::{BOOKMARK_INTERVAL, revision, version};

/// Objects that are handed over at once.
const BATCH_OBJECTS_MAX: usize = 500;

/// Bytes of events that are handed over at once.
const BATCH_BYTES: usize = 4 << 20;

/// One kind of a server in this process.
pub struct ServerSource {
    cache: KindCache,
    interest: Interest,
    labels: Labelling,
}

/// Whether objects are handed over with their labels apart, beside those in their bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Labelling {
    Apart,
    InBodies,
}

/// The server has no such kind, or not in the form in which it is stored.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{resource} of {group}/{version} is not served as it is stored")]
pub struct UnknownKind {
    group: String,
    version: String,
    resource: String,
}

impl ServerSource {
    /// The objects of one kind, such as `"apps", "v1", "deployments"`; the core group is `""`.
    pub fn new(
        server: &ServerHandle,
        (group, version, resource): (&str, &str, &str),
        interest: Interest,
    ) -> Result<Self, UnknownKind> {
        let found = server.kind(group, version, resource);
        let found = found.filter(|(definition, _)| definition.conversion == Conversion::None);
        found
            .map(|(_, cache)| Self::of(cache, interest))
            .ok_or_else(|| UnknownKind {
                group: group.to_owned(),
                version: version.to_owned(),
                resource: resource.to_owned(),
            })
    }

    /// The objects of one kind in the form in which they are stored, whichever version is named:
    /// for readers of what is the same in all versions, such as metadata.
    pub fn as_stored(
        server: &ServerHandle,
        (group, version, resource): (&str, &str, &str),
        interest: Interest,
    ) -> Result<Self, UnknownKind> {
        let found = server.kind(group, version, resource);
        found
            .map(|(_, cache)| Self::of(cache, interest))
            .ok_or_else(|| UnknownKind {
                group: group.to_owned(),
                version: version.to_owned(),
                resource: resource.to_owned(),
            })
    }

    fn of(cache: KindCache, interest: Interest) -> Self {
        Self {
            cache,
            interest,
            labels: Labelling::Apart,
        }
    }

    /// Every object of one kind.
    pub fn all(server: &ServerHandle, kind: (&str, &str, &str)) -> Result<Self, UnknownKind> {
        Self::new(server, kind, Interest::everything_in(Area::Everywhere))
    }

    /// The same for readers that select nothing by labels: they are not kept.
    #[must_use]
    pub fn without_labels(mut self) -> Self {
        self.labels = Labelling::InBodies;
        self
    }

    async fn snapshot(&self, freshness: &Freshness) -> Result<Snapshot, SourceError> {
        let known = |wanted| {
            revision(wanted).ok_or_else(|| SourceError::Refused {
                code: 400,
                message: format!("{wanted} is not a version of this server"),
            })
        };
        let snapshot = match freshness {
            Freshness::MostRecent => self.cache.fresh().await,
            Freshness::Any => Ok(self.cache.latest()),
            Freshness::NotOlderThan(wanted) => self.cache.at_least(known(wanted)?).await,
            Freshness::Exactly(wanted) => self.cache.exactly(known(wanted)?).await,
        };
        snapshot.map_err(refused)
    }

    async fn begin(&self, options: &WatchOptions) -> Result<ServerEvents, SourceError> {
        let (after, initial) = match &options.start {
            WatchStart::After(wanted) => {
                let after = revision(wanted).ok_or_else(|| SourceError::Expired {
                    message: format!("{wanted} is not a version of this server"),
                })?;
                (after, None)
            }
            WatchStart::InitialEvents(freshness) => {
                let snapshot = self.snapshot(freshness).await?;
                let objects = snapshot.select(&self.interest, &[]).cloned();
                (snapshot.revision(), Some(objects.collect()))
            }
        };
        let mut bookmarks = tokio::time::interval(BOOKMARK_INTERVAL);
        bookmarks.reset();
        Ok(ServerEvents {
            labels: self.labels,
            watcher: self.cache.watch(&self.interest, after),
            initial,
            told: after,
            bookmarks,
            deadline: Instant::now() + options.timeout,
        })
    }
}

impl ListerWatcher for ServerSource {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async move {
            let snapshot = self.snapshot(&options.freshness).await?;
            // A snapshot is whole and costs nothing to hold, so that pages have no use.
            let objects = snapshot.select(&self.interest, &[]).cloned().collect();
            let revision = snapshot.revision();
            Ok(Box::new(ServerList {
                objects,
                revision,
                labels: self.labels,
            }) as _)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async move { Ok(Box::new(self.begin(options).await?) as _) })
    }
}

struct ServerList {
    objects: VecDeque<Arc<CachedObject>>,
    revision: Revision,
    labels: Labelling,
}

impl ListStream for ServerList {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        let count = self.objects.len().min(BATCH_OBJECTS_MAX);
        let part = match count {
            0 => ListPart::End(ListEnd {
                version: Some(version(self.revision)),
                continue_token: None,
            }),
            _ => {
                let objects = self.objects.drain(..count);
                let objects = objects.map(|object| Ok(self.labels.raw(&object, object.revision())));
                ListPart::Items(objects.collect())
            }
        };
        Box::pin(async { Ok(part) })
    }
}

struct ServerEvents {
    labels: Labelling,
    watcher: Watcher,
    /// What is left of the state; `None` once its end has been told.
    initial: Option<VecDeque<Arc<CachedObject>>>,
    /// How far the last event or bookmark was.
    told: Revision,
    bookmarks: Interval,
    deadline: Instant,
}

impl ServerEvents {
    async fn next_events(&mut self) -> Option<Result<Vec<RawEvent>, SourceError>> {
        if let Some(events) = self.initial_events() {
            return Some(Ok(events));
        }
        loop {
            let batch = tokio::select! {
                batch = self.watcher.next(BATCH_BYTES) => batch,
                _ = self.bookmarks.tick() => match self.progress() {
                    Some(bookmark) => return Some(Ok(vec![bookmark])),
                    None => continue,
                },
            };
            return Some(batch.map_err(ended).map(|batch| {
                self.told = batch.through;
                let events = batch.events.iter();
                events
                    .filter_map(|event| self.labels.event(event))
                    .collect()
            }));
        }
    }

    fn initial_events(&mut self) -> Option<Vec<RawEvent>> {
        let objects = self.initial.as_mut()?;
        let count = objects.len().min(BATCH_OBJECTS_MAX);
        if count == 0 {
            self.initial = None;
            let end = Bookmark::InitialEventsEnd(version(self.told));
            return Some(vec![RawEvent::Bookmark(end)]);
        }
        let objects = objects.drain(..count);
        let labels = self.labels;
        let events = objects.map(|object| RawEvent::Added(labels.raw(&object, object.revision())));
        Some(events.collect())
    }

    /// How far the watch is, if that is news.
    fn progress(&mut self) -> Option<RawEvent> {
        let position = self.watcher.position();
        let is_news = position > self.told;
        self.told = self.told.max(position);
        is_news.then(|| RawEvent::Bookmark(Bookmark::Progress(version(position))))
    }
}

impl EventStream for ServerEvents {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        let deadline = self.deadline;
        Box::pin(async move {
            timeout_at(deadline, self.next_events())
                .await
                .ok()
                .flatten()
        })
    }
}

impl Labelling {
    /// `None` for what a watcher never delivers.
    fn event(self, event: &WatchEvent) -> Option<RawEvent> {
        let object = event.event.content(event.event_type);
        let object = self.raw(object, event.event.revision());
        match event.event_type {
            EventType::Added => Some(RawEvent::Added(object)),
            EventType::Modified => Some(RawEvent::Modified(object)),
            EventType::Deleted => Some(RawEvent::Deleted(object)),
            EventType::Bookmark | EventType::Error => None,
        }
    }

    /// The object as a client would get it at this revision.
    fn raw(self, object: &CachedObject, at: Revision) -> RawObject {
        let stored = object.stored();
        let mut body = Vec::with_capacity(stored.appended_len());
        stored.append(Header::Stored, resource_version(at), &mut body);
        RawObject {
            key: ObjectKey::new(object.namespace(), object.name()),
            version: version(at),
            uid: None,
            labels: match self {
                Self::Apart => stored.labels().collect(),
                Self::InBodies => Labels::default(),
            },
            body: Bytes::from(body),
        }
    }
}

fn refused(error: CacheError) -> SourceError {
    let message = error.to_string();
    match error {
        CacheError::Expired { .. } => SourceError::Expired { message },
        CacheError::TooLarge { .. } => SourceError::TooLarge {
            message,
            retry_after: Some(Duration::from_secs(1)),
        },
        CacheError::Overloaded { .. } => SourceError::TooManyRequests {
            message,
            retry_after: Some(Duration::from_secs(1)),
        },
        CacheError::Unavailable { .. } => SourceError::Internal { code: 503, message },
        CacheError::Overlapping { .. } => SourceError::Internal { code: 500, message },
    }
}

fn ended(error: WatchError) -> SourceError {
    let message = error.to_string();
    match error {
        WatchError::Expired { .. } => SourceError::Expired { message },
        WatchError::Removed => SourceError::Refused { code: 404, message },
        WatchError::Unavailable { reason } => SourceError::Disconnected { reason },
    }
}
