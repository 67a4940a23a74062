//! The objects of a scripted source, their history, and the faults that wait to happen.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use bytes::Bytes;

use super::request::{Request, RequestKind};
use crate::{
    InitialEvents, Labels, ObjectKey, RawEvent, RawObject, SourceError, Uid, Version,
    lister_watcher::{
        Bookmark, Freshness, ListEnd, ListOptions, Unreadable, WatchOptions, WatchStart,
    },
};

/// Requests that are remembered. The oldest are forgotten then.
const REQUESTS_MAX: usize = 10_000;

/// What a page of a list is made of.
pub(super) type Items = Vec<Result<RawObject, Unreadable>>;

pub(super) struct State {
    pub(super) objects: BTreeMap<ObjectKey, RawObject>,
    pub(super) version: u64,
    pub(super) requests: Vec<Request>,
    pub(super) initial_events: InitialEvents,
    history: History,
    watches: BTreeMap<u64, Watch>,
    watches_begun: u64,
    refusals: VecDeque<(RequestKind, SourceError)>,
    held: BTreeSet<RequestKind>,
    pages: BTreeMap<String, Page>,
    habits: BTreeSet<Habit>,
    forced_page_size: Option<usize>,
    unreadable: Vec<Unreadable>,
}

/// The objects of a source at one moment, and its history up to there.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    objects: BTreeMap<ObjectKey, RawObject>,
    version: u64,
    history: History,
}

/// The changes after a version.
#[derive(Clone, Debug)]
struct History {
    after: u64,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
struct Change {
    version: u64,
    key: ObjectKey,
    before: Option<RawObject>,
    after: Option<RawObject>,
}

/// How the source differs from an ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Habit {
    WithholdsInitialEventsEnd,
    PagesEveryList,
    IgnoresWatchTimeouts,
    LeavesOutListVersions,
}

/// Whether the open watches learn of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Told,
    Lost,
}

struct Watch {
    events: Vec<RawEvent>,
    end: Option<End>,
}

/// How a watch ends.
#[derive(Clone, Debug)]
pub(super) enum End {
    InGoodOrder,
    Failed(SourceError),
}

/// What a watch has to say now.
pub(super) enum Said {
    Nothing,
    Events(Vec<RawEvent>),
    End(End),
}

