//! Deltas gathered by object.

use std::{
    collections::{HashMap, HashSet, VecDeque, hash_map::Entry},
    mem,
};

use tokio::time::Instant;

use super::Batch;
use crate::{Cache, Deletion, Delta, ObjectKey, Replacement, Version};

/// Everything that waits, cut at the lists.
///
/// ```text
/// pushed    +a  +b  ~a  bookmark 3  ~b  list  +c  -c  -c  resync  ~a  resync
/// popped    [+a ~a +b ~b]  [bookmark 3]  [list]  [+c -c ~a]  [resync]
/// ```
pub(super) struct Compressing<T> {
    stretches: VecDeque<Stretch<T>>,
    /// Deltas in all stretches.
    len: usize,
    in_flight: InFlight,
    cache: Option<Cache<T>>,
}

/// What came between two lists, and the list that ends it.
struct Stretch<T> {
    objects: ByObject<T>,
    bookmark: Option<(Version, Instant)>,
    resync: Option<Instant>,
    list: Option<(Replacement<T>, Instant)>,
}

/// The deltas of each object, in the order in which the objects first came.
struct ByObject<T> {
    places: HashMap<ObjectKey, usize>,
    deltas: Vec<Vec<Delta<T>>>,
    since: Option<Instant>,
}

/// What was popped last and may not be in the cache yet.
enum InFlight {
    Nothing,
    Objects(HashSet<ObjectKey>),
    Everything,
}

impl<T> Compressing<T> {
    pub(super) fn new() -> Self {
        Self {
            stretches: VecDeque::new(),
            len: 0,
            in_flight: InFlight::Nothing,
            cache: None,
        }
    }

    pub(super) fn feeds(&mut self, cache: Cache<T>) {
        self.cache = Some(cache);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, delta: Delta<T>, now: Instant) {
        let is_open = |stretch: &Stretch<T>| stretch.list.is_none();
        if !self.stretches.back().is_some_and(is_open) {
            self.stretches.push_back(Stretch::new());
        }
        match delta {
            Delta::Deleted(deletion) if !self.is_known(&deletion.key) => {}
            Delta::Added(_) | Delta::Updated(_) | Delta::Deleted(_) => {
                self.len += self.last().objects.push(delta, now);
            }
            Delta::Bookmark(version) => {
                let since = self.last().bookmark.take().map(|(_, since)| since);
                self.len += usize::from(since.is_none());
                self.last().bookmark = Some((version, since.unwrap_or(now)));
            }
            Delta::Resync => {
                let waiting = self.last().resync;
                self.len += usize::from(waiting.is_none());
                self.last().resync = waiting.or(Some(now));
            }
            Delta::Replaced(list) => {
                self.len += 1;
                self.last().list = Some((list, now));
            }
        }
    }

    /// What happened to objects, then what was told of all of them, then the list.
    pub(super) fn take_batch(&mut self) -> Option<Batch<T>> {
        self.in_flight = InFlight::Nothing;
        let batch = loop {
            let stretch = self.stretches.front_mut()?;
            if let Some(batch) = stretch.take_batch() {
                break batch;
            }
            self.stretches.pop_front();
        };
        self.len -= batch.deltas.len();
        self.in_flight = match (&self.cache, &batch.deltas[..]) {
            (None, _) => InFlight::Nothing,
            (Some(_), [Delta::Replaced(_)]) => InFlight::Everything,
            (Some(_), deltas) => {
                let keys = deltas.iter().filter_map(Delta::key);
                InFlight::Objects(keys.cloned().collect())
            }
        };
        Some(batch)
    }

    /// Whether the object is in the cache, or may be when all that waits is applied.
    fn is_known(&self, key: &ObjectKey) -> bool {
        let Some(cache) = &self.cache else {
            return true;
        };
        let in_flight = match &self.in_flight {
            InFlight::Nothing => false,
            InFlight::Objects(keys) => keys.contains(key),
            InFlight::Everything => true,
        };
        let waits = |stretch: &Stretch<T>| {
            stretch.list.is_some() || stretch.objects.places.contains_key(key)
        };
        in_flight
            || self.stretches.iter().any(waits)
            || cache.snapshot().get(key.as_str()).is_some()
    }

    fn last(&mut self) -> &mut Stretch<T> {
        let last = self.stretches.back_mut();
        last.expect("a stretch is opened before anything is put into it")
    }
}

impl<T> Stretch<T> {
    fn new() -> Self {
        Self {
            objects: ByObject::new(),
            bookmark: None,
            resync: None,
            list: None,
        }
    }

    fn take_batch(&mut self) -> Option<Batch<T>> {
        let alone = |delta, since| Batch {
            deltas: vec![delta],
            since,
        };
        if let Some(batch) = self.objects.take() {
            Some(batch)
        } else if let Some((version, since)) = self.bookmark.take() {
            Some(alone(Delta::Bookmark(version), since))
        } else if let Some(since) = self.resync.take() {
            Some(alone(Delta::Resync, since))
        } else {
            let (list, since) = self.list.take()?;
            Some(alone(Delta::Replaced(list), since))
        }
    }
}

impl<T> ByObject<T> {
    fn new() -> Self {
        Self {
            places: HashMap::new(),
            deltas: Vec::new(),
            since: None,
        }
    }

    /// Adds a delta about one object. Tells by how many there are more.
    fn push(&mut self, delta: Delta<T>, now: Instant) -> usize {
        self.since.get_or_insert(now);
        let key = delta.key().expect("the delta is about one object").clone();
        match self.places.entry(key) {
            Entry::Vacant(place) => {
                place.insert(self.deltas.len());
                self.deltas.push(vec![delta]);
                1
            }
            Entry::Occupied(place) => append(&mut self.deltas[*place.get()], delta),
        }
    }

    fn take(&mut self) -> Option<Batch<T>> {
        let since = self.since.take()?;
        self.places.clear();
        let deltas = mem::take(&mut self.deltas);
        Some(Batch {
            deltas: deltas.into_iter().flatten().collect(),
            since,
        })
    }
}

/// Adds a delta to those of the same object. Tells by how many there are more.
fn append<T>(deltas: &mut Vec<Delta<T>>, delta: Delta<T>) -> usize {
    match (deltas.last_mut(), delta) {
        (Some(Delta::Deleted(older)), Delta::Deleted(newer)) => {
            join(older, newer);
            0
        }
        (_, delta) => {
            deltas.push(delta);
            1
        }
    }
}

/// Makes one deletion of two: the state that is known, at the version that is reached.
fn join<T>(older: &mut Deletion<T>, newer: Deletion<T>) {
    older.version = newer.version;
    older.last = older.last.take().or(newer.last);
}
