//! The slots in the order of their objects' keys: a persistent tree of nothing but numbers.

use std::{iter, slice, sync::Arc};

use crate::ObjectKey;

/// Slots of a leaf, or children of a branch, at the most; a fuller node is split.
const NODE_MAX: usize = 32;
/// A node with fewer is joined with a neighbour that has room.
const NODE_MIN: usize = 8;
/// How full nodes are made when a whole tree is built at once.
const NODE_FILL: usize = 28;

/// Slots by key. The keys themselves are asked of whoever holds the objects, with `key_of`.
#[derive(Clone)]
pub(super) struct KeyOrder(Arc<Node>);

#[derive(Clone)]
enum Node {
    Leaf(Vec<u32>),
    Branch(Branch),
}

#[derive(Clone)]
struct Branch {
    /// For each child a key that none of its own is less than. Nothing is less than the first.
    starts: Vec<ObjectKey>,
    children: Vec<Arc<Node>>,
}

/// Tells the key of the object in a slot.
pub(super) trait KeyOf<'a>: Fn(u32) -> &'a ObjectKey + Copy {}

impl<'a, F: Fn(u32) -> &'a ObjectKey + Copy> KeyOf<'a> for F {}

/// The upper half of a node that became too full, with its first key.
type Split = Option<(ObjectKey, Arc<Node>)>;

impl KeyOrder {
    /// No slots.
    pub(super) fn new() -> Self {
        Self(Arc::new(Node::Leaf(Vec::new())))
    }

    /// These slots, which must be sorted by their keys.
    pub(super) fn from_sorted<'a>(slots: &[u32], key_of: impl KeyOf<'a>) -> Self {
        let leaves = slots.chunks(NODE_FILL).map(|chunk| {
            let leaf = Arc::new(Node::Leaf(chunk.to_vec()));
            (key_of(chunk[0]).clone(), leaf)
        });
        let mut nodes: Vec<_> = leaves.collect();
        while nodes.len() > 1 {
            let branches = nodes.chunks(NODE_FILL).map(|children| {
                let start = children[0].0.clone();
                let (starts, children) = children.iter().cloned().unzip();
                let branch = Arc::new(Node::Branch(Branch { starts, children }));
                (start, branch)
            });
            nodes = branches.collect();
        }
        nodes.pop().map_or_else(Self::new, |(_, root)| Self(root))
    }

    /// Adds the slot of a new object.
    pub(super) fn insert<'a>(&mut self, slot: u32, key_of: impl KeyOf<'a>) {
        if let Some((start, right)) = Arc::make_mut(&mut self.0).insert(slot, key_of) {
            // The first start is never looked at.
            let starts = vec![start.clone(), start];
            let children = vec![Arc::clone(&self.0), right];
            self.0 = Arc::new(Node::Branch(Branch { starts, children }));
        }
    }

    /// Takes out the slot of an object that is there.
    pub(super) fn remove<'a>(&mut self, slot: u32, key_of: impl KeyOf<'a>) {
        Arc::make_mut(&mut self.0).remove(slot, key_of);
        while let Node::Branch(branch) = &*self.0
            && let [only] = &branch.children[..]
        {
            self.0 = Arc::clone(only);
        }
    }

    /// All slots in order.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter {
            path: vec![slice::from_ref(&self.0).iter()],
            leaf: [].iter(),
        }
    }

    /// The slots whose key is not less than this, in order.
    pub(super) fn iter_from<'a>(&self, key: &str, key_of: impl KeyOf<'a>) -> Iter<'_> {
        let mut path = Vec::with_capacity(4);
        let mut node = &*self.0;
        loop {
            match node {
                Node::Leaf(slots) => {
                    let leaf = slots[lower_bound(slots, key, key_of)..].iter();
                    return Iter { path, leaf };
                }
                Node::Branch(branch) => {
                    let at = branch.child_of(key);
                    path.push(branch.children[at + 1..].iter());
                    node = &branch.children[at];
                }
            }
        }
    }
}

/// A walk through the slots.
pub(super) struct Iter<'a> {
    /// The children still to visit, of each branch above the leaf.
    path: Vec<slice::Iter<'a, Arc<Node>>>,
    leaf: slice::Iter<'a, u32>,
}

impl Iterator for Iter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(slot) = self.leaf.next() {
                return Some(*slot);
            }
            match self.path.last_mut()?.next().map(Arc::as_ref) {
                Some(Node::Leaf(slots)) => self.leaf = slots.iter(),
                Some(Node::Branch(branch)) => self.path.push(branch.children.iter()),
                None => drop(self.path.pop()),
            }
        }
    }
}

impl Node {
    fn insert<'a>(&mut self, slot: u32, key_of: impl KeyOf<'a>) -> Split {
        match self {
            Self::Leaf(slots) => insert_into_leaf(slots, slot, key_of),
            Self::Branch(branch) => branch.insert(slot, key_of),
        }
    }

    fn remove<'a>(&mut self, slot: u32, key_of: impl KeyOf<'a>) {
        match self {
            Self::Leaf(slots) => {
                let at = lower_bound(slots, key_of(slot).as_str(), key_of);
                assert_eq!(slots.get(at), Some(&slot), "the slot is in its place");
                slots.remove(at);
            }
            Self::Branch(branch) => branch.remove(slot, key_of),
        }
    }

    /// Slots of a leaf, children of a branch.
    fn width(&self) -> usize {
        match self {
            Self::Leaf(slots) => slots.len(),
            Self::Branch(branch) => branch.children.len(),
        }
    }

    /// Takes over all that the next node holds, which begins at this key.
    fn append(&mut self, start: ObjectKey, next: Self) {
        match (self, next) {
            (Self::Leaf(slots), Self::Leaf(more)) => slots.extend(more),
            (Self::Branch(branch), Self::Branch(more)) => {
                let starts = more.starts.into_iter().skip(1);
                branch.starts.extend(iter::once(start).chain(starts));
                branch.children.extend(more.children);
            }
            (Self::Leaf(_), Self::Branch(_)) | (Self::Branch(_), Self::Leaf(_)) => {
                unreachable!("neighbours are at one height")
            }
        }
    }
}

