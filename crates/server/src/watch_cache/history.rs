//! The recent past of a kind.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use listwatch_store::Revision;
use tokio::time::Instant;

use super::{CacheLimits, event::Event};

/// Recent events of one kind, oldest first, each with its place in the sequence of all of them.
///
/// ```text
/// at most 3 events, after 4 7 9:   floor 3 | 4 7 9      after(3) -> 4 7 9    after(2) -> forgotten
/// after event 12:                  floor 4 | 7 9 12     after(4) -> 7 9 12   after(3) -> forgotten
/// ```
pub(super) struct History {
    events: VecDeque<Arc<Event>>,
    /// The place of the first event.
    first: u64,
    /// All events after this revision are here.
    floor: Revision,
    /// Bytes that are alive only because of these events.
    bytes: usize,
    /// Now and then the time, and the place of the next event at that time.
    marks: VecDeque<(Instant, u64)>,
    /// The first event whose frames are shared.
    warm: u64,
    /// Bytes of the values of these events.
    warm_bytes: usize,
    limits: CacheLimits,
}

/// What a reader finds.
pub(super) enum Since {
    /// The events after the revision have these places.
    Places(Range<u64>),
    /// Some of them have left.
    Forgotten,
}

impl History {
    /// Nothing has happened since `floor`.
    pub(super) fn new(floor: Revision, limits: CacheLimits) -> Self {
        Self {
            events: VecDeque::new(),
            first: 0,
            floor,
            bytes: 0,
            marks: VecDeque::new(),
            warm: 0,
            warm_bytes: 0,
            limits,
        }
    }

