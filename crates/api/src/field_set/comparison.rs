//! What one state of an object has that another has not.

use serde_json::{Map, Value};

use super::{
    Branch, FieldSet, Step,
    ownership::{Elements, Ownership},
};
use crate::schema::{Schema, Shape, TypeId};

/// The fields in which two states of an object differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that only the later state has.
    pub added: FieldSet,
    /// Fields that both have, with different values.
    pub modified: FieldSet,
    /// Fields that only the earlier state has.
    pub removed: FieldSet,
}

impl Comparison {
    /// Compares two states of an object of this type.
    pub fn between(schema: &Schema, type_id: TypeId, earlier: &Value, later: &Value) -> Self {
        let shape = Shape::Object {
            type_id,
            atomic: false,
        };
        let walk = Walk { schema };
        let found = walk.value(&shape, Pair::Both(earlier, later));
        Self {
            added: found.added.below,
            modified: found.modified.below,
            removed: found.removed.below,
        }
    }

    /// Whether the states are the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Leaves out these fields and all below them.
    #[must_use]
    pub fn without(self, ignored: &FieldSet) -> Self {
        Self {
            added: self.added.difference_with_all_below(ignored),
            modified: self.modified.difference_with_all_below(ignored),
            removed: self.removed.difference_with_all_below(ignored),
        }
    }

    /// Leaves out these fields, but nothing below them.
    #[must_use]
    pub fn without_exactly(self, ignored: &FieldSet) -> Self {
        Self {
            added: self.added.difference(ignored),
            modified: self.modified.difference(ignored),
            removed: self.removed.difference(ignored),
        }
    }
}

/// A value of the earlier state and its counterpart in the later one.
#[derive(Clone, Copy)]
enum Pair<'a> {
    Added(&'a Value),
    Removed(&'a Value),
    Both(&'a Value, &'a Value),
}

impl<'a> Pair<'a> {
    fn of(earlier: Option<&'a Value>, later: Option<&'a Value>) -> Option<Self> {
        match (earlier, later) {
            (None, None) => None,
            (None, Some(later)) => Some(Self::Added(later)),
            (Some(earlier), None) => Some(Self::Removed(earlier)),
            (Some(earlier), Some(later)) => Some(Self::Both(earlier, later)),
        }
    }

    fn split(self) -> (Option<&'a Value>, Option<&'a Value>) {
        match self {
            Self::Added(later) => (None, Some(later)),
            Self::Removed(earlier) => (Some(earlier), None),
            Self::Both(earlier, later) => (Some(earlier), Some(later)),
        }
    }
}

/// What differs at and below one place.
#[derive(Default)]
struct Found {
    added: Branch,
    modified: Branch,
    removed: Branch,
}

/// What differs below one place, not yet in order.
#[derive(Default)]
struct Gathered {
    added: Vec<(Step, Branch)>,
    modified: Vec<(Step, Branch)>,
    removed: Vec<(Step, Branch)>,
}

impl Gathered {
    fn add(&mut self, found: Found, step: impl Fn() -> Step) {
        let Found {
            added,
            modified,
            removed,
        } = found;
        let lists = [
            (added, &mut self.added),
            (modified, &mut self.modified),
            (removed, &mut self.removed),
        ];
        for (branch, list) in lists {
            if !branch.is_empty() {
                list.push((step(), branch));
            }
        }
    }

    fn finish(self) -> Found {
        let branch = |gathered: Vec<(Step, Branch)>| Branch {
            is_member: false,
            below: gathered.into_iter().collect(),
        };
        Found {
            added: branch(self.added),
            modified: branch(self.modified),
            removed: branch(self.removed),
        }
    }
}

struct Walk<'a> {
    schema: &'a Schema,
}

