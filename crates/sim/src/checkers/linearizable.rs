//! linearizable: writes and consistent reads of one object happen one after the other, each at a
//! point between its request and its answer, in the order of versions. [`order`] finds the points
//! of reads, [`authors`] finds who made each change.

mod authors;
mod order;

use std::{collections::BTreeMap, fmt};

use listwatch_api::ResourceVersion;

use self::order::Order;
use super::{Case, Checker, Violation};
use crate::{
    history::{
        Freshness, List, ListEnd, Moment, ObjectKey, ObjectVersion, Read, Refusal, Write,
        WriteOutcome, WriteRequest,
    },
    model::Change,
    selection::Selection,
};

pub(super) const CHECKER: Checker = Checker {
    name: "linearizable",
    promise: "Writes and consistent reads of one object happen one after the other, each between \
              its request and its answer, in the order of resourceVersions.",
    check,
};

fn check(case: &Case<'_>) -> Vec<Violation> {
    let mut lives: BTreeMap<&ObjectKey, Life<'_>> = BTreeMap::new();
    for key in case.model.keys() {
        lives.entry(key).or_default().changes = case.model.changes_of(key).collect();
    }
    for read in case.history.reads.iter().enumerate() {
        let life = lives.entry(&read.1.key).or_default();
        life.operations.push(Operation::read(read));
    }
    for write in case.history.writes.iter().enumerate() {
        let life = lives.entry(&write.1.key).or_default();
        life.operations.extend(Operation::refused_write(write));
        life.writes.push(write);
    }
    for list in consistent_lists(case) {
        let items: BTreeMap<_, _> = list.1.items().map(|item| (&item.key, item)).collect();
        for (key, life) in &mut lives {
            let item = items.get(*key).copied();
            life.operations.extend(Operation::listed(list, key, item));
        }
    }
    let mut violations = Vec::new();
    for mut life in lives.into_values() {
        violations.extend(authors::attribute(&mut life));
        violations.extend(Order::find(life));
    }
    violations
}

fn consistent_lists<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (usize, &'a List)> {
    let lists = case.history.lists.iter().enumerate();
    lists.filter(|(_, list)| list.freshness == Freshness::MostRecent && list.at().is_some())
}

/// All changes of one object, and all that was asked of it.
#[derive(Default)]
struct Life<'a> {
    changes: Vec<&'a Change>,
    writes: Vec<Numbered<'a>>,
    operations: Vec<Operation<'a>>,
}

/// A write and its place in the history.
type Numbered<'a> = (usize, &'a Write);

/// Something that was asked, and what the answer claims.
struct Operation<'a> {
    source: Source<'a>,
    began: Moment,
    /// When it was over; `None` if it may have happened at any later time.
    ended: Option<Moment>,
    claim: Claim<'a>,
}

/// Where an operation stands in the history.
#[derive(Clone, Copy)]
enum Source<'a> {
    Write(usize, &'a Write),
    Read(usize, &'a Read),
    List(usize, &'a List),
}

/// What an operation says of the object at its point.
#[derive(Clone, Copy)]
enum Claim<'a> {
    /// It made the change of this number, counted from 1.
    Made(usize),
    /// The object had just this state.
    Was(&'a ObjectVersion),
    /// There was no object.
    Absent,
    /// There was an object.
    Present,
    /// The object was not at this version.
    NotAt(ResourceVersion),
    /// There was no object that this selects.
    Unselected(&'a Selection),
}

impl<'a> Life<'a> {
    /// The state once so many changes had happened.
    fn state_after(&self, changes: usize) -> Option<&'a ObjectVersion> {
        let last = changes.checked_sub(1)?;
        self.changes[last].state()
    }
}

impl<'a> Operation<'a> {
    fn read((number, read): (usize, &'a Read)) -> Self {
        Self {
            source: Source::Read(number, read),
            began: read.began,
            ended: Some(read.ended),
            claim: read.seen.as_ref().map_or(Claim::Absent, Claim::Was),
        }
    }

    /// What a refusal says of the object; nothing where the server only had no time.
    fn refused_write((number, write): Numbered<'a>) -> Option<Self> {
        let WriteOutcome::Refused(refusal) = &write.outcome else {
            return None;
        };
        let claim = match (refusal, write.request) {
            (Refusal::NotFound, _) => Claim::Absent,
            (Refusal::AlreadyExists, _) => Claim::Present,
            (
                Refusal::Conflict,
                WriteRequest::Update { against }
                | WriteRequest::Delete {
                    against: Some(against),
                },
            ) => Claim::NotAt(against),
            (Refusal::Conflict | Refusal::Busy | Refusal::Other(_), _) => return None,
        };
        Some(Self {
            source: Source::Write(number, write),
            began: write.began,
            ended: Some(write.ended),
            claim,
        })
    }

    /// What a list says of one object; nothing where it ended before it came to it.
    fn listed(
        (number, list): (usize, &'a List),
        key: &ObjectKey,
        item: Option<&'a ObjectVersion>,
    ) -> Option<Self> {
        let claim = match item {
            Some(item) => Claim::Was(item),
            None if list.end == ListEnd::Complete && may_select(&list.selection, key) => {
                Claim::Unselected(&list.selection)
            }
            None => return None,
        };
        Some(Self {
            source: Source::List(number, list),
            began: list.began,
            ended: Some(list.ended),
            claim,
        })
    }
}

fn may_select(selection: &Selection, key: &ObjectKey) -> bool {
    let namespace = selection.namespace.as_ref();
    namespace.is_none_or(|namespace| *namespace == key.namespace)
}

impl Claim<'_> {
    /// Whether it is true of a state.
    fn holds(self, state: Option<&ObjectVersion>) -> bool {
        match self {
            Self::Made(_) => false,
            Self::Was(seen) => state == Some(seen),
            Self::Absent => state.is_none(),
            Self::Present => state.is_some(),
            Self::NotAt(version) => state.is_none_or(|state| state.version != version),
            Self::Unselected(selection) => state.is_none_or(|state| !selection.matches(state)),
        }
    }
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment(began) = self.began;
        match self.source {
            Source::Write(number, write) => {
                let Write { key, answerer, .. } = write;
                write!(formatter, "write {number} of {key} by {answerer}")?;
            }
            Source::Read(number, read) => {
                let Read { key, answerer, .. } = read;
                write!(formatter, "read {number} of {key} by {answerer}")?;
            }
            Source::List(number, list) => {
                write!(formatter, "list {number} by {}", list.answerers())?;
            }
        }
        match self.ended {
            Some(Moment(ended)) => write!(formatter, " (moments {began} to {ended})"),
            None => write!(formatter, " (from moment {began})"),
        }
    }
}

impl fmt::Display for Claim<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made(number) => write!(formatter, "change {number} of the object"),
            Self::Was(seen) => write!(formatter, "{seen}"),
            Self::Absent => formatter.write_str("no object"),
            Self::Present => formatter.write_str("an object"),
            Self::NotAt(version) => write!(formatter, "not @{version}"),
            Self::Unselected(selection) => write!(formatter, "nothing for {selection}"),
        }
    }
}

#[cfg(test)]
mod tests;
