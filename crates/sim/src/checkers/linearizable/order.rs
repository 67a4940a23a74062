//! Finds a point for every operation on one object, or shows that there is none.
//!
//! Versions give the order of changes, so change `i` stands at point `2i`, and what is read after
//! it and before the next at `2i + 1`. What had ended before something else began must not stand
//! after it. If two choices of points are right, so is the lower of both for each operation: hence
//! there is a lowest choice, and taking the first point that fits, in order of beginning, finds it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use listwatch_api::ResourceVersion;

use super::{Claim, Life, Operation, Violation};
use crate::history::Moment;

/// A place in the order of one object's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point(usize);

/// The operations of one object that have their point.
pub(super) struct Order<'a> {
    life: Life<'a>,
    numbers: BTreeMap<ResourceVersion, usize>,
    /// Points by the end of their operation, the earliest end first.
    under_way: BinaryHeap<Reverse<(Moment, Point, usize)>>,
    /// The highest point of what has ended, and whose that is.
    floor: Option<(Point, usize)>,
}

impl<'a> Order<'a> {
    /// What cannot be put in order.
    pub(super) fn find(mut life: Life<'a>) -> Vec<Violation> {
        life.operations.sort_by_key(|operation| operation.began);
        let versions = life.changes.iter().map(|change| change.version);
        let mut order = Self {
            numbers: versions.zip(1..).collect(),
            under_way: BinaryHeap::new(),
            floor: None,
            life,
        };
        let operations = 0..order.life.operations.len();
        operations.filter_map(|index| order.place(index)).collect()
    }

    /// Gives an operation its point; what is wrong if there is none.
    fn place(&mut self, index: usize) -> Option<Violation> {
        let operation = &self.life.operations[index];
        let (began, ended) = (operation.began, operation.ended);
        self.raise_floor(began);
        let operation = &self.life.operations[index];
        let floor = self.floor.map_or(Point(0), |(floor, _)| floor);
        match self.first_point(operation.claim, floor) {
            Some(point) if point >= floor => {
                let under_way = ended.map(|ended| Reverse((ended, point, index)));
                self.under_way.extend(under_way);
                None
            }
            Some(_) | None => Some(self.violation(operation)),
        }
    }

    /// What ended before this moment binds what begins now.
    fn raise_floor(&mut self, began: Moment) {
        while let Some(Reverse((ended, point, index))) = self.under_way.peek().copied() {
            if ended >= began {
                return;
            }
            self.under_way.pop();
            if self.floor.is_none_or(|(floor, _)| point > floor) {
                self.floor = Some((point, index));
            }
        }
    }

    /// The first point not before `floor` at which the claim is true; where it can be true at one
    /// point only, that one.
    fn first_point(&self, claim: Claim<'_>, floor: Point) -> Option<Point> {
        match claim {
            Claim::Made(number) => Some(Point(2 * number)),
            Claim::Was(seen) => {
                let number = *self.numbers.get(&seen.version)?;
                let true_then = claim.holds(self.life.state_after(number));
                true_then.then_some(Point(2 * number + 1))
            }
            Claim::Absent | Claim::Present | Claim::NotAt(_) | Claim::Unselected(_) => {
                let mut numbers = floor.0 / 2..=self.life.changes.len();
                let number = numbers.find(|number| claim.holds(self.life.state_after(*number)));
                number.map(|number| Point(2 * number + 1))
            }
        }
    }

    fn violation(&self, operation: &Operation<'_>) -> Violation {
        let expected = match self.floor {
            Some((Point(floor), before)) => {
                let before = &self.life.operations[before];
                let claim = before.claim;
                let changes = floor / 2;
                let after = self.life.changes.get(changes.wrapping_sub(1));
                let version = after.map_or(ResourceVersion::new(0), |change| change.version);
                format!(
                    "a point not before @{version}, since {before} had ended before it began: \
                     {claim}"
                )
            }
            None => "a state that there was".to_owned(),
        };
        let seen = match operation.claim {
            Claim::Made(number) => self.life.changes[number - 1].to_string(),
            claim => claim.to_string(),
        };
        Violation::new(operation, expected, seen)
    }
}