impl Branch {
    fn insert<'a>(&mut self, slot: u32, key_of: impl KeyOf<'a>) -> Split {
        let at = self.child_of(key_of(slot).as_str());
        let split = Arc::make_mut(&mut self.children[at]).insert(slot, key_of);
        if let Some((start, node)) = split {
            self.starts.insert(at + 1, start);
            self.children.insert(at + 1, node);
        }
        (self.children.len() > NODE_MAX).then(|| {
            let middle = split_point(at + 1, self.children.len());
            let right = Self {
                starts: self.starts.split_off(middle),
                children: self.children.split_off(middle),
            };
            (right.starts[0].clone(), Arc::new(Node::Branch(right)))
        })
    }

    fn remove<'a>(&mut self, slot: u32, key_of: impl KeyOf<'a>) {
        let at = self.child_of(key_of(slot).as_str());
        Arc::make_mut(&mut self.children[at]).remove(slot, key_of);
        let width = self.children[at].width();
        if width == 0 {
            self.children.remove(at);
            self.starts.remove(at);
        } else if width < NODE_MIN && self.children.len() > 1 {
            self.join(at.min(self.children.len() - 2));
        }
    }

    /// Makes one of the child and the next one, if that has room for both.
    fn join(&mut self, at: usize) {
        if self.children[at].width() + self.children[at + 1].width() <= NODE_MAX {
            let start = self.starts.remove(at + 1);
            let next = Arc::unwrap_or_clone(self.children.remove(at + 1));
            Arc::make_mut(&mut self.children[at]).append(start, next);
        }
    }

    fn child_of(&self, key: &str) -> usize {
        let others = &self.starts[1..];
        others.partition_point(|start| start.as_str() <= key)
    }
}

fn insert_into_leaf<'a>(slots: &mut Vec<u32>, slot: u32, key_of: impl KeyOf<'a>) -> Split {
    let at = lower_bound(slots, key_of(slot).as_str(), key_of);
    slots.insert(at, slot);
    (slots.len() > NODE_MAX).then(|| {
        let right = slots.split_off(split_point(at, slots.len()));
        (key_of(right[0]).clone(), Arc::new(Node::Leaf(right)))
    })
}

/// Where to cut a node: in the middle, but right before what was put last, so that keys which come
/// in order leave full nodes behind.
fn split_point(inserted: usize, width: usize) -> usize {
    match inserted + 1 == width {
        true => inserted,
        false => width / 2,
    }
}

fn lower_bound<'a>(slots: &[u32], key: &str, key_of: impl KeyOf<'a>) -> usize {
    slots.partition_point(|slot| key_of(*slot).as_str() < key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn keys(count: u32) -> Vec<ObjectKey> {
        let mut random = fastrand::Rng::with_seed(5);
        let mut numbers: Vec<u32> = (0..count).collect();
        random.shuffle(&mut numbers);
        let keys = numbers.iter().map(|number| format!("{number:05}").into());
        keys.collect()
    }

    #[test]
    fn it_equals_a_model_under_random_changes_and_so_do_its_old_clones() {
        let keys = keys(4000);
        let key_of = |slot: u32| &keys[slot as usize];
        let mut random = fastrand::Rng::with_seed(7);
        let (mut order, mut model) = (KeyOrder::new(), BTreeSet::new());
        let mut kept = Vec::new();
        for step in 0..30_000 {
            let slot = random.u32(..4000);
            let pair = (key_of(slot).clone(), slot);
            // Grows, shrinks to almost nothing, and grows again.
            let removes = random.u32(..100) < (step / 7_500) % 2 * 65 + 25;
            if removes && model.remove(&pair) {
                order.remove(slot, key_of);
            } else if !removes && model.insert(pair) {
                order.insert(slot, key_of);
            }
            if step % 1_000 == 0 {
                kept.push((order.clone(), model.clone()));
            }
        }
        kept.push((order, model));
        for (order, model) in kept {
            assert!(order.iter().eq(model.iter().map(|(_, slot)| *slot)));
            let probe = format!("{:05}", random.u32(..4000));
            let expected = model.range((ObjectKey::from(probe.clone()), 0)..);
            let found = order.iter_from(&probe, key_of);
            assert!(found.eq(expected.map(|(_, slot)| *slot)));
        }
    }

    #[test]
    fn an_order_built_at_once_equals_one_built_step_by_step() {
        let keys = keys(9000);
        let key_of = |slot: u32| &keys[slot as usize];
        for count in [0, 1, 56, 57, 3200, 9000] {
            let mut slots: Vec<u32> = (0..count).collect();
            slots.sort_by_key(|slot| key_of(*slot));
            let mut order = KeyOrder::from_sorted(&slots, key_of);
            assert!(order.iter().eq(slots.iter().copied()));
            for slot in slots {
                order.remove(slot, key_of);
            }
            assert_eq!(order.iter().next(), None);
        }
    }
}
