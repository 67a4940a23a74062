//! A range of a store as a source: any bytes under any keys.

use std::{sync::Arc, time::Duration};

use listwatch::{
    Labels, ListerWatcher, ObjectKey, RawEvent, RawObject, SourceError,
    lister_watcher::{
        Bookmark, BoxFuture, EventStream, Freshness, InitialEvents, ListEnd, ListOptions, ListPart,
        ListStream, Unreadable, WatchOptions, WatchStart,
    },
};
use listwatch_store::{
    Change, Changes, ChangesError, Entry, Follow, Key, KeyRange, Page, Read, ReadError, Revision,
    Store,
};
use tokio::time::{Instant, timeout_at};

use crate::{revision, version};

/// Everything under one prefix of a store.
///
/// What follows the prefix is the key of an object, the value is its body. The version of an object
/// is the revision that wrote it.
pub struct StoreSource {
    store: Arc<dyn Store>,
    prefix: Arc<str>,
}

impl StoreSource {
    /// Everything whose key begins with `prefix`.
    pub fn new(store: Arc<dyn Store>, prefix: &str) -> Self {
        Self {
            store,
            prefix: prefix.into(),
        }
    }

    async fn read(&self, options: &ListOptions) -> Result<Page, SourceError> {
        let mut read = Read::newest(KeyRange::prefix(&*self.prefix));
        match &options.freshness {
            Freshness::MostRecent | Freshness::Any => {}
            Freshness::NotOlderThan(wanted) => {
                let newest = self.store.read(Read::revision_only()).await;
                let newest = newest.map_err(unread)?.revision;
                if revision(wanted).is_none_or(|wanted| wanted > newest) {
                    return Err(SourceError::TooLarge {
                        message: format!("{wanted} is after {}", newest.get()),
                        retry_after: Some(Duration::from_secs(1)),
                    });
                }
            }
            Freshness::Exactly(wanted) => match revision(wanted) {
                Some(wanted) => read = read.at(wanted),
                None => {
                    return Err(SourceError::Refused {
                        code: 400,
                        message: format!("{wanted} is not a revision"),
                    });
                }
            },
        }
        if let Some(token) = &options.continue_token {
            let (at, key) = token.split_once(' ').unwrap_or_default();
            let at = at.parse().map_err(|_| SourceError::Refused {
                code: 400,
                message: format!("{token:?} does not continue a list"),
            })?;
            read = read.at(Revision::new(at));
            read.range = read.range.starting_at(format!("{}{key}\0", self.prefix));
        }
        if let Some(limit) = options.limit {
            read = read.limit(limit as usize);
        }
        self.store.read(read).await.map_err(unread)
    }

    fn object(&self, entry: Entry) -> Result<RawObject, Unreadable> {
        raw(&self.prefix, &entry.key, (entry.revision, entry.value))
    }
}

impl ListerWatcher for StoreSource {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async move {
            let page = self.read(options).await?;
            let last = page.entries.last().filter(|_| page.remaining > 0);
            let continue_token = last.map(|last| {
                let key = &last.key.as_bytes()[self.prefix.len()..];
                format!("{} {}", page.revision.get(), String::from_utf8_lossy(key))
            });
            let objects = page.entries.into_iter();
            let objects = objects.map(|entry| self.object(entry)).collect();
            Ok(Box::new(StoreList {
                objects: Some(objects),
                end: ListEnd {
                    version: Some(version(page.revision)),
                    continue_token,
                },
            }) as _)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async move {
            let WatchStart::After(wanted) = &options.start else {
                return Err(SourceError::Refused {
                    code: 422,
                    message: "a store does not send its state in a watch".to_owned(),
                });
            };
            let after = revision(wanted).ok_or_else(|| SourceError::Expired {
                message: format!("{wanted} is not a revision"),
            })?;
            let range = KeyRange::prefix(&*self.prefix);
            let changes = self.store.changes(Follow::new(range, after)).await;
            Ok(Box::new(StoreEvents {
                changes: changes.map_err(ended)?,
                prefix: Arc::clone(&self.prefix),
                deadline: Instant::now() + options.timeout,
            }) as _)
        })
    }

    fn initial_events(&self) -> InitialEvents {
        InitialEvents::Unsupported
    }
}

struct StoreList {
    objects: Option<Vec<Result<RawObject, Unreadable>>>,
    end: ListEnd,
}

impl ListStream for StoreList {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        let part = match self.objects.take() {
            Some(objects) => ListPart::Items(objects),
            None => ListPart::End(self.end.clone()),
        };
        Box::pin(async { Ok(part) })
    }
}

struct StoreEvents {
    changes: Box<dyn Changes>,
    prefix: Arc<str>,
    deadline: Instant,
}

impl EventStream for StoreEvents {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async move {
            let batch = timeout_at(self.deadline, self.changes.next()).await.ok()?;
            Some(batch.map_err(ended).map(|batch| {
                let changes = batch.changes.into_iter();
                let events = changes.map(|change| event(&self.prefix, change));
                let progress = Bookmark::Progress(version(batch.through));
                events.chain([RawEvent::Bookmark(progress)]).collect()
            }))
        })
    }
}

fn event(prefix: &str, change: Change) -> RawEvent {
    let is_new = change.previous.is_none();
    let previous = change.previous.map(|entry| entry.value);
    let is_deletion = change.value.is_none();
    let value = change.value.or(previous).unwrap_or_default();
    match raw(prefix, &change.key, (change.revision, value)) {
        Err(unreadable) => RawEvent::Unreadable(unreadable),
        Ok(object) if is_deletion => RawEvent::Deleted(object),
        Ok(object) if is_new => RawEvent::Added(object),
        Ok(object) => RawEvent::Modified(object),
    }
}

fn raw(
    prefix: &str,
    key: &Key,
    (at, value): (Revision, bytes::Bytes),
) -> Result<RawObject, Unreadable> {
    let name = key.as_bytes().get(prefix.len()..).unwrap_or_default();
    match std::str::from_utf8(name) {
        Ok(name) => Ok(RawObject {
            key: ObjectKey::from(name),
            version: version(at),
            uid: None,
            labels: Labels::default(),
            body: value,
        }),
        Err(error) => Err(Unreadable {
            raw: value,
            reason: format!("the key {key:?} is no text: {error}"),
        }),
    }
}

fn unread(error: ReadError) -> SourceError {
    let message = error.to_string();
    match error {
        ReadError::Compacted { .. } => SourceError::Expired { message },
        ReadError::Future { .. } => SourceError::TooLarge {
            message,
            retry_after: Some(Duration::from_secs(1)),
        },
        ReadError::Overloaded { .. } => SourceError::TooManyRequests {
            message,
            retry_after: Some(Duration::from_secs(1)),
        },
        ReadError::Unavailable { .. } => SourceError::Internal { code: 503, message },
    }
}

fn ended(error: ChangesError) -> SourceError {
    match error {
        ChangesError::Compacted { .. } => SourceError::Expired {
            message: error.to_string(),
        },
        ChangesError::Unavailable { reason } => SourceError::Disconnected { reason },
    }
}
