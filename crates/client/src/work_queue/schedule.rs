//! Which keys are queued, in which order they leave, and which are being worked on.
//!
//! Plain data: it never waits, takes no lock and reads no clock.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    hash::Hash,
    time::Duration,
};

use tokio::time::Instant;

use super::Priority;

/// All keys of one queue. A key is queued at most once and worked on at most once.
///
/// ```text
/// add a, b          ready a b
/// take              ready b       working a
/// add a             ready b       working a   held a      one key never runs twice at once
/// done a            ready b a
/// add c after 1 s   ready b a     waiting c
/// ```
#[derive(Debug)]
pub(super) struct Schedule<K> {
    queued: HashMap<K, Queued>,
    ready: BTreeMap<Place, K>,
    waiting: BTreeMap<(Instant, Sequence), K>,
    working: HashMap<K, Instant>,
    next_sequence: Sequence,
    keys_max: Option<usize>,
}

/// A key that left the queue.
#[derive(Debug)]
pub(super) struct Taken<K> {
    pub(super) key: K,
    pub(super) priority: Priority,
    /// How long it could have been taken already.
    pub(super) waited: Duration,
}

/// What adding a key changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It was not queued and is now.
    Queued,
    /// It was queued; priority and time are now the better of the two.
    Merged,
    /// It is new, and there is no room.
    NoRoom,
}

/// How long keys have been worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Unfinished {
    pub(super) total: Duration,
    pub(super) longest: Duration,
}

type Sequence = u64;
type Place = (Reverse<Priority>, Sequence);

#[derive(Debug)]
struct Queued {
    priority: Priority,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Its time has not come.
    Waiting { due: Instant, sequence: Sequence },
    /// It leaves when all before it have left.
    Ready { since: Instant, sequence: Sequence },
    /// It would be ready, but is being worked on. It keeps its place.
    Held { since: Instant, sequence: Sequence },
}

impl<K: Clone + Eq + Hash> Schedule<K> {
    /// An empty schedule for at most so many queued keys.
    pub(super) fn new(keys_max: Option<usize>) -> Self {
        Self {
            queued: HashMap::new(),
            ready: BTreeMap::new(),
            waiting: BTreeMap::new(),
            working: HashMap::new(),
            next_sequence: 0,
            keys_max,
        }
    }

    /// Queues a key for `due`. A key that is being worked on always fits.
    pub(super) fn add(&mut self, key: K, priority: Priority, due: Instant, now: Instant) -> Change {
        let Some(queued) = self.queued.get(&key) else {
            let full = self.keys_max.is_some_and(|max| self.queued.len() >= max);
            if full && !self.working.contains_key(&key) {
                return Change::NoRoom;
            }
            self.insert(key, priority, due, now);
            return Change::Queued;
        };
        let raised = priority > queued.priority;
        let priority = priority.max(queued.priority);
        match queued.stage {
            Stage::Waiting { due: before, .. } if raised || due < before => {
                self.remove(&key);
                self.insert(key, priority, due.min(before), now);
            }
            Stage::Ready { since, .. } | Stage::Held { since, .. } if raised => {
                self.remove(&key);
                self.insert(key, priority, since, now);
            }
            Stage::Waiting { .. } | Stage::Ready { .. } | Stage::Held { .. } => {}
        }
        Change::Merged
    }

    /// Makes ready what is due, the earliest first. Returns how many keys that were.
    pub(super) fn advance(&mut self, now: Instant) -> usize {
        let mut advanced = 0;
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 <= now
        {
            let ((due, _), key) = first.remove_entry();
            let priority = self.queued[&key].priority;
            self.insert(key, priority, due, now);
            advanced += 1;
        }
        advanced
    }

    /// Takes the first of the ready keys to work on it.
    pub(super) fn take(&mut self, now: Instant) -> Option<Taken<K>> {
        let (_, key) = self.ready.pop_first()?;
        let queued = self.queued.remove(&key)?;
        self.working.insert(key.clone(), now);
        let waited = match queued.stage {
            Stage::Ready { since, .. } => now.saturating_duration_since(since),
            Stage::Waiting { .. } | Stage::Held { .. } => Duration::ZERO,
        };
        Some(Taken {
            key,
            priority: queued.priority,
            waited,
        })
    }

    /// Ends the work on a key and says how long it took. If it was held, it is ready now.
    pub(super) fn finish(&mut self, key: &K, now: Instant) -> Option<Duration> {
        let begun = self.working.remove(key)?;
        if let Some(queued) = self.queued.get_mut(key)
            && let Stage::Held { since, sequence } = queued.stage
        {
            queued.stage = Stage::Ready { since, sequence };
            let place = (Reverse(queued.priority), sequence);
            self.ready.insert(place, key.clone());
        }
        Some(now.saturating_duration_since(begun))
    }

    /// Forgets the keys whose time has not come.
    pub(super) fn drop_waiting(&mut self) {
        for key in std::mem::take(&mut self.waiting).into_values() {
            self.queued.remove(&key);
        }
    }

    /// When the next key is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Keys that are due, whether they can be taken or are held.
    pub(super) fn len(&self) -> usize {
        self.queued.len() - self.waiting.len()
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(super) fn is_working(&self) -> bool {
        !self.working.is_empty()
    }

    pub(super) fn unfinished(&self, now: Instant) -> Unfinished {
        let times = self.working.values();
        times.fold(Unfinished::default(), |sum, begun| {
            let time = now.saturating_duration_since(*begun);
            Unfinished {
                total: sum.total + time,
                longest: sum.longest.max(time),
            }
        })
    }

    /// Puts a key at the end of its class, ready or not by `due`.
    fn insert(&mut self, key: K, priority: Priority, due: Instant, now: Instant) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let since = due;
        let stage = if due > now {
            self.waiting.insert((due, sequence), key.clone());
            Stage::Waiting { due, sequence }
        } else if self.working.contains_key(&key) {
            Stage::Held { since, sequence }
        } else {
            let place = (Reverse(priority), sequence);
            self.ready.insert(place, key.clone());
            Stage::Ready { since, sequence }
        };
        self.queued.insert(key, Queued { priority, stage });
    }

    fn remove(&mut self, key: &K) {
        let Some(queued) = self.queued.remove(key) else {
            return;
        };
        match queued.stage {
            Stage::Waiting { due, sequence } => {
                self.waiting.remove(&(due, sequence));
            }
            Stage::Ready { sequence, .. } => {
                self.ready.remove(&(Reverse(queued.priority), sequence));
            }
            Stage::Held { .. } => {}
        }
    }
}
