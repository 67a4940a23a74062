//! What one state of an object has that another has not.

use serde_json::{Map, Value};

use super::{
    Branch, FieldSet, Node, Step,
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
        let found = walk.both(&shape, earlier, later);
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

/// What differs at and below one place.
#[derive(Default)]
struct Found {
    added: Branch,
    modified: Branch,
    removed: Branch,
}

impl Found {
    fn added(branch: Branch) -> Self {
        Self {
            added: branch,
            ..Self::default()
        }
    }

    fn removed(branch: Branch) -> Self {
        Self {
            removed: branch,
            ..Self::default()
        }
    }

    /// What differs between values that are owned as a whole.
    fn modified_whole(earlier: &Value, later: &Value) -> Self {
        let mut found = Self::default();
        found.modified.is_member = earlier != later;
        found
    }
}

/// What differs below one place, not yet in order.
#[derive(Default)]
struct Gathered {
    added: Vec<Node>,
    modified: Vec<Node>,
    removed: Vec<Node>,
}

impl Gathered {
    fn add(&mut self, found: Found, step: impl Fn() -> Step) {
        push(&mut self.added, found.added, &step);
        push(&mut self.modified, found.modified, &step);
        push(&mut self.removed, found.removed, &step);
    }

    fn finish(self) -> Found {
        let branch = |nodes: Vec<Node>| Branch {
            is_member: false,
            below: FieldSet::of_nodes(nodes),
        };
        Found {
            added: branch(self.added),
            modified: branch(self.modified),
            removed: branch(self.removed),
        }
    }
}

fn push(nodes: &mut Vec<Node>, branch: Branch, step: impl Fn() -> Step) {
    if !branch.is_empty() {
        nodes.push(Node {
            step: step(),
            branch,
        });
    }
}

struct Walk<'a> {
    schema: &'a Schema,
}

impl Walk<'_> {
    /// Compares what both states have at one place.
    fn both(&self, shape: &Shape, earlier: &Value, later: &Value) -> Found {
        let ownership = Ownership::of_values(self.schema, shape, &[earlier, later]);
        match ownership {
            Ownership::Fields(_) | Ownership::Entries(_) => {
                match (members(earlier), members(later)) {
                    // Empty and absent are told apart only when there is nothing else to tell.
                    (None, None) => Found::modified_whole(earlier, later),
                    (earlier, later) => self.members(ownership, earlier, later),
                }
            }
            Ownership::Elements(elements) => match (list(earlier), list(later)) {
                ([], []) => Found::modified_whole(earlier, later),
                (earlier, later) => self.elements(elements, earlier, later),
            },
            Ownership::Whole => Found::modified_whole(earlier, later),
        }
    }

    /// What one state alone has at and below one place.
    fn alone(&self, shape: Option<&Shape>, value: &Value) -> Branch {
        let ownership = shape.map_or(Ownership::Whole, |shape| Ownership::of(self.schema, shape));
        let below = match (ownership, value) {
            (Ownership::Fields(_) | Ownership::Entries(_), Value::Object(members)) => {
                let nodes = members.iter().map(|(name, value)| Node {
                    step: Step::field(name),
                    branch: self.alone(ownership.member(name), value),
                });
                FieldSet::of_nodes(nodes.collect())
            }
            (Ownership::Elements(elements), Value::Array(list)) => {
                let nodes = elements.sorted(list).into_iter().map(|(step, value)| Node {
                    step,
                    branch: self.alone(Some(elements.shape), value),
                });
                let mut nodes: Vec<Node> = nodes.collect();
                nodes.dedup_by(|other, node| {
                    let is_same = other.step == node.step;
                    if is_same {
                        node.branch = Branch::member();
                    }
                    is_same
                });
                FieldSet { nodes }
            }
            _ => FieldSet::default(),
        };
        Branch {
            is_member: true,
            below,
        }
    }

    /// What one state alone has at a step; elements that cannot be told apart are one value.
    fn all_alone(&self, elements: Elements<'_>, group: &[(Step, &Value)]) -> Option<Branch> {
        match group {
            [] => None,
            [(_, value)] => Some(self.alone(Some(elements.shape), value)),
            _ => Some(Branch::member()),
        }
    }

    fn members(
        &self,
        ownership: Ownership<'_>,
        earlier: Option<&Map<String, Value>>,
        later: Option<&Map<String, Value>>,
    ) -> Found {
        let mut gathered = Gathered::default();
        for (name, before) in earlier.into_iter().flatten() {
            let shape = ownership.member(name);
            let found = match (later.and_then(|later| later.get(name)), shape) {
                (None, shape) => Found::removed(self.alone(shape, before)),
                (Some(after), Some(shape)) => self.both(shape, before, after),
                (Some(after), None) => Found::modified_whole(before, after),
            };
            gathered.add(found, || Step::field(name));
        }
        for (name, after) in later.into_iter().flatten() {
            if !earlier.is_some_and(|earlier| earlier.contains_key(name)) {
                let found = Found::added(self.alone(ownership.member(name), after));
                gathered.add(found, || Step::field(name));
            }
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
            let before = take_equal(&mut earlier, &step);
            let after = take_equal(&mut later, &step);
            gathered.add(self.element(elements, before, after), || step.clone());
        }
        gathered.finish()
    }

    /// Compares what the two states have at one step.
    fn element(
        &self,
        elements: Elements<'_>,
        earlier: &[(Step, &Value)],
        later: &[(Step, &Value)],
    ) -> Found {
        match (earlier, later) {
            ([(_, earlier)], [(_, later)]) => self.both(elements.shape, earlier, later),
            ([_, _, ..], [_, _, ..]) => {
                let mut found = Found::default();
                found.modified.is_member = earlier != later;
                found
            }
            _ => Found {
                added: self.all_alone(elements, later).unwrap_or_default(),
                modified: Branch::default(),
                removed: self.all_alone(elements, earlier).unwrap_or_default(),
            },
        }
    }
}

fn members(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object().filter(|members| !members.is_empty())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |elements| elements.as_slice())
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