struct Page {
    objects: Vec<RawObject>,
    version: u64,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            version: 1,
            requests: Vec::new(),
            initial_events: InitialEvents::Offered,
            history: History {
                after: 0,
                changes: Vec::new(),
            },
            watches: BTreeMap::new(),
            watches_begun: 0,
            refusals: VecDeque::new(),
            held: BTreeSet::new(),
            pages: BTreeMap::new(),
            habits: BTreeSet::new(),
            forced_page_size: None,
            unreadable: Vec::new(),
        }
    }

    pub(super) fn put(
        &mut self,
        key: ObjectKey,
        labels: Option<Labels>,
        body: Bytes,
        delivery: Delivery,
    ) -> Version {
        let version = self.version + 1;
        let before = self.objects.get(&key);
        let uid = before.map_or_else(
            || Uid::parse(&format!("uid-{version}")),
            |before| before.uid.clone(),
        );
        let labels = labels.or_else(|| before.map(|before| before.labels.clone()));
        let raw = RawObject {
            key: key.clone(),
            version: version.into(),
            uid,
            labels: labels.unwrap_or_default(),
            body,
        };
        self.change(key, Some(raw), delivery)
    }

    pub(super) fn delete(&mut self, key: ObjectKey, delivery: Delivery) -> Version {
        self.change(key, None, delivery)
    }

    fn change(&mut self, key: ObjectKey, after: Option<RawObject>, delivery: Delivery) -> Version {
        self.version += 1;
        let before = match &after {
            Some(raw) => self.objects.insert(key.clone(), raw.clone()),
            None => self.objects.remove(&key),
        };
        let change = Change {
            version: self.version,
            key,
            before,
            after,
        };
        if let (Delivery::Told, Some(event)) = (delivery, change.event()) {
            self.send(&event);
        }
        self.history.changes.push(change);
        self.version.into()
    }

    pub(super) fn send(&mut self, event: &RawEvent) {
        for watch in self
            .watches
            .values_mut()
            .filter(|watch| watch.end.is_none())
        {
            watch.events.push(event.clone());
        }
    }

    pub(super) fn open_watches(&self) -> usize {
        let open = self.watches.values().filter(|watch| watch.end.is_none());
        open.count()
    }

    pub(super) fn is_watched(&self) -> bool {
        let is_read = |watch: &Watch| watch.events.is_empty() && watch.end.is_none();
        !self.watches.is_empty() && self.watches.values().all(is_read)
    }

    pub(super) fn end_watches(&mut self, end: &End) {
        for watch in self.watches.values_mut() {
            watch.end.get_or_insert_with(|| end.clone());
        }
    }

    pub(super) fn refuse(&mut self, kind: RequestKind, error: &SourceError, times: usize) {
        let refusals = std::iter::repeat_with(|| (kind, error.clone()));
        self.refusals.extend(refusals.take(times));
    }

    pub(super) fn hold(&mut self, kind: RequestKind) {
        self.held.insert(kind);
    }

    pub(super) fn release(&mut self) {
        self.held.clear();
    }

    pub(super) fn forgive(&mut self) {
        self.refusals.clear();
        self.release();
    }

    pub(super) fn is_held(&self, kind: RequestKind) -> bool {
        self.held.contains(&kind)
    }

    pub(super) fn expire_history(&mut self) {
        self.history = History {
            after: self.version,
            changes: Vec::new(),
        };
    }

    pub(super) fn withhold_initial_events_end(&mut self) {
        self.habits.insert(Habit::WithholdsInitialEventsEnd);
    }

    pub(super) fn page_every_list(&mut self) {
        self.habits.insert(Habit::PagesEveryList);
    }

    pub(super) fn force_pages_of(&mut self, size: usize) {
        self.forced_page_size = Some(size);
    }

    pub(super) fn list_unreadable(&mut self, unreadable: Unreadable) {
        self.unreadable.push(unreadable);
    }

    pub(super) fn ignore_watch_timeouts(&mut self) {
        self.habits.insert(Habit::IgnoresWatchTimeouts);
    }

    pub(super) fn leave_out_list_versions(&mut self) {
        self.habits.insert(Habit::LeavesOutListVersions);
    }

    pub(super) fn timeout(&self, options: &WatchOptions) -> Option<Duration> {
        let ignored = self.habits.contains(&Habit::IgnoresWatchTimeouts);
        (!ignored).then_some(options.timeout)
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            objects: self.objects.clone(),
            version: self.version,
            history: self.history.clone(),
        }
    }

    pub(super) fn restore(&mut self, checkpoint: Checkpoint) {
        self.objects = checkpoint.objects;
        self.version = checkpoint.version;
        self.history = checkpoint.history;
        self.pages.clear();
        self.end_watches(&End::Failed(SourceError::Disconnected {
            reason: "restored".to_owned(),
        }));
    }

    /// Notes a request and finds the fault that waits for it.
    pub(super) fn ask(&mut self, request: Request) -> Result<(), SourceError> {
        let kind = request.kind();
        if self.requests.len() == REQUESTS_MAX {
            self.requests.remove(0);
        }
        self.requests.push(request);
        let fault = self
            .refusals
            .iter()
            .position(|(refused, _)| *refused == kind);
        let fault = fault.and_then(|position| self.refusals.remove(position));
        fault.map_or(Ok(()), |(_, error)| Err(error))
    }

    pub(super) fn list(&mut self, options: &ListOptions) -> Result<(Items, ListEnd), SourceError> {
        let mut items = Items::new();
        let mut page = match &options.continue_token {
            Some(token) => self.pages.remove(token).ok_or_else(|| expired(token))?,
            None => {
                items.extend(self.unreadable.iter().cloned().map(Err));
                self.at(&options.freshness)?
            }
        };
        let version = page.version;
        let size = self.page_size(options).unwrap_or(page.objects.len());
        let rest = page.objects.split_off(size.min(page.objects.len()));
        let continue_token = (!rest.is_empty()).then(|| self.keep(rest, version));
        let has_version = !self.habits.contains(&Habit::LeavesOutListVersions);
        let end = ListEnd {
            version: has_version.then(|| version.into()),
            continue_token,
        };
        items.extend(page.objects.into_iter().map(Ok));
        Ok((items, end))
    }

    fn page_size(&self, options: &ListOptions) -> Option<usize> {
        let from_cache = matches!(
            options.freshness,
            Freshness::Any | Freshness::NotOlderThan(_)
        );
        let has_pages = !from_cache || self.habits.contains(&Habit::PagesEveryList);
        let limit = options.limit.filter(|_| has_pages);
        self.forced_page_size.or(limit.map(|limit| limit as usize))
    }

    fn keep(&mut self, objects: Vec<RawObject>, version: u64) -> String {
        let next = objects.first().map_or("", |raw| raw.key.as_str());
        let token = format!("{next}@{version}");
        self.pages.insert(token.clone(), Page { objects, version });
        token
    }

    fn at(&self, freshness: &Freshness) -> Result<Page, SourceError> {
        let version = match freshness {
            Freshness::MostRecent | Freshness::Any => self.version,
            Freshness::NotOlderThan(version) => {
                self.number(version)?;
                self.version
            }
            Freshness::Exactly(version) => self.number(version)?,
        };
        if version < self.history.after {
            return Err(expired(&version.to_string()));
        }
        let mut objects = self.objects.clone();
        for change in self.history.changes.iter().rev() {
            if change.version > version {
                change.undo(&mut objects);
            }
        }
        Ok(Page {
            objects: objects.into_values().collect(),
            version,
        })
    }

    fn number(&self, version: &Version) -> Result<u64, SourceError> {
        match version {
            Version::Number(number) if *number <= self.version => Ok(*number),
            Version::Number(number) => Err(SourceError::TooLarge {
                message: format!("{number}, current: {}", self.version),
                retry_after: None,
            }),
            Version::Text(text) => Err(SourceError::Refused {
                code: 400,
                message: format!("{text} is not a version"),
            }),
        }
    }

    /// Opens a watch. Its name is for [`State::say`] and [`State::forget`].
    pub(super) fn watch(&mut self, options: &WatchOptions) -> Result<u64, SourceError> {
        let mut watch = Watch {
            events: Vec::new(),
            end: None,
        };
        match &options.start {
            WatchStart::After(version) => match self.history.since(self.number(version)?) {
                Ok(events) => watch.events = events,
                Err(error) => watch.end = Some(End::Failed(error)),
            },
            WatchStart::InitialEvents(freshness) => watch.events = self.initial(freshness)?,
        }
        self.watches_begun += 1;
        self.watches.insert(self.watches_begun, watch);
        Ok(self.watches_begun)
    }

    fn initial(&self, freshness: &Freshness) -> Result<Vec<RawEvent>, SourceError> {
        if self.initial_events == InitialEvents::Unsupported {
            return Err(SourceError::Refused {
                code: 422,
                message: "sendInitialEvents is forbidden".to_owned(),
            });
        }
        let page = self.at(freshness)?;
        let end = Bookmark::InitialEventsEnd(page.version.into());
        let mut events: Vec<_> = page.objects.into_iter().map(RawEvent::Added).collect();
        if !self.habits.contains(&Habit::WithholdsInitialEventsEnd) {
            events.push(RawEvent::Bookmark(end));
        }
        Ok(events)
    }

    pub(super) fn say(&mut self, watch: u64) -> Said {
        let Some(watch) = self.watches.get_mut(&watch) else {
            return Said::End(End::InGoodOrder);
        };
        if !watch.events.is_empty() {
            return Said::Events(std::mem::take(&mut watch.events));
        }
        watch.end.clone().map_or(Said::Nothing, Said::End)
    }

    pub(super) fn forget(&mut self, watch: u64) {
        self.watches.remove(&watch);
    }
}

impl History {
    fn since(&self, version: u64) -> Result<Vec<RawEvent>, SourceError> {
        if version < self.after {
            return Err(expired(&version.to_string()));
        }
        let changes = self.changes.iter();
        let later = changes.filter(|change| change.version > version);
        Ok(later.filter_map(Change::event).collect())
    }
}

impl Change {
    /// What a watch tells of it; nothing if what was deleted was not there.
    fn event(&self) -> Option<RawEvent> {
        match (&self.before, &self.after) {
            (None, Some(after)) => Some(RawEvent::Added(after.clone())),
            (Some(_), Some(after)) => Some(RawEvent::Modified(after.clone())),
            (Some(before), None) => Some(RawEvent::Deleted(RawObject {
                version: self.version.into(),
                ..before.clone()
            })),
            (None, None) => None,
        }
    }

    fn undo(&self, objects: &mut BTreeMap<ObjectKey, RawObject>) {
        match &self.before {
            Some(before) => objects.insert(self.key.clone(), before.clone()),
            None => objects.remove(&self.key),
        };
    }
}

fn expired(what: &str) -> SourceError {
    SourceError::Expired {
        message: format!("{what} is too old"),
    }
}
