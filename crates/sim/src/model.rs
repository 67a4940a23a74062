//! The one order of writes that a history tells.
//!
//! Acknowledged writes come first. What else happened (writes without an answer, the versions of
//! deletes) is taken from what clients were shown, so a run needs a witness: a watch of all objects
//! from its first to its last moment.

mod timeline;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use listwatch_api::{EventType, ResourceVersion};

pub use timeline::Timeline;

use crate::{
    history::{Frame, Gap, History, ObjectKey, ObjectVersion, Token},
    selection::Selection,
};

/// Every change, in order.
#[derive(Debug, Default)]
pub struct Model {
    changes: BTreeMap<ResourceVersion, Change>,
    by_key: BTreeMap<ObjectKey, BTreeSet<ResourceVersion>>,
    by_token: BTreeMap<Token, BTreeSet<ResourceVersion>>,
    reuses: Vec<Reuse>,
}

/// What happened to one object at one version.
#[derive(Clone, Debug)]
pub struct Change {
    /// When, in the order of all changes.
    pub version: ResourceVersion,
    /// To which object.
    pub key: ObjectKey,
    /// What.
    pub effect: Effect,
    /// Where this is known from.
    pub source: String,
}

/// The new state of an object.
#[derive(Clone, Debug)]
pub enum Effect {
    /// It has this state.
    Put(ObjectVersion),
    /// The object with this uid is gone.
    Delete {
        /// The uid that the deleted object had.
        uid: String,
    },
}

/// One version that was given to two different changes.
#[derive(Clone, Debug)]
pub struct Reuse {
    /// The change that the model took.
    pub first: Change,
    /// The change that came to the same version.
    pub second: Change,
}

/// The event that a change means to those who asked for a selection.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// What happened, as they see it.
    pub event_type: EventType,
    /// The version that the event carries.
    pub version: ResourceVersion,
    /// The state that the event carries: for a delete, the last one they could see.
    pub object: &'a ObjectVersion,
}

impl Model {
    /// The order of writes that this history tells.
    pub fn of(history: &History) -> Self {
        let mut model = Self::default();
        for (number, write) in history.writes.iter().enumerate() {
            if let Some(object) = write.stored() {
                model.learn_state(object, &format!("the answer to write {number}"));
            }
        }
        model.learn_streams(history, Selection::is_immutable);
        for (number, list) in history.lists.iter().enumerate() {
            for item in list.items() {
                model.learn_state(item, &format!("list {number}"));
            }
        }
        for (number, read) in history.reads.iter().enumerate() {
            if let Some(object) = &read.seen {
                model.learn_state(object, &format!("read {number}"));
            }
        }
        model.learn_streams(history, |selection| !selection.is_immutable());
        model
    }

    /// Every change after `after` up to `through`.
    pub fn changes(
        &self,
        after: ResourceVersion,
        through: ResourceVersion,
    ) -> impl Iterator<Item = &Change> {
        let bounds = (after < through).then_some((
            std::ops::Bound::Excluded(after),
            std::ops::Bound::Included(through),
        ));
        bounds
            .into_iter()
            .flat_map(|bounds| self.changes.range(bounds))
            .map(|(_, change)| change)
    }

    /// The change at this version.
    pub fn change_at(&self, version: ResourceVersion) -> Option<&Change> {
        self.changes.get(&version)
    }

    /// The newest version of all.
    pub fn newest(&self) -> ResourceVersion {
        let newest = self.changes.keys().next_back().copied();
        newest.unwrap_or(ResourceVersion::new(0))
    }

