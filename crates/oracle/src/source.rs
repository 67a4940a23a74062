//! The scripted server, as our informer sees it.
//!
//! Its rules are those of `conformance/informer_oracle/source.go`: both sides must meet the same
//! server.

mod streams;
mod wording;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    mem,
    sync::Arc,
};

use bytes::Bytes;
use listwatch::{
    Labels, ListerWatcher, RawEvent, RawObject, SourceError, Uid, Version,
    lister_watcher::{
        Bookmark, BoxFuture, EventStream, Freshness, InitialEvents, ListEnd, ListOptions, ListPart,
        ListStream, WatchOptions, WatchStart,
    },
};
use parking_lot::Mutex;

use self::{
    streams::{Page, Stream},
    wording::{describe_list, describe_watch},
};
use crate::script::{
    AfterState, ChangeKind, ExpiredWatch, Fault, Header, RequestKind, SourceAction, SourceKind,
    StreamEnd, Told,
};

/// The version of the empty source.
const FIRST_VERSION: u64 = 1;

/// The server of one script. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Source {
    kind: SourceKind,
    state: Arc<Mutex<State>>,
}

struct State {
    page: Option<usize>,
    expired: ExpiredWatch,
    after_state: AfterState,
    version: u64,
    /// Counts all changes that ever were, also those that a restore has undone.
    writes: u64,
    objects: Objects,
    /// The changes after the horizon, oldest first.
    history: Vec<Change>,
    horizon: u64,
    /// The objects as they were at each version.
    states: HashMap<u64, Objects>,
    /// What is left of lists by their continue tokens.
    pages: HashMap<String, Rest>,
    streams: Vec<Arc<Stream>>,
    refusals: Vec<(RequestKind, Fault)>,
    /// How many of the next watches end at once.
    shorts: usize,
    /// After how many initial events the next watch-lists end.
    cuts: VecDeque<usize>,
    initial_events: InitialEventsEnd,
    requests: Vec<String>,
}

type Objects = BTreeMap<String, ObjectState>;

/// One state of one object.
#[derive(Clone)]
struct ObjectState {
    key: String,
    version: u64,
    uid: u64,
    write: u64,
}

#[derive(Clone)]
struct Change {
    kind: ChangeKind,
    object: ObjectState,
}

/// The rest of a list.
struct Rest {
    version: u64,
    objects: Vec<ObjectState>,
}

/// Whether a watch-list is told when the initial events are over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InitialEventsEnd {
    Told,
    Held,
}

impl Source {
    pub(crate) fn new(header: &Header) -> Self {
        let state = State {
            page: header.page,
            expired: header.expired,
            after_state: header.after_state,
            version: FIRST_VERSION,
            writes: FIRST_VERSION,
            objects: Objects::new(),
            history: Vec::new(),
            horizon: FIRST_VERSION,
            states: HashMap::from([(FIRST_VERSION, Objects::new())]),
            pages: HashMap::new(),
            streams: Vec::new(),
            refusals: Vec::new(),
            shorts: 0,
            cuts: VecDeque::new(),
            initial_events: InitialEventsEnd::Told,
            requests: Vec::new(),
        };
        Self {
            kind: header.source,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Lets something happen to the server.
    pub(crate) fn perform(&self, action: &SourceAction) {
        self.state.lock().perform(action);
    }

    /// The requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        mem::take(&mut self.state.lock().requests)
    }
}

impl ListerWatcher for Source {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async move {
            let page = self.state.lock().list(options)?;
            Ok(Box::new(page) as Box<dyn ListStream>)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async move {
            let stream = self.state.lock().begin_watch(&options.start)?;
            Ok(Box::new(streams::Receiver::new(stream)) as Box<dyn EventStream>)
        })
    }

    fn initial_events(&self) -> InitialEvents {
        match self.kind {
            SourceKind::List => InitialEvents::Unsupported,
            SourceKind::WatchList => InitialEvents::Offered,
        }
    }
}