impl Walk<'_> {
    fn value(&self, shape: &Shape, pair: Pair<'_>) -> Found {
        let (earlier, later) = pair.split();
        let ownership = Ownership::of(self.schema, shape);
        let mut found = match ownership {
            Ownership::Fields(_) | Ownership::Entries(_) => {
                match (members(earlier), members(later)) {
                    // Empty and absent are told apart only when there is nothing else to tell.
                    (None, None) => return whole(pair),
                    (earlier, later) => self.members(ownership, earlier, later),
                }
            }
            Ownership::Elements(elements) => match (list(earlier), list(later)) {
                ([], []) => return whole(pair),
                (earlier, later) => self.elements(elements, earlier, later),
            },
            Ownership::Whole => return whole(pair),
        };
        match pair {
            Pair::Added(_) => found.added.is_member = true,
            Pair::Removed(_) => found.removed.is_member = true,
            Pair::Both(..) => {}
        }
        found
    }

    fn members(
        &self,
        ownership: Ownership<'_>,
        earlier: Option<&Map<String, Value>>,
        later: Option<&Map<String, Value>>,
    ) -> Found {
        let mut gathered = Gathered::default();
        let in_earlier = earlier.into_iter().flatten();
        let before =
            in_earlier.map(|(name, value)| (name, Some(value), later.and_then(|it| it.get(name))));
        let in_later = later.into_iter().flatten();
        let only_later =
            in_later.filter(|(name, _)| !earlier.is_some_and(|it| it.contains_key(*name)));
        let after = only_later.map(|(name, value)| (name, None, Some(value)));
        for (name, earlier, later) in before.chain(after) {
            let Some(pair) = Pair::of(earlier, later) else {
                continue;
            };
            let found = match ownership.member(name) {
                Some(shape) => self.value(shape, pair),
                None => whole(pair),
            };
            gathered.add(found, || Step::field(name));
        }
        gathered.finish()
    }

    fn elements(&self, elements: Elements<'_>, earlier: &[Value], later: &[Value]) -> Found {
        if earlier == later {
            return Found::default();
        }
        let (earlier, later) = (elements.sorted(earlier), elements.sorted(later));
        let (mut earlier, mut later) = (&earlier[..], &later[..]);
        let mut gathered = Gathered::default();
        while let Some(step) = next_step(earlier, later) {
            let ours = take_equal(&mut earlier, &step);
            let theirs = take_equal(&mut later, &step);
            gathered.add(self.element(elements, ours, theirs), || step.clone());
        }
        gathered.finish()
    }

    /// Compares what the two states have at one step. Elements that cannot be told apart are one
    /// value together.
    fn element(
        &self,
        elements: Elements<'_>,
        earlier: &[(Step, &Value)],
        later: &[(Step, &Value)],
    ) -> Found {
        match (earlier, later) {
            ([] | [_], [] | [_]) => {
                let pair = Pair::of(first(earlier), first(later));
                pair.map_or_else(Found::default, |pair| self.value(elements.shape, pair))
            }
            ([_, _, ..], [_, _, ..]) => {
                let mut found = Found::default();
                found.modified.is_member = earlier != later;
                found
            }
            ([_, _, ..], _) => {
                let now = first(later).map(Pair::Added);
                let mut found =
                    now.map_or_else(Found::default, |pair| self.value(elements.shape, pair));
                found.removed.is_member = true;
                found
            }
            _ => {
                let before = first(earlier).map(Pair::Removed);
                let mut found =
                    before.map_or_else(Found::default, |pair| self.value(elements.shape, pair));
                found.added.is_member = true;
                found
            }
        }
    }
}

/// Compares values that are owned as a whole.
fn whole(pair: Pair<'_>) -> Found {
    let mut found = Found::default();
    match pair {
        Pair::Added(_) => found.added.is_member = true,
        Pair::Removed(_) => found.removed.is_member = true,
        Pair::Both(earlier, later) => found.modified.is_member = earlier != later,
    }
    found
}

fn members(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value?.as_object().filter(|members| !members.is_empty())
}

fn list(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map_or(&[], |elements| elements.as_slice())
}

fn first<'a>(states: &[(Step, &'a Value)]) -> Option<&'a Value> {
    states.first().map(|(_, value)| *value)
}

fn next_step(earlier: &[(Step, &Value)], later: &[(Step, &Value)]) -> Option<Step> {
    let heads = [earlier.first(), later.first()];
    let steps = heads.into_iter().flatten().map(|(step, _)| step);
    steps.min().cloned()
}

fn take_equal<'a, 'b>(
    states: &mut &'a [(Step, &'b Value)],
    step: &Step,
) -> &'a [(Step, &'b Value)] {
    let count = states.iter().take_while(|(found, _)| found == step).count();
    let (taken, rest) = states.split_at(count);
    *states = rest;
    taken
}
