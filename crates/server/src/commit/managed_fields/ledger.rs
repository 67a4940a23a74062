//! All the owners of an object's fields.

use std::{cmp::Ordering, collections::BTreeMap};

use jiff::Timestamp;
use listwatch_api::field_set::{Comparison, FieldSet};
use serde_json::Value;

use super::entry::{Entry, Manager, Operation};

/// Entries of one object that come from changes. The oldest of more are thrown together.
const UPDATE_ENTRIES_MAX: usize = 10;

/// The owner of what the oldest of too many entries had.
const ANCIENT: &str = "ancient-changes";

/// All the owners of an object's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(super) entries: Vec<Entry>,
}

impl Ledger {
    /// Reads `metadata.managedFields`; `None` when it breaks the rules.
    pub(super) fn decode(entries: &Value) -> Option<Self> {
        let mut ledger = Self::default();
        for entry in entries.as_array()? {
            ledger.put(Entry::decode(entry)?);
        }
        Some(ledger)
    }

    /// Writes `metadata.managedFields`, those who apply first, then by age; `None` for no owners.
    pub(super) fn encode(&self) -> Option<Value> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by(|one, other| in_order(one, other));
        let entries: Vec<Value> = entries.into_iter().map(Entry::encode).collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the same managers own the same fields.
    pub(super) fn equals_but_for_times(&self, other: &Self) -> bool {
        let has_same = |entry: &Entry| {
            let mut entries = other.entries.iter();
            entries.any(|it| it.manager == entry.manager && it.fields == entry.fields)
        };
        self.entries.len() == other.entries.len() && self.entries.iter().all(has_same)
    }

    /// Takes what changed from its owners. `changes` says what changed, as a version shows it;
    /// what is owned in a version that is not served any more is forgotten.
    pub(super) fn take_away(&mut self, mut changes: impl FnMut(&str) -> Option<Comparison>) {
        let mut by_version: BTreeMap<String, Option<FieldSet>> = BTreeMap::new();
        for entry in &mut self.entries {
            let version = &entry.manager.api_version;
            let changed = by_version.entry(version.clone()).or_insert_with(|| {
                let Comparison {
                    added,
                    modified,
                    removed,
                } = changes(version)?;
                Some(added.union(modified).union(removed))
            });
            let fields = std::mem::take(&mut entry.fields);
            if let Some(changed) = changed {
                entry.fields = fields.difference(changed);
            }
        }
        self.entries.retain(|entry| !entry.fields.is_empty());
    }

    /// Gives fields to a manager, beside what it has.
    pub(super) fn give(&mut self, manager: Manager, fields: FieldSet, time: Option<Timestamp>) {
        match self.find_mut(&manager) {
            Some(entry) => {
                entry.fields = std::mem::take(&mut entry.fields).union(fields);
                entry.time = time;
            }
            None => self.entries.push(Entry {
                manager,
                time,
                fields,
            }),
        }
    }

    /// The entry of a manager.
    pub(super) fn find_mut(&mut self, manager: &Manager) -> Option<&mut Entry> {
        self.entries
            .iter_mut()
            .find(|entry| entry.manager.is(manager))
    }

    /// Takes the entry of a manager out.
    pub(super) fn take(&mut self, manager: &Manager) -> Option<Entry> {
        let mut entries = self.entries.iter();
        let place = entries.position(|entry| entry.manager.is(manager))?;
        Some(self.entries.remove(place))
    }

    /// Throws the oldest changes together when there are too many of them.
    pub(super) fn cap(&mut self) {
        let is_update = |entry: &Entry| entry.manager.operation == Operation::Update;
        let updates = self.entries.iter().filter(|entry| is_update(entry)).count();
        let mut surplus = updates.saturating_sub(UPDATE_ENTRIES_MAX);
        if surplus == 0 {
            return;
        }
        let (mut updates, others) = std::mem::take(&mut self.entries)
            .into_iter()
            .partition::<Vec<_>, _>(is_update);
        updates.sort_by(in_order);
        let mut oldest: BTreeMap<String, Entry> = BTreeMap::new();
        let mut kept = others;
        for entry in updates {
            let version = &entry.manager.api_version;
            match oldest.get_mut(version) {
                _ if surplus == 0 => kept.push(entry),
                None => drop(oldest.insert(version.clone(), entry)),
                Some(bucket) => {
                    bucket.manager.name = ANCIENT.to_owned();
                    bucket.manager.subresource = None;
                    bucket.time = entry.time;
                    bucket.fields = std::mem::take(&mut bucket.fields).union(entry.fields);
                    surplus -= 1;
                }
            }
        }
        kept.into_iter()
            .chain(oldest.into_values())
            .for_each(|entry| self.put(entry));
    }

    /// Adds an entry; two of one manager become one.
    fn put(&mut self, entry: Entry) {
        match self.find_mut(&entry.manager) {
            Some(known) => {
                known.fields = std::mem::take(&mut known.fields).union(entry.fields);
                known.time = known.time.max(entry.time);
            }
            None => self.entries.push(entry),
        }
    }
}

fn in_order(one: &Entry, other: &Entry) -> Ordering {
    let rank = |entry: &Entry| (entry.manager.operation, entry.second());
    let (ours, theirs) = (&one.manager, &other.manager);
    rank(one)
        .cmp(&rank(other))
        .then_with(|| ours.name.cmp(&theirs.name))
        .then_with(|| ours.api_version.cmp(&theirs.api_version))
        .then_with(|| ours.subresource.cmp(&theirs.subresource))
}