    /// Adds the newest event. [`Self::trim`] must follow when its commit is complete.
    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.bytes += event.retained_bytes();
        self.warm_bytes += shared_bytes(&event);
        self.events.push_back(event);
    }

    /// Lets the oldest leave until every limit is kept. The events of one revision leave together,
    /// so that the floor is always a whole revision.
    pub(super) fn trim(&mut self, now: Instant) {
        let too_old = self.pass_marks(now);
        while self.events.len() > self.limits.history_events_max
            || self.bytes > self.limits.history_bytes_max
            || (self.first < too_old && !self.events.is_empty())
        {
            self.forget_oldest_revision();
        }
        self.cool();
    }

    /// The place of the event that comes next.
    pub(super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// The place of the oldest event here.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The revision after which everything is here.
    pub(super) fn floor(&self) -> Revision {
        self.floor
    }

    /// The event at a place.
    pub(super) fn get(&self, place: u64) -> Option<&Arc<Event>> {
        let index = usize::try_from(place.checked_sub(self.first)?).ok()?;
        self.events.get(index)
    }

    /// Where the events after a revision are.
    pub(super) fn after(&self, revision: Revision) -> Since {
        if revision < self.floor {
            return Since::Forgotten;
        }
        let index = self
            .events
            .partition_point(|event| event.revision() <= revision);
        Since::Places(self.first + index as u64..self.end())
    }

    /// The newest event's revision, or the floor.
    pub(super) fn newest(&self) -> Revision {
        self.events
            .back()
            .map_or(self.floor, |event| event.revision())
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes the time, and tells the place before which events are too old.
    fn pass_marks(&mut self, now: Instant) -> u64 {
        let mut too_old = 0;
        while let Some((time, place)) = self.marks.front().copied()
            && now.duration_since(time) >= self.limits.history_age_max
        {
            too_old = place;
            self.marks.pop_front();
        }
        let due = |(time, _): &(Instant, u64)| now.duration_since(*time) >= self.mark_interval();
        let end = self.end();
        match self.marks.back() {
            Some(mark) if !due(mark) => {}
            Some((_, place)) if *place == end => {}
            _ => self.marks.push_back((now, end)),
        }
        too_old
    }

    /// How often the time is noted; events stay longer than asked by no more than this.
    fn mark_interval(&self) -> std::time::Duration {
        self.limits.history_age_max / 64
    }

    fn forget_oldest_revision(&mut self) {
        let Some(oldest) = self.events.front().map(|event| event.revision()) else {
            return;
        };
        while let Some(event) = self.events.pop_front_if(|event| event.revision() == oldest) {
            self.bytes -= event.retained_bytes();
            if self.warm == self.first {
                self.warm_bytes -= shared_bytes(&event);
                self.warm += 1;
            }
            self.first += 1;
        }
        self.floor = oldest;
    }

    fn cool(&mut self) {
        let excess = |history: &Self| {
            history.end() - history.warm > history.limits.shared_frames_events_max
                || history.warm_bytes > history.limits.shared_frames_bytes_max
        };
        while excess(self) {
            let Some(event) = self.get(self.warm).map(Arc::clone) else {
                return;
            };
            event.cool();
            self.warm_bytes -= shared_bytes(&event);
            self.warm += 1;
        }
    }
}

fn shared_bytes(event: &Event) -> usize {
    let newest = event.object().or(event.previous());
    newest.map_or(0, |object| object.stored().value().len())
}

#[cfg(test)]
mod tests {
    use listwatch_store::Key;

    use super::*;
    use crate::{
        registry::Scope,
        watch_cache::{CachedObject, KindLayout},
    };

    fn event(revision: u64) -> Arc<Event> {
        let layout = KindLayout::new("/registry/things/", Scope::Cluster, []);
        let revision = Revision::new(revision);
        let key = Key::new("/registry/things/a");
        let object = CachedObject::read(&layout, key, revision, r#"{"metadata":{}}"#.into());
        let created = Event::new(revision, None, Some(Arc::new(object.unwrap())));
        Arc::new(created.unwrap())
    }

    /// A history of at most three events that began at revision 3.
    fn history(revisions: &[u64]) -> History {
        let limits = CacheLimits {
            history_events_max: 3,
            shared_frames_events_max: 2,
            ..CacheLimits::default()
        };
        let mut history = History::new(Revision::new(3), limits);
        for commit in revisions.chunk_by(|left, right| left == right) {
            commit
                .iter()
                .for_each(|revision| history.push(event(*revision)));
            history.trim(Instant::now());
        }
        history
    }

    fn after(history: &History, revision: u64) -> Option<Vec<u64>> {
        match history.after(Revision::new(revision)) {
            Since::Forgotten => None,
            Since::Places(places) => {
                let events = places.filter_map(|place| history.get(place));
                Some(events.map(|event| event.revision().get()).collect())
            }
        }
    }

    #[test]
    fn events_are_found_by_the_revision_before_them() {
        let full = history(&[4, 7, 9]);
        assert_eq!(after(&full, 3), Some(vec![4, 7, 9]));
        assert_eq!(after(&full, 2), None);
        let moved_on = history(&[4, 7, 9, 12]);
        assert_eq!(after(&moved_on, 4), Some(vec![7, 9, 12]));
        assert_eq!(after(&moved_on, 3), None);
        assert_eq!(after(&moved_on, 8), Some(vec![9, 12]));
        assert_eq!(after(&moved_on, 99), Some(vec![]));
    }

    #[test]
    fn the_events_of_one_revision_leave_together() {
        let history = history(&[4, 4, 7, 9]);
        assert_eq!(after(&history, 4), Some(vec![7, 9]));
        assert_eq!(after(&history, 3), None);
        assert_eq!(history.first(), 2);
    }

    #[test]
    fn a_history_that_holds_nothing_begins_at_its_newest_event() {
        let history = history(&[4, 4, 4, 4]);
        assert_eq!((history.len(), history.bytes()), (0, 0));
        assert_eq!(after(&history, 4), Some(vec![]));
        assert_eq!(after(&history, 3), None);
    }

    #[test]
    fn only_the_newest_events_share_their_frames() {
        let history = history(&[4, 7, 9]);
        let frames = |place: u64| {
            let event = history.get(place).unwrap();
            let frame = || event.json_frame(listwatch_api::EventType::Added);
            (frame().as_ptr(), frame().as_ptr())
        };
        let (first, again) = frames(2);
        assert_eq!(first, again);
        let old = history
            .get(0)
            .unwrap()
            .json_frame(listwatch_api::EventType::Added);
        let other = history
            .get(0)
            .unwrap()
            .json_frame(listwatch_api::EventType::Added);
        assert_ne!(old.as_ptr(), other.as_ptr());
        assert_eq!(old, other);
    }
}
