//! All the owners of an object's fields.

use std::{cmp::Ordering, collections::BTreeMap};

use bytes::Bytes;
use jiff::Timestamp;
use listwatch_api::{
    field_set::{Comparison, FieldSet},
    object::Elements,
};
use serde_json::Value;

use super::{
    entry::{Entry, Manager, Operation},
    fields::Fields,
};

/// Entries of one object that come from changes. The oldest of more are thrown together.
const UPDATE_ENTRIES_MAX: usize = 10;

/// Bytes of a name that no rule finds too long.
const PLAIN_NAME_BYTES_MAX: usize = 128;

/// Bytes that most ledgers fit into.
const TEXT_BYTES: usize = 2048;

/// The owner of what the oldest of too many entries had.
const ANCIENT: &str = "ancient-changes";

/// All the owners of an object's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(super) entries: Vec<Entry>,
}

impl Ledger {
    /// Reads `metadata.managedFields` as this server wrote it.
    pub(super) fn decode_stored(text: &[u8]) -> Self {
        let text = std::str::from_utf8(text).unwrap_or_default();
        let read: Option<Vec<Entry>> = Elements::of(text).map(Entry::decode_stored).collect();
        Self {
            entries: read.unwrap_or_default(),
        }
    }

    /// Reads `metadata.managedFields` as a client sent it; `None` when it breaks the rules.
    pub(super) fn decode(entries: &Value) -> Option<Self> {
        let mut ledger = Self::default();
        for entry in entries.as_array()? {
            ledger.put(Entry::decode(entry)?);
        }
        Some(ledger)
    }

    /// Writes `metadata.managedFields`, those who apply first, then by age; `None` for no owners.
    pub(super) fn encode(&self) -> Option<Bytes> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by(|one, other| in_order(one, other));
        let mut text = Vec::with_capacity(TEXT_BYTES);
        for entry in entries {
            text.push(if text.is_empty() { b'[' } else { b',' });
            entry.append(&mut text);
        }
        text.push(b']');
        (!self.is_empty()).then(|| text.into())
    }

    /// Whether the names of all managers are such that no rule could be broken by them.
    pub(super) fn is_plainly_named(&self) -> bool {
        let is_plain = |name: &str| {
            let is_printable = |byte: u8| (b' '..=b'~').contains(&byte);
            name.len() <= PLAIN_NAME_BYTES_MAX && name.bytes().all(is_printable)
        };
        self.entries.iter().all(|Entry { manager, .. }| {
            is_plain(&manager.name) && manager.subresource.as_deref().is_none_or(is_plain)
        })
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

    /// Takes what changed from its owners. The writer loses only what is gone, since it owns the
    /// rest afterwards. `changes` says what changed, as a version shows it; what is owned in a
    /// version that is not served any more is forgotten.
    pub(super) fn take_away(
        &mut self,
        writer: &Manager,
        mut changes: impl FnMut(&str) -> Option<Comparison>,
    ) {
        let mut by_version: BTreeMap<String, Option<Comparison>> = BTreeMap::new();
        for entry in &mut self.entries {
            let version = &entry.manager.api_version;
            if !by_version.contains_key(version) {
                by_version.insert(version.clone(), changes(version));
            }
            let Some(Some(changed)) = by_version.get(version) else {
                entry.fields = Fields::Read(FieldSet::default());
                continue;
            };
            entry.fields.remove(&changed.removed);
            if !entry.manager.is(writer) {
                entry.fields.remove(&changed.added);
                entry.fields.remove(&changed.modified);
            }
        }
        self.entries.retain(|entry| !entry.fields.is_empty());
    }

    /// Gives fields to a manager, beside what it has.
    pub(super) fn give(&mut self, manager: Manager, fields: FieldSet, time: Option<Timestamp>) {
        match self.find_mut(&manager) {
            Some(entry) => {
                entry.fields.add(fields);
                entry.time = time;
            }
            None => self.entries.push(Entry {
                manager,
                time,
                fields: Fields::Read(fields),
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
                    bucket.fields.add(entry.fields.as_set().into_owned());
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
                known.fields.add(entry.fields.as_set().into_owned());
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