impl State {
    fn perform(&mut self, action: &SourceAction) {
        match action {
            SourceAction::Change { kind, key, told } => self.change(*kind, key, *told),
            SourceAction::Repeat(key) => {
                if let Some(object) = self.objects.get(key) {
                    let event = object.event(ChangeKind::Modify);
                    self.broadcast(&event);
                }
            }
            SourceAction::Bookmark => {
                let version = Version::from(self.version);
                self.broadcast(&|| RawEvent::Bookmark(Bookmark::Progress(version.clone())));
            }
            SourceAction::End(end) => self.end_all(*end),
            SourceAction::Expire => self.expire(),
            SourceAction::Restore(version) => self.restore(*version),
            SourceAction::Refuse {
                request,
                fault,
                times,
            } => self
                .refusals
                .extend(std::iter::repeat_n((*request, *fault), *times)),
            SourceAction::Short { times } => self.shorts += times,
            SourceAction::Cut(count) => self.cuts.push_back(*count),
            SourceAction::Hold => self.initial_events = InitialEventsEnd::Held,
            SourceAction::Release => self.release(),
        }
    }

    fn list(&mut self, options: &ListOptions) -> Result<Page, SourceError> {
        let kind = match options.continue_token {
            None => RequestKind::List,
            Some(_) => RequestKind::Page,
        };
        self.requests.push(describe_list(options));
        self.refuse(kind)?;
        if let Some(token) = &options.continue_token {
            let rest = self.pages.get(token).ok_or_else(expired)?;
            let (version, objects) = (rest.version, rest.objects.clone());
            return Ok(self.answer(version, objects, options.limit));
        }
        self.refuse_future(&options.freshness)?;
        let objects = self.objects.values().cloned().collect();
        Ok(self.answer(self.version, objects, options.limit))
    }

    fn answer(&mut self, version: u64, mut objects: Vec<ObjectState>, limit: Option<u32>) -> Page {
        let mut token = None;
        if let (Some(page), Some(limit)) = (self.page, limit) {
            let count = page.min(limit as usize);
            if count < objects.len() {
                let rest = objects.split_off(count);
                let name = format!("{version}:{}", rest[0].key);
                let rest = Rest {
                    version,
                    objects: rest,
                };
                self.pages.insert(name.clone(), rest);
                token = Some(name);
            }
        }
        let items = objects.iter().map(|object| Ok(object.raw())).collect();
        let end = ListEnd {
            version: Some(Version::from(version)),
            continue_token: token,
        };
        Page::new([ListPart::Items(items), ListPart::End(end)])
    }

    fn begin_watch(&mut self, start: &WatchStart) -> Result<Arc<Stream>, SourceError> {
        self.requests.push(describe_watch(start));
        match start {
            WatchStart::After(version) => {
                self.refuse(RequestKind::Watch)?;
                self.refuse_future(&Freshness::NotOlderThan(version.clone()))?;
                self.watch(version)
            }
            WatchStart::InitialEvents(freshness) => {
                self.refuse(RequestKind::WatchList)?;
                self.refuse_future(freshness)?;
                Ok(self.watch_list())
            }
        }
    }

    fn watch(&mut self, version: &Version) -> Result<Arc<Stream>, SourceError> {
        let Version::Number(version) = *version else {
            return Err(error_of(Fault::Status(400)));
        };
        let is_expired = version < self.horizon;
        if is_expired && self.expired == ExpiredWatch::AtStart {
            return Err(expired());
        }
        let stream = self.open();
        if is_expired {
            stream.end(StreamEnd::Error(Fault::Status(410)));
            return Ok(stream);
        }
        if self.shorts > 0 {
            self.shorts -= 1;
            stream.end(StreamEnd::GoodOrder);
            return Ok(stream);
        }
        let missed = self.history.iter();
        for change in missed.filter(|change| change.object.version > version) {
            stream.send(change.object.event(change.kind)());
        }
        Ok(stream)
    }

    fn watch_list(&mut self) -> Arc<Stream> {
        let stream = self.open();
        let cut = self.cuts.pop_front();
        let objects = self.objects.values();
        for object in objects.take(cut.unwrap_or(usize::MAX)) {
            stream.send(object.event(ChangeKind::Add)());
        }
        match (cut, self.initial_events) {
            (Some(_), _) => stream.end(StreamEnd::GoodOrder),
            (None, InitialEventsEnd::Held) => stream.hold(),
            (None, InitialEventsEnd::Told) => self.end_initial_events(&stream),
        }
        stream
    }