    /// Every object that there ever was.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.by_key.keys()
    }

    /// The changes of one object, oldest first.
    pub fn changes_of(&self, key: &ObjectKey) -> impl DoubleEndedIterator<Item = &Change> {
        let versions = self.by_key.get(key).into_iter().flatten();
        versions.filter_map(|version| self.changes.get(version))
    }

    /// The object as it was when everything up to `at` had happened.
    pub fn state_at(&self, key: &ObjectKey, at: ResourceVersion) -> Option<&ObjectVersion> {
        let version = self.by_key.get(key)?.range(..=at).next_back()?;
        self.changes.get(version)?.state()
    }

    /// The object as it was just before the change at `version`.
    pub fn state_before(
        &self,
        key: &ObjectKey,
        version: ResourceVersion,
    ) -> Option<&ObjectVersion> {
        let version = self.by_key.get(key)?.range(..version).next_back()?;
        self.changes.get(version)?.state()
    }

    /// All selected objects as they were at a version, by key.
    pub fn list_at(&self, selection: &Selection, at: ResourceVersion) -> Vec<&ObjectVersion> {
        let states = self.by_key.keys().filter_map(|key| self.state_at(key, at));
        states.filter(|state| selection.matches(state)).collect()
    }

    /// The event that a change is to those who asked for `selection`; `None` when it is none.
    pub fn event<'a>(&'a self, selection: &Selection, change: &'a Change) -> Option<Expected<'a>> {
        let selected = |state: &&ObjectVersion| selection.matches(state);
        let before = self
            .state_before(&change.key, change.version)
            .filter(selected);
        let now = change.state().filter(selected);
        let (event_type, object) = match (before, now) {
            (None, Some(now)) => (EventType::Added, now),
            (Some(_), Some(now)) => (EventType::Modified, now),
            (Some(before), None) => (EventType::Deleted, before),
            (None, None) => return None,
        };
        Some(Expected {
            event_type,
            version: change.version,
            object,
        })
    }

    /// The events of a selection after `after` up to `through`.
    pub fn events<'a>(
        &'a self,
        selection: &'a Selection,
        after: ResourceVersion,
        through: ResourceVersion,
    ) -> impl Iterator<Item = Expected<'a>> {
        self.changes(after, through)
            .filter_map(|change| self.event(selection, change))
    }

    /// What is told of changes that were missed: the difference that they made to a selection.
    pub fn differences<'a>(&'a self, selection: &Selection, gap: Gap) -> Vec<Expected<'a>> {
        let selected = |state: &&ObjectVersion| selection.matches(state);
        let expected = self.by_key.keys().filter_map(|key| {
            let before = self.state_at(key, gap.after).filter(selected);
            let now = self.state_at(key, gap.through);
            let (event_type, version, object) = match (before, now) {
                (Some(before), Some(now)) if before.version == now.version => return None,
                (Some(_), Some(now)) if selected(&now) => (EventType::Modified, now.version, now),
                (None, Some(now)) if selected(&now) => (EventType::Added, now.version, now),
                (Some(before), Some(now)) => (EventType::Deleted, now.version, before),
                (Some(before), None) => (EventType::Deleted, gap.first_missed(), before),
                (None, _) => return None,
            };
            Some(Expected {
                event_type,
                version,
                object,
            })
        });
        expected.collect()
    }

    /// The version at which the object with this uid was deleted.
    pub fn deletion_of(&self, key: &ObjectKey, uid: &str) -> Option<ResourceVersion> {
        let mut changes = self.changes_of(key);
        let deletion = changes.find(|change| match &change.effect {
            Effect::Delete { uid: deleted } => deleted == uid,
            Effect::Put(_) => false,
        });
        deletion.map(|change| change.version)
    }

    /// The versions at which the content of each write was stored.
    pub fn versions_by_token(&self) -> &BTreeMap<Token, BTreeSet<ResourceVersion>> {
        &self.by_token
    }

    /// Versions given to two different changes.
    pub fn reuses(&self) -> &[Reuse] {
        &self.reuses
    }

    fn learn_streams(&mut self, history: &History, which: impl Fn(&Selection) -> bool) {
        let watches = history.watches.iter().enumerate();
        for (number, watch) in watches.filter(|(_, watch)| which(&watch.selection)) {
            let source = format!("watch {number}");
            for received in &watch.frames {
                match &received.frame {
                    Frame::Added(object) | Frame::Modified(object) => {
                        self.learn_state(object, &source);
                    }
                    // Elsewhere it may only have left the selection, or be dated by guess.
                    Frame::Deleted(object)
                        if watch.selection.is_immutable()
                            && !history
                                .gaps_of(watch.answerer)
                                .any(|gap| gap.holds(object.version)) =>
                    {
                        self.learn_deletion(object, &source);
                    }
                    Frame::Deleted(_) | Frame::Bookmark(_) | Frame::InitialEventsEnd(_) => {}
                }
            }
        }
    }

    fn learn_state(&mut self, object: &ObjectVersion, source: &str) {
        let effect = Effect::Put(object.clone());
        self.learn(object, effect, source);
    }

    fn learn_deletion(&mut self, object: &ObjectVersion, source: &str) {
        let uid = object.uid.clone();
        self.learn(object, Effect::Delete { uid }, source);
    }

    fn learn(&mut self, object: &ObjectVersion, effect: Effect, source: &str) {
        let change = Change {
            version: object.version,
            key: object.key.clone(),
            effect,
            source: source.to_owned(),
        };
        if let Some(known) = self.changes.get(&change.version) {
            if !known.is_same_change(&change) {
                let first = known.clone();
                self.reuses.push(Reuse {
                    first,
                    second: change,
                });
            }
            return;
        }
        let versions = self.by_key.entry(change.key.clone()).or_default();
        versions.insert(change.version);
        if let Some(token) = change.state().and_then(|state| state.token) {
            let versions = self.by_token.entry(token).or_default();
            versions.insert(change.version);
        }
        self.changes.insert(change.version, change);
    }
}

impl Change {
    /// The state it left; `None` when it deleted the object.
    pub fn state(&self) -> Option<&ObjectVersion> {
        match &self.effect {
            Effect::Put(state) => Some(state),
            Effect::Delete { .. } => None,
        }
    }

    /// Whether both are the work of one write. What else may differ is the readers' fault.
    fn is_same_change(&self, other: &Self) -> bool {
        let same_effect = match (&self.effect, &other.effect) {
            (Effect::Put(first), Effect::Put(second)) => first.token == second.token,
            (Effect::Delete { uid: first }, Effect::Delete { uid: second }) => first == second,
            (Effect::Put(_), Effect::Delete { .. }) | (Effect::Delete { .. }, Effect::Put(_)) => {
                false
            }
        };
        self.key == other.key && same_effect
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.effect {
            Effect::Put(state) => write!(formatter, "{state}, as told by {}", self.source),
            Effect::Delete { .. } => write!(
                formatter,
                "the end of {} @{}, as told by {}",
                self.key, self.version, self.source
            ),
        }
    }
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            event_type,
            version,
            object,
        } = self;
        write!(formatter, "{event_type} {} @{version}", object.key)
    }
}

#[cfg(test)]
mod tests;
