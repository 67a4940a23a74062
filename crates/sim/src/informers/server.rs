//! The model server: several kinds of objects, one count of versions, a past to go back to.

use std::{collections::BTreeMap, time::Duration};

use fastrand::Rng;
use listwatch::{
    InitialEvents, Labels, RawEvent, SourceError,
    lister_watcher::Unreadable,
    source::{
        ScriptedSource,
        scripted::{Checkpoint, RequestKind},
    },
};

use super::{
    source::{UNREADABLE, Way, Weather},
    trace::{Content, Event, Kind, Recorder, color, number},
};

/// Objects of each kind at most.
const KEYS: usize = 14;

/// A server that several informers follow, each of its own kind.
pub struct Server {
    kinds: Vec<Served>,
    version: u64,
    tokens: u64,
    backup: Option<Backup>,
    recorder: Recorder,
}

/// The objects of one kind.
struct Served {
    source: ScriptedSource,
    way: Way,
    contents: BTreeMap<String, Content>,
}

/// The whole server at one moment.
struct Backup {
    version: u64,
    kinds: Vec<(Checkpoint, BTreeMap<String, Content>)>,
}

/// A write that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Of which kind.
    pub kind: Kind,
    /// Its place in the trace.
    pub place: usize,
    /// Its version.
    pub version: u64,
}

impl Server {
    /// An empty server.
    pub fn new(kinds: usize, random: &mut Rng, recorder: &Recorder) -> Self {
        let served = (0..kinds).map(|kind| {
            let source = ScriptedSource::new();
            let way = Way::new(Kind(kind), source.clone(), random.fork(), recorder.clone());
            Served {
                source,
                way,
                contents: BTreeMap::new(),
            }
        });
        Self {
            kinds: served.collect(),
            version: 1,
            tokens: 0,
            backup: None,
            recorder: recorder.clone(),
        }
    }

    /// How an informer reaches the objects of a kind.
    pub fn way(&self, kind: Kind) -> &Way {
        &self.kinds[kind.0].way
    }

    /// The version of the last change of any kind.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// From now on things go wrong this often on all ways.
    pub fn set_weather(&self, weather: Weather) {
        for served in &self.kinds {
            served.way.set_weather(weather);
        }
    }

    /// Changes any object of a kind.
    pub fn write(&mut self, kind: Kind, random: &mut Rng) -> Written {
        let key = format!("default/{:02}", random.usize(..KEYS));
        let known = self.kinds[kind.0].contents.contains_key(&key);
        match random.u32(..100) {
            0..25 if known => self.delete(kind, &key),
            25..30 => self.put_unreadable(kind, &key),
            _ => self.put(kind, &key),
        }
    }

    fn put(&mut self, kind: Kind, key: &str) -> Written {
        let version = self.next_version(kind);
        self.tokens += 1;
        let token = self.tokens;
        let color = format!("c{}", color(token));
        let labels: Labels = [("color", color.as_str())].into_iter().collect();
        let source = &self.kinds[kind.0].source;
        source.put_labelled(key, labels, token.to_string());
        self.changed(kind, key, Content::Readable { token, version })
    }

    fn put_unreadable(&mut self, kind: Kind, key: &str) -> Written {
        self.next_version(kind);
        self.kinds[kind.0].source.put(key, UNREADABLE);
        self.changed(kind, key, Content::Unreadable)
    }

    fn delete(&mut self, kind: Kind, key: &str) -> Written {
        self.next_version(kind);
        self.kinds[kind.0].source.delete(key);
        self.changed(kind, key, Content::Absent)
    }

    /// Takes a version that no kind has used, and brings the source to just before it.
    fn next_version(&mut self, kind: Kind) -> u64 {
        let source = &self.kinds[kind.0].source;
        let reached = number(Some(&source.version()));
        source.pass_versions(self.version - reached);
        self.version += 1;
        self.version
    }

    fn changed(&mut self, kind: Kind, key: &str, content: Content) -> Written {
        let contents = &mut self.kinds[kind.0].contents;
        match content {
            Content::Absent => contents.remove(key),
            Content::Readable { .. } | Content::Unreadable => {
                contents.insert(key.to_owned(), content)
            }
        };
        let place = self.recorder.record(Event::Changed {
            kind,
            key: key.to_owned(),
            content,
        });
        Written {
            kind,
            place,
            version: self.version,
        }
    }

    /// Keeps the state of this moment, to go back to. It can be read as a whole: of what cannot, a
    /// cache would keep a state from the future.
    pub fn back_up(&mut self) {
        for (kind, key) in self.unreadable() {
            self.put(kind, &key);
        }
        let version = self.version;
        let kinds = self.kinds.iter().map(|served| {
            let reached = number(Some(&served.source.version()));
            served.source.pass_versions(version - reached);
            (served.source.checkpoint(), served.contents.clone())
        });
        self.backup = Some(Backup {
            version,
            kinds: kinds.collect(),
        });
    }