    fn change(&mut self, kind: ChangeKind, key: &str, told: Told) {
        self.version += 1;
        self.writes += 1;
        let known = self.objects.get(key);
        let object = ObjectState {
            key: key.to_owned(),
            version: self.version,
            uid: match (kind, known) {
                (ChangeKind::Modify | ChangeKind::Delete, Some(known)) => known.uid,
                _ => self.writes,
            },
            write: self.writes,
        };
        match kind {
            ChangeKind::Add | ChangeKind::Modify => {
                self.objects.insert(key.to_owned(), object.clone());
            }
            ChangeKind::Delete => {
                self.objects.remove(key);
            }
        }
        self.states.insert(self.version, self.objects.clone());
        if told == Told::Yes {
            self.broadcast(&object.event(kind));
        }
        self.history.push(Change { kind, object });
    }

    fn expire(&mut self) {
        self.history.clear();
        self.horizon = self.version;
        self.pages.clear();
    }

    fn restore(&mut self, version: u64) {
        self.version = self.version.min(version.max(FIRST_VERSION));
        self.objects = self.states[&self.version].clone();
        self.expire();
        self.end_all(StreamEnd::GoodOrder);
    }

    fn release(&mut self) {
        self.initial_events = InitialEventsEnd::Told;
        for stream in self.streams.iter().filter(|stream| stream.release()) {
            self.end_initial_events(stream);
        }
    }

    fn end_initial_events(&self, stream: &Stream) {
        let version = Version::from(self.version);
        let end = Bookmark::InitialEventsEnd(version.clone());
        stream.send(RawEvent::Bookmark(end));
        match self.after_state {
            AfterState::Nothing => {}
            AfterState::Bookmark => stream.send(RawEvent::Bookmark(Bookmark::Progress(version))),
        }
    }

    fn open(&mut self) -> Arc<Stream> {
        let stream = Arc::new(Stream::default());
        self.streams.push(Arc::clone(&stream));
        stream
    }

    fn broadcast(&self, event: &dyn Fn() -> RawEvent) {
        for stream in &self.streams {
            stream.send(event());
        }
    }

    fn end_all(&mut self, end: StreamEnd) {
        for stream in self.streams.drain(..) {
            stream.end(end);
        }
    }

    /// Fails with the next error that the script has for this kind of request.
    fn refuse(&mut self, kind: RequestKind) -> Result<(), SourceError> {
        let place = self
            .refusals
            .iter()
            .position(|(request, _)| *request == kind);
        match place {
            Some(place) => Err(error_of(self.refusals.remove(place).1)),
            None => Ok(()),
        }
    }

    fn refuse_future(&self, freshness: &Freshness) -> Result<(), SourceError> {
        match freshness {
            Freshness::NotOlderThan(version) | Freshness::Exactly(version)
                if !Version::from(self.version).reaches(version) =>
            {
                Err(error_of(Fault::TooLarge))
            }
            _ => Ok(()),
        }
    }
}

impl ObjectState {
    fn raw(&self) -> RawObject {
        RawObject {
            key: self.key.as_str().into(),
            version: Version::from(self.version),
            uid: Uid::parse(&self.uid.to_string()),
            labels: Labels::default(),
            body: Bytes::from(self.write.to_string()),
        }
    }

    fn event(&self, kind: ChangeKind) -> impl Fn() -> RawEvent + use<> {
        let raw = self.raw();
        move || match kind {
            ChangeKind::Add => RawEvent::Added(raw.clone()),
            ChangeKind::Modify => RawEvent::Modified(raw.clone()),
            ChangeKind::Delete => RawEvent::Deleted(raw.clone()),
        }
    }
}

fn expired() -> SourceError {
    error_of(Fault::Status(410))
}

/// What the Kubernetes source makes of such an answer.
fn error_of(fault: Fault) -> SourceError {
    let message = String::from("as the script says");
    match fault {
        Fault::TooLarge => SourceError::TooLarge {
            message,
            retry_after: None,
        },
        Fault::Connection => SourceError::ConnectionRefused { reason: message },
        Fault::Status(410) => SourceError::Expired { message },
        Fault::Status(429) => SourceError::TooManyRequests {
            message,
            retry_after: None,
        },
        Fault::Status(code @ (401 | 403)) => SourceError::Denied { code, message },
        Fault::Status(code @ 500..) => SourceError::Internal { code, message },
        Fault::Status(code) => SourceError::Refused { code, message },
    }
}
