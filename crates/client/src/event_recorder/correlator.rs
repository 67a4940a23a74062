//! Many occurrences to few writes: counted in series, combined when similar, thinned when too many.
//! Pure: it writes nothing itself.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use tokio::time::Instant;

use super::{NewEvent, Reporter, naming, recent_map::RecentMap};

/// Keys that each of the three memories holds. At the bound the one unused for longest is
/// forgotten: its next occurrence counts as the first.
const REMEMBERED_MAX: usize = 4096;

/// Writes about one object that are let through at once.
const BURST: f64 = 25.0;

/// After how long one more is let through.
const REFILL_INTERVAL: Duration = Duration::from_secs(300);

/// Events of one kind with notes of their own. Those with further notes are combined.
const SIMILAR_MAX: usize = 10;

/// How long an occurrence counts as similar to the one before.
const SIMILAR_INTERVAL: Duration = Duration::from_secs(600);

/// After how long without an occurrence a series is over, and the next one begins another.
const SERIES_IDLE_MAX: Duration = Duration::from_secs(360);

/// What stands before the note of combined events: that of the first of them, since a server lets
/// nobody change the note of an event.
const COMBINED: &str = "(combined from similar events): ";

/// Remembers what occurred, and decides what is written about it.
pub(super) struct Correlator {
    reporter: Reporter,
    similar: RecentMap<Kind, Similar>,
    series: RecentMap<SeriesKey, Series>,
    buckets: RecentMap<Object, Bucket>,
    named: u64,
}

/// An occurrence, with the moment it was recorded.
pub(super) struct Occurrence {
    pub(super) event: NewEvent,
    pub(super) at: Instant,
    pub(super) wall: MicroTime,
}

/// What is to be written about an occurrence.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// Nothing: too much was written about the object lately. It is counted all the same.
    TooMany,
    /// The first write of a series.
    Create(SeriesKey, Box<Event>),
    /// The series has grown.
    Count(SeriesKey, Growth),
}

/// How a series has grown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Growth {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) series: EventSeries,
}

/// Events that differ in their note at most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    type_: &'static str,
    reason: String,
    action: String,
    regarding: Object,
    related: Option<Object>,
}

/// Which object an event is about: a later version of it is the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Object([Option<String>; 6]);

/// Events that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SeriesKey {
    kind: Kind,
    /// `None` when notes are combined.
    note: Option<String>,
}

struct Similar {
    notes: BTreeSet<u64>,
    last: Instant,
}

struct Series {
    event: Event,
    count: i32,
    last: Instant,
    last_wall: MicroTime,
    stored: Stored,
}

#[derive(PartialEq, Eq)]
enum Stored {
    No,
    Yes,
}

/// Leave to write once.
struct Token;

struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Correlator {
    pub(super) fn new(reporter: Reporter) -> Self {
        Self {
            reporter,
            similar: RecentMap::new(REMEMBERED_MAX),
            series: RecentMap::new(REMEMBERED_MAX),
            buckets: RecentMap::new(REMEMBERED_MAX),
            named: 0,
        }
    }

    /// Counts an occurrence and says what is to be written about it.
    pub(super) fn observe(&mut self, occurrence: Occurrence) -> Verdict {
        let key = self.series_key(&occurrence);
        let at = occurrence.at;
        self.count(&key, occurrence);
        let Some(Token) = self.token(&key.kind.regarding, at) else {
            return Verdict::TooMany;
        };
        let series = self.series.get_mut(&key).expect("counted just now");
        match series.stored {
            Stored::No => {
                series.stored = Stored::Yes;
                Verdict::Create(key, Box::new(series.whole()))
            }
            Stored::Yes => Verdict::Count(key, series.growth()),
        }
    }

    /// The series is not stored after all: its next occurrence creates it.
    pub(super) fn forget(&mut self, key: &SeriesKey) {
        self.series.remove(key);
    }

    /// The event of a series under a new name, since the old one is gone.
    pub(super) fn recreate(&mut self, key: &SeriesKey) -> Option<Box<Event>> {
        self.named += 1;
        let number = self.named;
        let series = self.series.get_mut(key)?;
        let name = naming::event_name(series.event.regarding.as_ref(), &series.last_wall, number);
        series.event.metadata.name = Some(name);
        Some(Box::new(series.whole()))
    }

    fn series_key(&mut self, occurrence: &Occurrence) -> SeriesKey {
        let event = &occurrence.event;
        let kind = Kind::of(event);
        let similar = self.similar.use_or_insert(&kind, || Similar {
            notes: BTreeSet::new(),
            last: occurrence.at,
        });
        let own = similar.has_room(&event.note, occurrence.at);
        SeriesKey {
            kind,
            note: own.then(|| event.note.clone()),
        }
    }

    fn count(&mut self, key: &SeriesKey, occurrence: Occurrence) {
        let Occurrence {
            mut event,
            at,
            wall,
        } = occurrence;
        if key.note.is_none() {
            event.note = format!("{COMBINED}{}", event.note);
        }
        if let Some(series) = self.series.get_mut(key)
            && at.saturating_duration_since(series.last) > SERIES_IDLE_MAX
        {
            self.series.remove(key);
        }
        let (named, reporter) = (&mut self.named, &self.reporter);
        let series = self.series.use_or_insert(key, || {
            *named += 1;
            Series {
                event: event.into_event(reporter, &wall, *named),
                count: 0,
                last: at,
                last_wall: wall.clone(),
                stored: Stored::No,
            }
        });
        series.count = series.count.saturating_add(1);
        series.last = at;
        series.last_wall = wall;
    }

    fn token(&mut self, object: &Object, now: Instant) -> Option<Token> {
        let full = || Bucket {
            tokens: BURST,
            at: now,
        };
        self.buckets.use_or_insert(object, full).take(now)
    }
}

impl Bucket {
    /// Takes a token, if there is one.
    fn take(&mut self, now: Instant) -> Option<Token> {
        let gone = now.saturating_duration_since(self.at);
        let refilled = gone.as_secs_f64() / REFILL_INTERVAL.as_secs_f64();
        self.tokens = (self.tokens + refilled).min(BURST);
        self.at = self.at.max(now);
        (self.tokens >= 1.0).then(|| {
            self.tokens -= 1.0;
            Token
        })
    }
}

impl Similar {
    /// Whether an event with this note is written on its own.
    fn has_room(&mut self, note: &str, now: Instant) -> bool {
        if now.saturating_duration_since(self.last) > SIMILAR_INTERVAL {
            self.notes.clear();
        }
        self.last = now;
        let mut hasher = DefaultHasher::new();
        note.hash(&mut hasher);
        let note = hasher.finish();
        if self.notes.len() + 1 < SIMILAR_MAX {
            self.notes.insert(note);
        }
        self.notes.contains(&note)
    }
}

impl Series {
    /// The event with its count, if that is more than one.
    fn whole(&self) -> Event {
        Event {
            series: (self.count > 1).then(|| self.growth().series),
            ..self.event.clone()
        }
    }

    fn growth(&self) -> Growth {
        let metadata = &self.event.metadata;
        Growth {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            series: EventSeries {
                count: self.count,
                last_observed_time: self.last_wall.clone(),
            },
        }
    }
}

impl Kind {
    fn of(event: &NewEvent) -> Self {
        Self {
            type_: event.severity.as_str(),
            reason: event.reason.clone(),
            action: event.action.clone(),
            regarding: Object::of(&event.regarding),
            related: event.related.as_ref().map(Object::of),
        }
    }
}

impl Object {
    fn of(reference: &ObjectReference) -> Self {
        Self([
            reference.api_version.clone(),
            reference.kind.clone(),
            reference.namespace.clone(),
            reference.name.clone(),
            reference.uid.clone(),
            reference.field_path.clone(),
        ])
    }
}

#[cfg(test)]
mod tests;
