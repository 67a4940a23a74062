//! The state that the writer changes, and what one delta does to it.

use std::sync::Arc;

use super::{
    Change, Snapshot, index::IndexWriter, labels::LabelIndexWriter, objects::Objects,
    postings::Numbers, snapshot::State,
};
use crate::{Deleted, Deletion, Delta, FinalState, Object, ObjectKey, Replacement, Version};

/// The cache as its writer sees it.
pub(super) struct WorkingState<T> {
    objects: Objects<T>,
    numbers: Numbers,
    labels: LabelIndexWriter,
    indexes: Vec<Box<dyn IndexWriter<T>>>,
    version: Option<Version>,
}

impl<T> WorkingState<T> {
    /// No objects, no indexes but that of the labels.
    pub(super) fn new() -> Self {
        Self {
            objects: Objects::new(),
            numbers: Numbers::default(),
            labels: LabelIndexWriter::new(),
            indexes: Vec::new(),
            version: None,
        }
    }

    /// The state as it is now, to read.
    pub(super) fn snapshot(&self) -> Snapshot<T> {
        Snapshot::new(State {
            objects: self.objects.clone(),
            labels: self.labels.publish(),
            indexes: self.indexes.iter().map(|index| index.publish()).collect(),
            version: self.version.clone(),
        })
    }

    /// Adds an index that was made from an earlier state of this cache.
    pub(super) fn add_index(&mut self, mut index: Box<dyn IndexWriter<T>>, made_from: &Objects<T>) {
        for slot in self.objects.changed_slots(made_from) {
            let (old, new) = (made_from.at(slot), self.objects.at(slot));
            index.replace(slot, old.map(AsRef::as_ref), new.map(AsRef::as_ref));
        }
        self.indexes.push(index);
    }

    /// Applies one delta.
    pub(super) fn apply(&mut self, delta: Delta<T>) -> Change<T> {
        match delta {
            Delta::Added(object) | Delta::Updated(object) => {
                self.advance(&object.version);
                self.put(object)
            }
            Delta::Deleted(deletion) => {
                self.advance(&deletion.version);
                Change::Deleted(self.delete(deletion))
            }
            Delta::Replaced(replacement) => {
                let before = self.snapshot();
                self.replace_all(replacement);
                let after = self.snapshot();
                Change::Replaced { before, after }
            }
            Delta::Resync => Change::Resync(self.snapshot()),
            Delta::Bookmark(version) => {
                self.advance(&version);
                Change::Bookmark(version)
            }
        }
    }

    /// Moves the version on, never back. Versions that cannot be compared come in their order.
    fn advance(&mut self, version: &Version) {
        let reached = self
            .version
            .as_ref()
            .is_some_and(|now| now.reaches(version));
        if !reached {
            self.version = Some(version.clone());
        }
    }

    /// Takes what a watch told. The state that is known already stays as it is.
    fn put(&mut self, object: Arc<Object<T>>) -> Change<T> {
        let slot = self.objects.find(object.key.as_str());
        let known = slot.and_then(|slot| self.objects.at(slot));
        match known {
            Some(known) if is_same_state(known, &object) => Change::Updated {
                old: Arc::clone(known),
                new: Arc::clone(known),
            },
            Some(_) | None => self.set(slot, object),
        }
    }

    /// Puts an object into the slot of its key, or into a new one.
    fn set(&mut self, slot: Option<u32>, object: Arc<Object<T>>) -> Change<T> {
        match slot {
            Some(slot) => {
                let old = self.objects.replace(slot, Arc::clone(&object));
                let old = old.expect("a slot that was found holds an object");
                self.index(slot, Some(&old), Some(&object));
                Change::Updated { old, new: object }
            }
            None => {
                let slot = self.numbers.take();
                self.objects.add(slot, Arc::clone(&object));
                self.index(slot, None, Some(&object));
                Change::Added(object)
            }
        }
    }

    fn delete(&mut self, deletion: Deletion<T>) -> Deleted<T> {
        let known = self.take(&deletion.key);
        let final_state = match deletion.last {
            Some(_) => FinalState::Known,
            None => FinalState::Unknown,
        };
        Deleted {
            key: deletion.key,
            last: deletion.last.or(known),
            final_state,
        }
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<Object<T>>> {
        let slot = self.objects.find(key.as_str())?;
        self.take_slot(slot)
    }

    fn take_slot(&mut self, slot: u32) -> Option<Arc<Object<T>>> {
        let object = self.objects.remove(slot)?;
        self.index(slot, Some(&object), None);
        self.numbers.give_back(slot);
        Some(object)
    }

    fn replace_all(&mut self, replacement: Replacement<T>) {
        self.version = replacement.version;
        if self.objects.len() == 0 {
            self.fill(replacement.objects);
            return;
        }
        let mut gone = self.objects.slots_where(|_| true);
        let kept = replacement.set_aside.iter();
        for slot in kept.filter_map(|key| self.objects.find(key.as_str())) {
            gone.remove(slot);
        }
        for object in replacement.objects {
            let slot = self.objects.find(object.key.as_str());
            let known = slot.and_then(|slot| self.objects.at(slot));
            if !known.is_some_and(|known| is_same_state(known, &object)) {
                self.set(slot, object);
            }
            if let Some(slot) = slot {
                gone.remove(slot);
            }
        }
        for slot in gone.iter() {
            self.take_slot(slot);
        }
    }

    /// Takes a whole list into an empty cache. Of objects with one key the last counts.
    fn fill(&mut self, mut objects: Vec<Arc<Object<T>>>) {
        objects.reverse();
        objects.sort_by(|left, right| left.key.cmp(&right.key));
        objects.dedup_by(|left, right| left.key == right.key);
        self.objects = Objects::new();
        self.numbers = Numbers::default();
        self.objects.fill(objects, &mut self.numbers);
        let filled = self.objects.clone();
        for slot in filled.ordered_slots() {
            self.index(slot, None, filled.at(slot));
        }
    }

    fn index(&mut self, slot: u32, old: Option<&Arc<Object<T>>>, new: Option<&Arc<Object<T>>>) {
        let (old, new) = (old.map(AsRef::as_ref), new.map(AsRef::as_ref));
        let old_labels = old.map(|object| &object.labels);
        let new_labels = new.map(|object| &object.labels);
        self.labels.replace(slot, old_labels, new_labels);
        for index in &mut self.indexes {
            index.replace(slot, old, new);
        }
    }
}

/// Whether the two are one state of one object, so that the first may stand for both.
fn is_same_state<T>(known: &Object<T>, object: &Object<T>) -> bool {
    known.version == object.version && known.uid == object.uid
}
