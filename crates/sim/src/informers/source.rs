//! The way from the server to one informer, and all that can happen on it.

use std::{
    collections::{BTreeMap, VecDeque},
    future::pending,
    sync::Arc,
    time::Duration,
};

use fastrand::Rng;
use listwatch::{
    InitialEvents, ListerWatcher, RawEvent, RawObject, SourceError,
    lister_watcher::{
        Bookmark, BoxFuture, EventStream, Freshness, ListOptions, ListPart, ListStream,
        WatchOptions,
    },
    source::ScriptedSource,
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use super::trace::{Event, Kind, Recorder};

/// Events that come together at most.
pub const EVENTS_AT_HAND_MAX: usize = 500;

/// What no decoder understands.
pub const UNREADABLE: &str = "unreadable";

/// How likely each fault of the way is, in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// How long an answer or an event takes at most, in milliseconds.
    pub delay_max: u64,
    /// Events get lost, and the connection with them.
    pub lose: u32,
    /// An event comes twice.
    pub repeat: u32,
    /// A stream tells nothing any more, and does not end.
    pub mute: u32,
    /// A list breaks in the middle.
    pub cut: u32,
}

/// A source as an informer sees it. Clones are the same.
#[derive(Clone)]
pub struct Way {
    kind: Kind,
    server: ScriptedSource,
    shared: Arc<Mutex<Shared>>,
    recorder: Recorder,
}

struct Shared {
    weather: Weather,
    random: Rng,
    /// How often the server has been restored.
    restores: u64,
    /// After how many restores the informer was last filled.
    filled_after: Option<u64>,
    /// The objects of the list that is being read in pages.
    listed: Vec<String>,
}

struct List {
    parts: VecDeque<Result<ListPart, SourceError>>,
    way: Way,
    /// After how many restores it was read, if it is read to fill the informer.
    fills: Option<u64>,
}

struct Watch {
    stream: Box<dyn EventStream>,
    way: Way,
    restores: u64,
    /// What the server has sent, and when it arrives.
    under_way: VecDeque<(Instant, Vec<RawEvent>)>,
    /// The last event about each object.
    latest: BTreeMap<String, RawEvent>,
    /// The objects of the state that is being streamed.
    initial: Vec<String>,
    condition: Condition,
}

#[derive(PartialEq, Eq)]
enum Condition {
    Flowing,
    Mute,
}

impl Way {
    /// The way to the objects of one kind.
    pub fn new(kind: Kind, server: ScriptedSource, random: Rng, recorder: Recorder) -> Self {
        let shared = Shared {
            weather: Weather::default(),
            random,
            restores: 0,
            filled_after: None,
            listed: Vec::new(),
        };
        Self {
            kind,
            server,
            shared: Arc::new(Mutex::new(shared)),
            recorder,
        }
    }

    /// From now on things go wrong this often.
    pub fn set_weather(&self, weather: Weather) {
        self.shared.lock().weather = weather;
    }

    /// The server has been restored.
    pub fn restored(&self) {
        self.shared.lock().restores += 1;
    }

    /// Whether the informer was given a whole state since the server was last restored.
    pub fn is_filled(&self) -> bool {
        let shared = self.shared.lock();
        shared.filled_after == Some(shared.restores)
    }

    fn happens(&self, likely: impl FnOnce(&Weather) -> u32) -> bool {
        let mut shared = self.shared.lock();
        let likely = likely(&shared.weather);
        shared.random.u32(..1000) < likely
    }

    fn delay(&self) -> Duration {
        let mut shared = self.shared.lock();
        let most = shared.weather.delay_max;
        Duration::from_millis(shared.random.u64(..=most))
    }

    fn any_of(&self, count: usize) -> usize {
        self.shared.lock().random.usize(..count.max(1))
    }

    fn restores(&self) -> u64 {
        self.shared.lock().restores
    }

    fn fault(&self, name: &'static str) {
        self.recorder.record(Event::Fault(name));
    }

    fn filled(&self, keys: Vec<String>, restores: u64) {
        self.shared.lock().filled_after = Some(restores);
        self.recorder.record(Event::Filled {
            kind: self.kind,
            keys,
        });
    }