    fn unreadable(&self) -> Vec<(Kind, String)> {
        let kinds = self.kinds.iter().enumerate();
        let contents = kinds.flat_map(|(kind, served)| {
            let contents = served.contents.iter();
            contents.map(move |(key, content)| (Kind(kind), key.clone(), *content))
        });
        let unreadable = contents.filter(|(_, _, content)| *content == Content::Unreadable);
        unreadable.map(|(kind, key, _)| (kind, key)).collect()
    }

    /// Whether there is another state to go back to.
    pub fn can_restore(&self) -> bool {
        let older = |backup: &Backup| backup.version < self.version;
        self.backup.as_ref().is_some_and(older)
    }

    /// Goes back to the state that was kept last. The versions since then will be used again.
    pub fn restore(&mut self) {
        let Some(backup) = self.backup.take() else {
            return;
        };
        self.recorder.record(Event::Restored);
        self.version = backup.version;
        for (index, (checkpoint, contents)) in backup.kinds.into_iter().enumerate() {
            let served = &mut self.kinds[index];
            served.source.restore(checkpoint);
            served.way.restored();
            let before = std::mem::replace(&mut served.contents, contents);
            let now = self.kinds[index].contents.clone();
            for key in before
                .keys()
                .chain(now.keys().filter(|key| !before.contains_key(*key)))
            {
                let content = now.get(key).copied().unwrap_or(Content::Absent);
                if before.get(key) != Some(&content) {
                    self.recorder.record(Event::Changed {
                        kind: Kind(index),
                        key: key.clone(),
                        content,
                    });
                }
            }
        }
    }

    /// Lets something go wrong for one kind.
    pub fn fail(&self, kind: Kind, random: &mut Rng) {
        let source = &self.kinds[kind.0].source;
        let fault = match random.u32(..9) {
            0 => {
                source.break_watches(disconnected());
                "cut stream"
            }
            1 => {
                source.end_watches();
                "ended stream"
            }
            2 => {
                source.expire_history();
                source.end_watches();
                "expired"
            }
            3 => {
                source.break_watches(expired());
                "expired on the stream"
            }
            4 => {
                source.send(&RawEvent::Unreadable(Unreadable {
                    raw: "?".into(),
                    reason: "not an object".to_owned(),
                }));
                "unreadable event"
            }
            5 => {
                let offered = random.choice([InitialEvents::Offered, InitialEvents::Unsupported]);
                source.set_initial_events(offered.unwrap_or(InitialEvents::Offered));
                source.break_watches(expired());
                "downgraded"
            }
            _ => {
                let (name, error) = refusal(random);
                let requests = [
                    RequestKind::List,
                    RequestKind::NextPage,
                    RequestKind::Watch,
                    RequestKind::StreamingList,
                ];
                for request in requests {
                    source.refuse(request, error.clone(), random.usize(..3));
                }
                source.break_watches(disconnected());
                name
            }
        };
        self.recorder.record(Event::Fault(fault));
    }

    /// Tells the watchers of a kind how far it is.
    pub fn bookmark(&mut self, kind: Kind) {
        let source = &self.kinds[kind.0].source;
        let reached = number(Some(&source.version()));
        source.pass_versions(self.version - reached);
        source.bookmark();
    }

    /// From now on nothing goes wrong.
    pub fn calm(&self) {
        self.set_weather(Weather::default());
        for served in &self.kinds {
            served.source.forgive();
        }
    }
}

fn refusal(random: &mut Rng) -> (&'static str, SourceError) {
    let message = "not now".to_owned();
    let retry_after = random.bool().then(|| Duration::from_secs(random.u64(..5)));
    match random.u32(..6) {
        0 => (
            "refused connection",
            SourceError::ConnectionRefused { reason: message },
        ),
        1 => (
            "too many requests",
            SourceError::TooManyRequests {
                message,
                retry_after,
            },
        ),
        2 => (
            "too large version",
            SourceError::TooLarge {
                message,
                retry_after,
            },
        ),
        3 => ("expired request", expired()),
        4 => (
            "internal error",
            SourceError::Internal { code: 500, message },
        ),
        _ => ("denied", SourceError::Denied { code: 403, message }),
    }
}

fn disconnected() -> SourceError {
    SourceError::Disconnected {
        reason: "cut".to_owned(),
    }
}

fn expired() -> SourceError {
    SourceError::Expired {
        message: "too old".to_owned(),
    }
}
