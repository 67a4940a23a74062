//! The index that every cache has: from a label and its value to the objects that carry it.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use listwatch_api::selector::{LabelOperator, LabelSelector};

use super::{
    objects::Objects,
    postings::{Postings, PostingsWriter},
    slot_set::SlotSet,
};
use crate::{Labels, Object};

/// A label's name and its value.
type Label = (Box<str>, Box<str>);

/// Labels at one moment.
#[derive(Clone)]
pub(super) struct LabelIndex {
    postings: Arc<Postings<Label>>,
    hasher: RandomState,
}

/// Keeps the labels up to date.
pub(super) struct LabelIndexWriter {
    postings: PostingsWriter<Label>,
    hasher: RandomState,
}

impl LabelIndexWriter {
    /// No labels.
    pub(super) fn new() -> Self {
        Self {
            postings: PostingsWriter::new(),
            hasher: RandomState::new(),
        }
    }

    /// Puts the labels of `new` in the place of those of `old`, two states of one object.
    pub(super) fn replace(&mut self, slot: u32, old: Option<&Labels>, new: Option<&Labels>) {
        if old == new {
            return;
        }
        for (name, value) in old.into_iter().flat_map(Labels::iter) {
            if !has(new, name, value) {
                let hash = hash(&self.hasher, name, value);
                let is_it = |label: &Label| is(label, name, value);
                self.postings.remove(hash, slot, is_it);
            }
        }
        for (name, value) in new.into_iter().flat_map(Labels::iter) {
            if !has(old, name, value) {
                let hash = hash(&self.hasher, name, value);
                let is_it = |label: &Label| is(label, name, value);
                let make = || (name.into(), value.into());
                self.postings.insert_with(hash, slot, is_it, make);
            }
        }
    }

    /// The labels as they are now.
    pub(super) fn publish(&self) -> LabelIndex {
        LabelIndex {
            postings: self.postings.publish(),
            hasher: self.hasher.clone(),
        }
    }
}

impl LabelIndex {
    /// The slots of the objects that the selector selects.
    ///
    /// Conditions that name the values are answered by the index, beginning with the rarest. Only
    /// for the others, what is left of the objects is looked at.
    pub(super) fn select<T>(&self, selector: &LabelSelector, objects: &Objects<T>) -> SlotSet {
        let mut sets = Vec::new();
        let mut others = Vec::new();
        for requirement in selector.requirements() {
            match &requirement.operator {
                LabelOperator::In(values) => sets.push(self.any_of(&requirement.key, values)),
                LabelOperator::NotIn(_)
                | LabelOperator::Exists
                | LabelOperator::DoesNotExist
                | LabelOperator::GreaterThan(_)
                | LabelOperator::LessThan(_) => others.push(requirement),
            }
        }
        let fits = |object: &Object<T>| {
            let value = |key: &str| object.labels.get(key);
            others.iter().all(|other| other.matches(value(&other.key)))
        };
        sets.sort_by_key(SlotSet::len);
        let rarest = sets
            .into_iter()
            .reduce(|left, right| left.intersection(&right));
        match rarest {
            Some(slots) if others.is_empty() => slots,
            Some(slots) => {
                let slots = slots.iter();
                let fitting =
                    slots.filter(|slot| objects.at(*slot).is_some_and(|object| fits(object)));
                fitting.collect()
            }
            None => objects.slots_where(fits),
        }
    }

    fn any_of(&self, name: &str, values: &[String]) -> SlotSet {
        let sets = values.iter().filter_map(|value| self.lookup(name, value));
        let union = sets.cloned().reduce(|left, right| left.union(&right));
        union.unwrap_or_default()
    }

    fn lookup(&self, name: &str, value: &str) -> Option<&SlotSet> {
        let hash = hash(&self.hasher, name, value);
        self.postings.get(hash, |label| is(label, name, value))
    }
}

fn has(labels: Option<&Labels>, name: &str, value: &str) -> bool {
    let mut labels = labels.into_iter().flat_map(Labels::iter);
    labels.any(|label| label == (name, value))
}

fn hash(hasher: &RandomState, name: &str, value: &str) -> u32 {
    (hasher.hash_one((name, value)) >> 32) as u32
}

fn is(label: &Label, name: &str, value: &str) -> bool {
    (&*label.0, &*label.1) == (name, value)
}
