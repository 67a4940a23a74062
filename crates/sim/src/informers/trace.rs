//! What happened in a simulation, in one order: what the server held, what informers told and
//! showed.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use listwatch::{Bound, LabelSelector, Object, Snapshot, Version};
use parking_lot::Mutex;
use tokio::time::Instant;

/// One of the kinds of objects that the server holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub usize);

/// One handler of one informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandlerId(pub usize);

/// The body of every object: a number that is never used for another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// The number.
    pub token: u64,
}

/// One state of one object, as an informer shows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The object's name.
    pub key: String,
    /// What only this state has.
    pub token: u64,
    /// Its version, which a server that was restored may use twice.
    pub version: u64,
}

/// What the server holds under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// An object.
    Readable {
        /// What only this state has.
        token: u64,
        /// Its version.
        version: u64,
    },
    /// Something that no decoder understands.
    Unreadable,
    /// Nothing.
    Absent,
}

/// What a handler was told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// An object that was there when the handler came.
    Initial(State),
    /// An object that came later.
    Added(State),
    /// A change, or a resync if both are the same.
    Updated {
        /// The state before.
        old: State,
        /// The state after.
        new: State,
    },
    /// A deletion that the source told.
    Deleted {
        /// Which object.
        key: String,
    },
    /// A deletion that a list, or a difference, has shown.
    Found {
        /// The last known state.
        last: State,
    },
    /// Changes were left out.
    Lagged,
}

/// How far a handler may fall behind, as a number that can be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// [`Bound::Block`].
    Block(usize),
    /// [`Bound::Coalesce`].
    Coalesce,
    /// [`Bound::Drop`].
    Drop(usize),
}

/// The objects that an index, or the labels, find for each value.
pub type Found = BTreeMap<u64, Vec<String>>;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The server holds something else under a key.
    Changed {
        /// Of which kind.
        kind: Kind,
        /// Under which key.
        key: String,
        /// What is there now.
        content: Content,
    },
    /// The server went back to an earlier state. What that changes follows.
    Restored,
    /// Something went wrong on purpose.
    Fault(&'static str),
    /// A source handed over its whole state.
    Filled {
        /// Of which kind.
        kind: Kind,
        /// The objects that can be read.
        keys: Vec<String>,
    },
    /// A handler was added.
    Joined {
        /// The handler.
        handler: HandlerId,
        /// To the informer of which kind.
        kind: Kind,
        /// How far it may fall behind.
        limit: Limit,
        /// What the cache held; `None` if it had not been filled.
        present: Option<Vec<State>>,
    },
    /// A handler was told something.
    Told(HandlerId, Notice),
    /// A handler says that it has synced.
    Synced(HandlerId),
    /// A handler has nothing to do, while the cache shows this.
    CaughtUp(HandlerId, Vec<State>),
    /// The removal of a handler is complete.
    Removed(HandlerId),
    /// A handler panicked.
    Panicked(HandlerId),
    /// One moment of a cache, and what its indexes find there.
    Looked {
        /// Of which kind.
        kind: Kind,
        /// All objects.
        objects: Vec<State>,
        /// What each index finds, by its name.
        indexes: Vec<(&'static str, Found)>,
    },
    /// A read that had to be at least as new as a write.
    Read {
        /// Of which kind.
        kind: Kind,
        /// The place of the write in the trace.
        written: usize,
        /// The version of the write.
        wanted: u64,
        /// The version of what was read.
        version: u64,
        /// What was read.
        objects: Vec<State>,
    },
    /// What an informer keeps beside its cache.
    Waits {
        /// Of which kind.
        kind: Kind,
        /// Deltas for the cache.
        deltas: usize,
        /// Changes for handlers.
        changes: usize,
    },
    /// Nothing has gone wrong and nothing has changed for long, and the cache shows this.
    Quiet(Kind, Vec<State>),
}

/// Takes down what happens. Clones write to the same trace.
#[derive(Clone)]
pub struct Recorder {
    began: Instant,
    entries: Arc<Mutex<Vec<(Duration, Event)>>>,
}

/// What happened, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The events.
    pub events: Vec<Event>,
    /// A number that another trace has only by the rarest chance.
    pub fingerprint: u64,
}

impl Recorder {
    /// An empty trace that begins now.
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            entries: Arc::default(),
        }
    }

    /// Takes an event down and returns its place.
    pub fn record(&self, event: Event) -> usize {
        let mut entries = self.entries.lock();
        entries.push((self.began.elapsed(), event));
        entries.len() - 1
    }

    /// Everything so far.
    pub fn trace(&self) -> Trace {
        let entries = self.entries.lock();
        let mut hasher = DefaultHasher::new();
        entries.hash(&mut hasher);
        Trace {
            events: entries.iter().map(|(_, event)| event.clone()).collect(),
            fingerprint: hasher.finish(),
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    /// The state that an object shows.
    pub fn of(object: &Object<Body>) -> Self {
        Self {
            key: object.key.to_string(),
            token: object.body.token,
            version: number(Some(&object.version)),
        }
    }

    /// All states of one moment.
    pub fn all(snapshot: &Snapshot<Body>) -> Vec<Self> {
        snapshot.iter().map(|object| Self::of(object)).collect()
    }
}

impl Notice {
    /// The notification as it is taken down.
    pub fn of(notification: &listwatch::Notification<Body>) -> Self {
        use listwatch::{FinalState, Notification, Origin};
        match notification {
            Notification::Added { object, origin } => match origin {
                Origin::Initial => Self::Initial(State::of(object)),
                Origin::Later => Self::Added(State::of(object)),
            },
            Notification::Updated { old, new } => Self::Updated {
                old: State::of(old),
                new: State::of(new),
            },
            Notification::Deleted(deleted) => match (deleted.final_state, &deleted.last) {
                (FinalState::Unknown, Some(last)) => Self::Found {
                    last: State::of(last),
                },
                (FinalState::Unknown, None) | (FinalState::Known, _) => Self::Deleted {
                    key: deleted.key.to_string(),
                },
            },
            Notification::Lagged { .. } => Self::Lagged,
        }
    }
}

impl From<Bound> for Limit {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::Block(most) => Self::Block(most),
            Bound::Coalesce => Self::Coalesce,
            Bound::Drop(most) => Self::Drop(most),
        }
    }
}

/// The values of a state in the index of groups: always two.
pub fn groups(token: u64) -> [u64; 2] {
    [token % 3, 10 + token % 5]
}

/// The value of a state in the index of parity, if it has one.
pub fn parity(token: u64) -> Option<u64> {
    (!token.is_multiple_of(3)).then_some(token % 2)
}

/// The value of a state's only label.
pub fn color(token: u64) -> u64 {
    token % 4
}

/// Selects the states of a color.
pub fn selector(color: u64) -> LabelSelector {
    LabelSelector::parse(&format!("color=c{color}")).expect("a label and its value")
}

/// A version as a number; zero if there is none.
pub fn number(version: Option<&Version>) -> u64 {
    match version {
        Some(Version::Number(number)) => *number,
        Some(Version::Text(_)) | None => 0,
    }
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            token,
            version,
        } = self;
        write!(formatter, "{key}#{token}@{version}")
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.entries.lock().len();
        formatter.debug_tuple("Recorder").field(&count).finish()
    }
}
