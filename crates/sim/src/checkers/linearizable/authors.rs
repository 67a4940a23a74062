//! Finds the write behind each change of one object, and whether it was allowed to make it.
//!
//! Content tells which write made it. A deletion belongs to the delete that was told so; of those
//! that got no answer each may have made one that nobody else made. They are given out in order of
//! beginning to deletions in order of version: if any way to give them out is right, this one is.

use std::collections::{BTreeMap, BTreeSet};

use super::{Claim, Life, Numbered, Operation, Source, Violation};
use crate::{
    history::{ObjectVersion, Token, Write, WriteOutcome, WriteRequest},
    model::{Change, Effect},
};

/// Adds the writes that made the object's changes to its life, and tells what is wrong with them.
pub(super) fn attribute(life: &mut Life<'_>) -> Vec<Violation> {
    let mut authors = Authors::of(&life.writes);
    let mut violations = Vec::new();
    for (index, change) in life.changes.iter().enumerate() {
        let before = life.state_after(index);
        let (number, write) = match authors.of_change(change, before) {
            Ok(author) => author,
            Err(violation) => {
                violations.push(violation);
                continue;
            }
        };
        violations.extend(wrongly_made((number, write), change, before));
        let unknown = matches!(write.outcome, WriteOutcome::Unknown);
        life.operations.push(Operation {
            source: Source::Write(number, write),
            began: write.began,
            ended: (!unknown).then_some(write.ended),
            claim: Claim::Made(index + 1),
        });
    }
    violations
}

/// The writes to one object that may have made its changes.
struct Authors<'a> {
    by_token: BTreeMap<Token, Numbered<'a>>,
    /// By the uid of what they deleted.
    deletes: BTreeMap<&'a str, Numbered<'a>>,
    /// Without an answer, in order of beginning.
    unknown_deletes: Vec<Numbered<'a>>,
    used: BTreeSet<usize>,
}

impl<'a> Authors<'a> {
    fn of(writes: &[Numbered<'a>]) -> Self {
        let mut authors = Self {
            by_token: BTreeMap::new(),
            deletes: BTreeMap::new(),
            unknown_deletes: Vec::new(),
            used: BTreeSet::new(),
        };
        for (number, write) in writes.iter().copied() {
            match (&write.outcome, write.request) {
                (WriteOutcome::Deleted { uid }, _) => {
                    authors.deletes.insert(uid, (number, write));
                }
                (WriteOutcome::Unknown, WriteRequest::Delete { .. }) => {
                    authors.unknown_deletes.push((number, write));
                }
                (_, WriteRequest::Delete { .. }) => {}
                _ => {
                    authors.by_token.insert(write.token, (number, write));
                }
            }
        }
        let began = |(_, write): &Numbered<'_>| write.began;
        authors.unknown_deletes.sort_by_key(began);
        authors
    }

    fn of_change(
        &mut self,
        change: &'a Change,
        before: Option<&ObjectVersion>,
    ) -> Result<Numbered<'a>, Violation> {
        match &change.effect {
            Effect::Put(state) => self.of_state(change, state),
            Effect::Delete { uid } => self
                .deletes
                .remove(uid.as_str())
                .or_else(|| self.unknown_delete(before))
                .ok_or_else(|| unexplained(change, "a delete that was sent, and not refused")),
        }
    }

    fn of_state(&self, change: &Change, state: &ObjectVersion) -> Result<Numbered<'a>, Violation> {
        let token = state.token.and_then(|token| self.by_token.get(&token));
        let Some((number, write)) = token.copied() else {
            return Err(unexplained(change, "a write that was sent"));
        };
        match &write.outcome {
            WriteOutcome::Stored(stored) if stored.version == change.version => Ok((number, write)),
            WriteOutcome::Unknown => Ok((number, write)),
            WriteOutcome::Stored(stored) => Err(unexplained(
                change,
                format_args!("write {number} to be at @{} only", stored.version),
            )),
            WriteOutcome::Deleted { .. } | WriteOutcome::Refused(_) => Err(unexplained(
                change,
                format_args!("write {number} to have changed nothing, for it was refused"),
            )),
        }
    }

    /// Those that name the version go first: they fit nowhere else.
    fn unknown_delete(&mut self, before: Option<&ObjectVersion>) -> Option<Numbered<'a>> {
        let version = before.map(|before| before.version);
        let free = |(number, _): &&Numbered<'_>| !self.used.contains(number);
        let against = |(_, write): &&Numbered<'_>| match write.request {
            WriteRequest::Delete { against } => against,
            _ => None,
        };
        let mut named = self.unknown_deletes.iter().filter(free);
        let named = named.find(|delete| version.is_some() && against(delete) == version);
        let mut unnamed = self.unknown_deletes.iter().filter(free);
        let found = named.or_else(|| unnamed.find(|delete| against(delete).is_none()));
        let found = found.copied()?;
        self.used.insert(found.0);
        Some(found)
    }
}

fn unexplained(change: &Change, expected: impl std::fmt::Display) -> Violation {
    let place = format_args!("the change of {} @{}", change.key, change.version);
    Violation::new(place, expected, change)
}

/// A write changes only a state that it was meant for.
fn wrongly_made(
    (number, write): Numbered<'_>,
    change: &Change,
    before: Option<&ObjectVersion>,
) -> Option<Violation> {
    let found = before.map(|state| state.version);
    let right = match write.request {
        WriteRequest::Create => found.is_none(),
        WriteRequest::Update { against }
        | WriteRequest::Delete {
            against: Some(against),
        } => found == Some(against),
        WriteRequest::Patch | WriteRequest::Delete { against: None } => found.is_some(),
    };
    (!right).then(|| {
        let Write { key, answerer, .. } = write;
        let place = format_args!("write {number} of {key} by {answerer}, {:?}", write.request);
        let before = before.map_or_else(|| "no object".to_owned(), ToString::to_string);
        let expected = "to find the object as it asked for";
        let seen = format_args!("it found {before} and made {change}");
        Violation::new(place, expected, seen)
    })
}
