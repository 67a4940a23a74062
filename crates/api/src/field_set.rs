//! Sets of the fields of an object, in which managers say what they own.
//!
//! A set is a tree of [`Step`]s. A field is in the set when its node is a member; a node that is
//! none only leads to the members below it.

use std::{cmp::Ordering, fmt};

mod comparison;
mod conformity;
mod fields_v1;
mod merge;
mod named_fields;
mod of_value;
mod ownership;
mod removal;
mod step;
#[cfg(test)]
mod tests;
mod written;

pub use comparison::Comparison;
pub use conformity::{Nonconformity, check as check_conformity};
pub use fields_v1::FieldsError;
pub use merge::merge;
pub use step::Step;

/// A set of fields.
///
/// ```text
/// .data, .data.a, .spec.ports[port=80]   in FieldsV1:
/// {"f:data":{".":{},"f:a":{}},"f:spec":{"f:ports":{"k:{\"port\":80}":{}}}}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Sorted by step; none of them is empty.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    step: Step,
    branch: Branch,
}

/// What a set holds of one field: itself, and what is below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branch {
    is_member: bool,
    below: FieldSet,
}

impl Branch {
    fn member() -> Self {
        Self {
            is_member: true,
            below: FieldSet::default(),
        }
    }

    fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }
}

/// The way to one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldSetPath(pub Vec<Step>);

impl fmt::Display for FieldSetPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| step.fmt(formatter))
    }
}

impl FieldSet {
    /// A set of the fields that these names lead to.
    pub fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let steps: Vec<Step> = path.iter().map(|name| Step::field(name)).collect();
            set.insert(&steps);
        }
        set
    }

    /// Whether there is no field in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether the field at the end of this way is in it.
    pub fn contains(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    /// Adds the field at the end of this way, without the fields on the way.
    pub fn insert(&mut self, path: &[Step]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let place = match self.place_of(first) {
            Ok(place) => place,
            Err(place) => {
                let (step, branch) = (first.clone(), Branch::default());
                self.nodes.insert(place, Node { step, branch });
                place
            }
        };
        let branch = &mut self.nodes[place].branch;
        if rest.is_empty() {
            branch.is_member = true;
        } else {
            branch.below.insert(rest);
        }
    }

    /// All fields that are in this set or in the other.
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut ours, mut theirs) = (self.nodes.into_iter(), other.nodes.into_iter());
        let (mut our, mut their) = (ours.next(), theirs.next());
        loop {
            match (our, their) {
                (Some(one), Some(another)) => match one.step.cmp(&another.step) {
                    Ordering::Less => {
                        nodes.push(one);
                        (our, their) = (ours.next(), Some(another));
                    }
                    Ordering::Greater => {
                        nodes.push(another);
                        (our, their) = (Some(one), theirs.next());
                    }
                    Ordering::Equal => {
                        nodes.push(one.union(another));
                        (our, their) = (ours.next(), theirs.next());
                    }
                },
                (one, another) => {
                    nodes.extend(one.into_iter().chain(ours).chain(another).chain(theirs));
                    return Self { nodes };
                }
            }
        }
    }

    /// The fields of this set that are not in the other.
    #[must_use]
    pub fn difference(mut self, other: &Self) -> Self {
        self.retain(other, |branch, removed| {
            branch.is_member &= !removed.is_member;
            branch.below = std::mem::take(&mut branch.below).difference(&removed.below);
        });
        self
    }

    /// The fields of this set that are neither in the other nor below a field of it.
    #[must_use]
    pub fn difference_with_all_below(mut self, other: &Self) -> Self {
        self.retain(other, |branch, removed| {
            if removed.is_member {
                *branch = Branch::default();
            } else {
                let below = std::mem::take(&mut branch.below);
                branch.below = below.difference_with_all_below(&removed.below);
            }
        });
        self
    }

    /// The fields that are in both sets.
    #[must_use]
    pub fn intersection(mut self, other: &Self) -> Self {
        self.nodes.retain_mut(|node| match other.find(&node.step) {
            Some(found) => {
                let branch = &mut node.branch;
                branch.is_member &= found.is_member;
                branch.below = std::mem::take(&mut branch.below).intersection(&found.below);
                !branch.is_empty()
            }
            None => false,
        });
        self
    }

    /// Whether a field is in both sets.
    pub fn intersects(&self, other: &Self) -> bool {
        let (fewer, more) = if self.nodes.len() <= other.nodes.len() {
            (self, other)
        } else {
            (other, self)
        };
        fewer.nodes.iter().any(|node| {
            more.find(&node.step).is_some_and(|found| {
                (node.branch.is_member && found.is_member)
                    || node.branch.below.intersects(&found.below)
            })
        })
    }

    /// The ways to all its fields: at each place first its own, then those further below.
    pub fn paths(&self) -> Vec<FieldSetPath> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, way: &mut Vec<Step>, paths: &mut Vec<FieldSetPath>) {
        for node in self.nodes.iter().filter(|node| node.branch.is_member) {
            way.push(node.step.clone());
            paths.push(FieldSetPath(way.clone()));
            way.pop();
        }
        for node in &self.nodes {
            way.push(node.step.clone());
            node.branch.below.collect(way, paths);
            way.pop();
        }
    }

    /// Whether the field one step away is in it.
    fn has(&self, step: &Step) -> bool {
        self.find(step).is_some_and(|branch| branch.is_member)
    }

    /// The set of what is below the field one step away.
    fn below(&self, step: &Step) -> Option<&Self> {
        self.find(step).map(|branch| &branch.below)
    }

    fn find(&self, step: &Step) -> Option<&Branch> {
        let place = self.place_of(step).ok()?;
        Some(&self.nodes[place].branch)
    }

    fn find_field(&self, name: &str) -> Option<&Branch> {
        let found = self.nodes.binary_search_by(|node| match &node.step {
            Step::Field(field) => (**field).cmp(name),
            Step::Keys(_) | Step::Value(_) | Step::Index(_) => Ordering::Greater,
        });
        found.ok().map(|place| &self.nodes[place].branch)
    }

    fn place_of(&self, step: &Step) -> Result<usize, usize> {
        self.nodes.binary_search_by(|node| node.step.cmp(step))
    }

    /// Changes the branches that the other set has too, and drops those that become empty.
    fn retain(&mut self, other: &Self, mut change: impl FnMut(&mut Branch, &Branch)) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain_mut(|node| {
            if let Some(found) = other.find(&node.step) {
                change(&mut node.branch, found);
            }
            !node.branch.is_empty()
        });
    }
}

impl Node {
    fn union(self, other: Self) -> Self {
        let is_member = self.branch.is_member || other.branch.is_member;
        let below = self.branch.below.union(other.branch.below);
        let branch = Branch { is_member, below };
        Self {
            step: self.step,
            branch,
        }
    }
}

impl FieldSet {
    /// A set of nodes in any order, none of them empty.
    fn of_nodes(mut nodes: Vec<Node>) -> Self {
        if !nodes.is_sorted_by(|one, other| one.step < other.step) {
            nodes.sort_by(|one, other| one.step.cmp(&other.step));
            nodes = merge_equal(nodes);
        }
        Self { nodes }
    }
}

fn merge_equal(sorted: Vec<Node>) -> Vec<Node> {
    let mut merged: Vec<Node> = Vec::with_capacity(sorted.len());
    for node in sorted {
        match merged.pop() {
            Some(last) if last.step == node.step => merged.push(last.union(node)),
            last => merged.extend(last.into_iter().chain([node])),
        }
    }
    merged
}
