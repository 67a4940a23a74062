//! The past of a kind and those who follow it, changed together.
//!
//! One lock guards all of it: the feeder takes it to write, once for a few dozen events; watchers
//! take it to read, and only to copy references out. No other lock is taken while it is held.

use std::{collections::VecDeque, sync::Arc};

use listwatch_store::Revision;
use tokio::time::Instant;

use super::{
    CacheLimits,
    event::Event,
    fanout::Fanout,
    history::{History, Since},
    kind_layout::KindLayout,
    view::View,
};

/// States of the past that are kept whole, at the most; the oldest leaves first. Only those that
/// were asked for are kept: each costs the nodes that have changed since. Others are made by taking
/// events back.
const KEPT_VIEWS_MAX: usize = 16;

/// Gaps that are kept apart, at the most. A further one makes the newest longer.
const GAPS_MAX: usize = 8;

/// What happened, and to whom it is told.
pub(super) struct Journal {
    pub(super) history: History,
    pub(super) fanout: Fanout,
    pub(super) lifecycle: Lifecycle,
    /// States of the past, oldest first.
    kept: VecDeque<Arc<View>>,
    /// What has been missed, oldest first.
    gaps: VecDeque<Gap>,
}

/// Revisions whose states have been missed: those between the two.
#[derive(Clone, Copy, Debug)]
struct Gap {
    after: Revision,
    before: Revision,
}

impl Gap {
    fn holds(self, revision: Revision) -> bool {
        self.after < revision && revision < self.before
    }
}

/// Whether the kind is still served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// Its events are followed.
    Served,
    /// Nothing will come any more.
    Removed,
}

/// How to get a state of the past.
pub(super) struct Recall {
    /// A later state, or the one that is wanted.
    pub(super) from: Arc<View>,
    /// The events to take back, the newest first.
    pub(super) undo: Vec<Arc<Event>>,
}

impl Journal {
    pub(super) fn new(layout: Arc<KindLayout>, loaded: Revision, limits: CacheLimits) -> Self {
        Self {
            history: History::new(loaded, limits),
            fanout: Fanout::new(layout, limits.group_log_events_max),
            lifecycle: Lifecycle::Served,
            kept: VecDeque::new(),
            gaps: VecDeque::new(),
        }
    }

    /// Adds events, which must be whole commits.
    pub(super) fn record(&mut self, events: &[Arc<Event>], now: Instant) {
        for event in events {
            let place = self.history.end();
            self.history.push(Arc::clone(event));
            self.fanout.dispatch(place, event);
        }
        self.trim(now);
    }

    /// Lets go of what is too old or too much.
    pub(super) fn trim(&mut self, now: Instant) {
        self.history.trim(now);
        let first = self.history.first();
        self.kept.retain(|view| view.sequence >= first);
        let floor = self.history.floor();
        self.gaps.retain(|gap| gap.before > floor);
    }

    /// Keeps a state for those who ask for it again.
    pub(super) fn keep(&mut self, view: &Arc<View>) {
        let at = self
            .kept
            .partition_point(|kept| kept.sequence < view.sequence);
        let known = self
            .kept
            .get(at)
            .is_some_and(|kept| kept.sequence == view.sequence);
        if known || view.sequence < self.history.first() {
            return;
        }
        self.kept.insert(at, Arc::clone(view));
        if self.kept.len() > KEPT_VIEWS_MAX {
            self.kept.pop_front();
        }
    }

    /// Says that of what happened between the two revisions only the outcome is known.
    pub(super) fn mark_gap(&mut self, after: Revision, before: Revision) {
        if after.next() >= before {
            return;
        }
        let after = match self.gaps.len() {
            GAPS_MAX => self.gaps.pop_back().map_or(after, |newest| newest.after),
            _ => after,
        };
        self.gaps.push_back(Gap { after, before });
    }

    /// Whether the state at a revision is not known.
    pub(super) fn has_missed(&self, revision: Revision) -> bool {
        self.before_missed(revision) != revision
    }

    /// The revision, or the last known one before it if it was missed.
    pub(super) fn before_missed(&self, revision: Revision) -> Revision {
        let mut gaps = self.gaps.iter();
        gaps.find(|gap| gap.holds(revision))
            .map_or(revision, |gap| gap.after)
    }

    /// How the state at a revision comes from `newest` or a kept one; `None` if it cannot.
    pub(super) fn recall(&self, revision: Revision, newest: &Arc<View>) -> Option<Recall> {
        if self.has_missed(revision) {
            return None;
        }
        let Since::Places(places) = self.history.after(revision) else {
            return None;
        };
        let wanted = places.start;
        let kept = self.kept.iter().find(|view| view.sequence >= wanted);
        let from = kept.unwrap_or(newest);
        let undo = (wanted..from.sequence).rev();
        let undo = undo.map(|place| self.history.get(place).map(Arc::clone));
        Some(Recall {
            undo: undo.collect::<Option<_>>()?,
            from: Arc::clone(from),
        })
    }
}