    async fn begin_list(&self, options: &ListOptions) -> Result<List, SourceError> {
        sleep(self.delay()).await;
        let mut stream = self.server.list(options).await?;
        let fills = match options.freshness {
            Freshness::Exactly(_) => None,
            Freshness::MostRecent | Freshness::Any | Freshness::NotOlderThan(_) => {
                Some(self.restores())
            }
        };
        if options.continue_token.is_none() {
            self.shared.lock().listed.clear();
        }
        let mut parts = VecDeque::new();
        loop {
            let part = stream.next().await?;
            if let ListPart::Items(items) = &part {
                let readable = items.iter().flatten().filter(|raw| is_readable(raw));
                let keys = readable.map(|raw| raw.key.to_string());
                self.shared.lock().listed.extend(keys);
            }
            let is_last = matches!(part, ListPart::End(_));
            parts.push_back(Ok(part));
            if is_last {
                break;
            }
        }
        if self.happens(|weather| weather.cut) {
            self.fault("cut list");
            parts.pop_back();
            parts.push_back(Err(lost()));
        }
        Ok(List {
            parts,
            way: self.clone(),
            fills,
        })
    }

    async fn begin_watch(&self, options: &WatchOptions) -> Result<Watch, SourceError> {
        sleep(self.delay()).await;
        Ok(Watch {
            stream: self.server.watch(options).await?,
            way: self.clone(),
            restores: self.restores(),
            under_way: VecDeque::new(),
            latest: BTreeMap::new(),
            initial: Vec::new(),
            condition: Condition::Flowing,
        })
    }
}

impl ListerWatcher for Way {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async {
            let list: Box<dyn ListStream> = Box::new(self.begin_list(options).await?);
            Ok(list)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async {
            let watch: Box<dyn EventStream> = Box::new(self.begin_watch(options).await?);
            Ok(watch)
        })
    }

    fn initial_events(&self) -> InitialEvents {
        self.server.initial_events()
    }
}

impl ListStream for List {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        Box::pin(async {
            let part = self.parts.pop_front().unwrap_or_else(|| Err(lost()));
            if let (Ok(ListPart::End(end)), Some(restores)) = (&part, self.fills)
                && end.continue_token.is_none()
            {
                let keys = std::mem::take(&mut self.way.shared.lock().listed);
                self.way.filled(keys, restores);
            }
            part
        })
    }
}

impl EventStream for Watch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async {
            loop {
                if let Some((arrival, _)) = self.under_way.front() {
                    sleep_until(*arrival).await;
                    let (_, events) = self.under_way.pop_front()?;
                    self.note_initial(&events);
                    return Some(Ok(events));
                }
                if self.condition == Condition::Mute {
                    pending::<()>().await;
                }
                match self.stream.next().await? {
                    Ok(events) => {
                        if self.way.happens(|weather| weather.lose) {
                            self.way.fault("lost events");
                            return Some(Err(lost()));
                        }
                        self.send(events);
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
        })
    }
}

impl Watch {
    fn send(&mut self, events: Vec<RawEvent>) {
        if self.way.happens(|weather| weather.mute) {
            self.way.fault("silent stream");
            self.condition = Condition::Mute;
            return;
        }
        let arrival = Instant::now() + self.way.delay();
        let mut sent = Vec::new();
        for event in events {
            if let Some(key) = key(&event) {
                self.latest.insert(key, event.clone());
            }
            let twice = self.way.happens(|weather| weather.repeat);
            sent.extend(twice.then(|| event.clone()));
            sent.push(event);
        }
        let parts = sent.chunks(EVENTS_AT_HAND_MAX);
        self.under_way
            .extend(parts.map(|part| (arrival, part.to_vec())));
        if self.way.happens(|weather| weather.repeat) {
            self.way.fault("repeated event");
            let choice = self.way.any_of(self.latest.len());
            let again = self.latest.values().nth(choice).cloned();
            self.under_way
                .extend(again.map(|event| (arrival, vec![event])));
        }
    }

    fn note_initial(&mut self, events: &[RawEvent]) {
        for event in events {
            match event {
                RawEvent::Added(raw) if is_readable(raw) => self.initial.push(raw.key.to_string()),
                RawEvent::Bookmark(Bookmark::InitialEventsEnd(_)) => {
                    let keys = std::mem::take(&mut self.initial);
                    self.way.filled(keys, self.restores);
                }
                _ => {}
            }
        }
    }
}

fn key(event: &RawEvent) -> Option<String> {
    match event {
        RawEvent::Added(raw) | RawEvent::Modified(raw) | RawEvent::Deleted(raw) => {
            Some(raw.key.to_string())
        }
        RawEvent::Bookmark(_) | RawEvent::Unreadable(_) => None,
    }
}

fn is_readable(raw: &RawObject) -> bool {
    raw.body.as_ref() != UNREADABLE.as_bytes()
}

fn lost() -> SourceError {
    SourceError::Disconnected {
        reason: "the way is broken".to_owned(),
    }
}
