//! A store beside a model that cannot be wrong, through the same random history.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::script::{follow, newest, read_newest};
use crate::{
    Change, Commit, CommitError, Condition, Entry, Key, KeyRange, Operation, Page, Put, Read,
    ReadError, Revision, Store, Write, random::Random,
};

const STEPS: usize = 200;
const KEYS: u64 = 12;

/// Whatever is done, the store answers as the model does, now and for every kept revision.
pub async fn a_random_history_equals_the_model(store: &impl Store, seed: u64) {
    let start = newest(store).await;
    let compacted = store.compact(start).await;
    compacted.expect("the store can be compacted");
    let mut model = Model::starting_at(start);
    let mut random = Random::new(seed);
    for step in 0..STEPS {
        if random.once_in(60) {
            let before = model.any_revision(&mut random);
            let compacted = store.compact(before).await;
            compacted.expect("the store can be compacted");
            model.compact(before);
        }
        let commit = random_commit(&mut random, &model);
        let expected = model.commit(&commit);
        let actual = store.commit(commit).await;
        assert_eq!(actual, expected, "seed {seed}, step {step}");
        let read = random_read(&mut random, &model);
        let expected = model.read(&read);
        let actual = store.read(read.clone()).await;
        assert_eq!(actual, expected, "seed {seed}, step {step}: {read:?}");
    }
    model.compare_changes(store, &mut random).await;
}

/// Every state there ever was, in full.
///
/// Crash tests and simulations compare with it as well.
#[derive(Clone, Debug)]
pub struct Model {
    floor: Revision,
    states: BTreeMap<Revision, BTreeMap<Key, Entry>>,
    changes: Vec<Change>,
}

impl Model {
    /// The model of an empty store at this revision.
    pub fn starting_at(revision: Revision) -> Self {
        Self {
            floor: revision,
            states: BTreeMap::from([(revision, BTreeMap::new())]),
            changes: Vec::new(),
        }
    }

    /// The newest revision.
    pub fn newest(&self) -> Revision {
        let (revision, _) = self
            .states
            .last_key_value()
            .expect("there is a first state");
        *revision
    }

    /// What [`Store::commit`] must answer.
    pub fn commit(&mut self, commit: &Commit) -> Result<Revision, CommitError> {
        let state = &self.states[&self.newest()];
        for (key, condition) in commit.conditions() {
            let current = state.get(key);
            if !condition.holds(current.map(|entry| entry.revision)) {
                let (key, current) = (key.clone(), current.cloned());
                return Err(CommitError::Conflict { key, current });
            }
        }
        let (revision, mut state) = (self.newest().next(), state.clone());
        let written = self.changes.len();
        for operation in &commit.operations {
            self.changes.extend(write(&mut state, operation, revision));
        }
        if self.changes.len() > written {
            self.states.insert(revision, state);
        }
        Ok(self.newest())
    }

    /// What [`Store::read`] must answer.
    pub fn read(&self, read: &Read) -> Result<Page, ReadError> {
        let (oldest, newest) = (self.floor, self.newest());
        let requested = read.at.unwrap_or(newest);
        if requested > newest {
            return Err(ReadError::Future { requested, newest });
        }
        if requested < oldest {
            return Err(ReadError::Compacted { requested, oldest });
        }
        let entries = self.states[&requested].values();
        let mut entries: Vec<_> = entries
            .filter(|entry| read.range.contains(&entry.key))
            .cloned()
            .collect();
        let limit = read.limit.unwrap_or(entries.len()).min(entries.len());
        let remaining = entries.split_off(limit).len();
        Ok(Page {
            revision: requested,
            entries,
            remaining,
        })
    }

    /// What [`Store::compact`] does.
    pub fn compact(&mut self, before: Revision) {
        self.floor = self.floor.max(before.min(self.newest()));
    }

    /// The changes after a revision.
    pub fn changes_after(&self, after: Revision) -> Vec<Change> {
        let later = self.changes.iter().filter(|change| change.revision > after);
        later.cloned().collect()
    }

    fn any_revision(&self, random: &mut Random) -> Revision {
        let (floor, newest) = (self.floor.get(), self.newest().get());
        Revision::new(floor + random.below(newest - floor + 1))
    }

    /// Compares the newest state and all changes, from the floor and from a few places after it.
    pub async fn compare(&self, store: &impl Store) {
        let page = read_newest(store).await;
        assert_eq!(Ok(page), self.read(&Read::newest(KeyRange::all())));
        self.compare_changes(store, &mut Random::new(0)).await;
    }

    async fn compare_changes(&self, store: &impl Store, random: &mut Random) {
        let newest = self.newest();
        let mut places = vec![self.floor];
        places.extend((0..5).map(|_| self.any_revision(random)));
        for after in places.into_iter().filter(|after| *after < newest) {
            let actual = follow(store, after, newest).await;
            assert_eq!(actual, self.changes_after(after), "after {after}");
        }
    }
}

fn write(
    state: &mut BTreeMap<Key, Entry>,
    operation: &Operation,
    revision: Revision,
) -> Option<Change> {
    let key = operation.key.clone();
    let (value, previous) = match &operation.write {
        Write::Delete => (None, Some(state.remove(&key)?)),
        Write::Put(put) => {
            let entry = Entry {
                key: key.clone(),
                revision,
                value: put.value.clone(),
            };
            let previous = state.insert(key.clone(), entry);
            (Some(put.value.clone()), previous)
        }
    };
    Some(Change {
        revision,
        key,
        value,
        previous,
    })
}

fn random_commit(random: &mut Random, model: &Model) -> Commit {
    let mut operations = BTreeMap::new();
    let count = if random.once_in(4) {
        random.below(5) + 1
    } else {
        1
    };
    for _ in 0..count {
        let key = random_key(random);
        let operation = Operation {
            condition: random_condition(random, model, &key),
            write: random_write(random),
            key: key.clone(),
        };
        operations.insert(key, operation);
    }
    let required = random_key(random);
    let is_free = !operations.contains_key(&required);
    let commit = Commit::together(operations.into_values().collect());
    if is_free && random.once_in(3) {
        let condition = random_condition(random, model, &required);
        return commit.requiring(required, condition);
    }
    commit
}

fn random_condition(random: &mut Random, model: &Model, key: &Key) -> Condition {
    let current = model.states[&model.newest()].get(key);
    match (random.below(4), current) {
        (0, _) => Condition::Absent,
        (1, Some(entry)) => Condition::Unchanged(entry.revision),
        (2, _) => Condition::Unchanged(model.any_revision(random)),
        _ => Condition::Any,
    }
}

fn random_write(random: &mut Random) -> Write {
    if random.once_in(3) {
        return Write::Delete;
    }
    let length = random.below(40) as usize;
    let letter = b'a' + random.below(26) as u8;
    Write::Put(Put {
        value: Bytes::from(vec![letter; length]),
        lifetime: None,
    })
}

fn random_read(random: &mut Random, model: &Model) -> Read {
    let range = match random.below(3) {
        0 => KeyRange::all(),
        1 => KeyRange::single(random_key(random)),
        _ => KeyRange::all().starting_at(random_key(random)),
    };
    let at = match random.below(4) {
        0 => None,
        1 => Some(Revision::new(random.below(model.newest().get() + 3))),
        _ => Some(model.any_revision(random)),
    };
    let limit = random.once_in(2).then(|| random.below(KEYS) as usize);
    Read { range, at, limit }
}

fn random_key(random: &mut Random) -> Key {
    Key::new(format!("/{}/{}", random.below(3), random.below(KEYS / 3)))
}
