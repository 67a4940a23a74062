//! A persistent ordered set that knows its ranks: cloning is free, and so is counting a range.
//!
//! Nodes are shared between clones and copied when one of them changes, so that a snapshot costs
//! only what changed after it was taken.

use std::{slice, sync::Arc};

use listwatch_store::Key;

/// Elements of a leaf, or children of a branch, at the most; a fuller node is split.
const NODE_MAX: usize = 32;
/// A node with fewer is joined with a neighbour that has room.
const NODE_MIN: usize = 8;
/// How full nodes are made when a whole tree is built at once.
const NODE_FILL: usize = 28;
/// Nodes grow by this much: most have no more room than they need.
const NODE_STEP: usize = 4;

/// Something that is ordered by a key.
pub(super) trait Keyed: Clone {
    /// The key.
    fn key(&self) -> &Key;
}

impl Keyed for Key {
    fn key(&self) -> &Key {
        self
    }
}

/// Elements in the order of their keys, each key once.
#[derive(Clone)]
pub(super) struct CountedTree<T>(Arc<Node<T>>);

enum Node<T> {
    Leaf(Vec<T>),
    Branch(Box<Branch<T>>),
}

struct Branch<T> {
    /// For each child a key that none of its own is less than. Nothing is less than the first.
    starts: Vec<Key>,
    children: Vec<Arc<Node<T>>>,
    /// Elements in all children.
    len: usize,
}

impl<T: Keyed> CountedTree<T> {
    /// No elements.
    pub(super) fn new() -> Self {
        Self(Arc::new(Node::Leaf(Vec::new())))
    }

    /// These elements, which must be sorted and distinct.
    pub(super) fn from_sorted(elements: &[T]) -> Self {
        debug_assert!(elements.is_sorted_by(|left, right| left.key() < right.key()));
        let mut nodes: Vec<Arc<Node<T>>> = elements
            .chunks(NODE_FILL)
            .map(|chunk| Arc::new(Node::Leaf(chunk.to_vec())))
            .collect();
        while nodes.len() > 1 {
            nodes = nodes
                .chunks(NODE_FILL)
                .map(|children| branch(children.to_vec()))
                .collect();
        }
        nodes.pop().map_or_else(Self::new, Self)
    }

    /// How many elements there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The element with this key.
    pub(super) fn get(&self, key: &[u8]) -> Option<&T> {
        let mut node = &*self.0;
        loop {
            match node {
                Node::Leaf(elements) => return search(elements, key).ok().map(|at| &elements[at]),
                Node::Branch(branch) => node = &branch.children[branch.child_of(key)],
            }
        }
    }

    /// The element with this key, to change all of it but its key.
    pub(super) fn get_mut(&mut self, key: &[u8]) -> Option<&mut T> {
        self.get(key)?;
        let mut node = Arc::make_mut(&mut self.0);
        loop {
            match node {
                Node::Leaf(elements) => {
                    let at = search(elements, key).ok()?;
                    return elements.get_mut(at);
                }
                Node::Branch(branch) => {
                    let at = branch.child_of(key);
                    node = Arc::make_mut(&mut branch.children[at]);
                }
            }
        }
    }

    /// Adds the element and gives back the one with the same key that it replaces.
    pub(super) fn insert(&mut self, element: T) -> Option<T> {
        let Inserted { replaced, split } = Arc::make_mut(&mut self.0).insert(element);
        if let Some((_, right)) = split {
            let left = Arc::clone(&self.0);
            self.0 = branch(vec![left, right]);
        }
        replaced
    }

    /// Takes the element with this key out.
    pub(super) fn remove(&mut self, key: &[u8]) -> Option<T> {
        self.get(key)?;
        let removed = Arc::make_mut(&mut self.0).remove(key);
        while let Node::Branch(branch) = &*self.0
            && branch.children.len() == 1
        {
            self.0 = Arc::clone(&branch.children[0]);
        }
        removed
    }

    /// How many elements have a key less than this.
    pub(super) fn rank(&self, key: &[u8]) -> usize {
        let mut node = &*self.0;
        let mut before = 0;
        loop {
            match node {
                Node::Leaf(elements) => return before + lower_bound(elements, key),
                Node::Branch(branch) => {
                    let at = branch.child_of(key);
                    let passed = &branch.children[..at];
                    before += passed.iter().map(|child| child.len()).sum::<usize>();
                    node = &branch.children[at];
                }
            }
        }
    }

    /// All elements whose key is not less than this, in order.
    pub(super) fn iter_from(&self, key: &[u8]) -> Iter<'_, T> {
        let mut path = Vec::with_capacity(4);
        let mut node = &*self.0;
        loop {
            match node {
                Node::Leaf(elements) => {
                    let leaf = elements[lower_bound(elements, key)..].iter();
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

/// A walk through a tree.
pub(super) struct Iter<'a, T> {
    /// The children still to visit, of each branch above the leaf.
    path: Vec<slice::Iter<'a, Arc<Node<T>>>>,
    leaf: slice::Iter<'a, T>,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(element) = self.leaf.next() {
                return Some(element);
            }
            match self.path.last_mut()?.next().map(Arc::as_ref) {
                Some(Node::Leaf(elements)) => self.leaf = elements.iter(),
                Some(Node::Branch(branch)) => self.path.push(branch.children.iter()),
                None => drop(self.path.pop()),
            }
        }
    }
}

/// What an insertion did below a node.
struct Inserted<T> {
    replaced: Option<T>,
    /// The upper half of a node that became too full, with its first key.
    split: Option<(Key, Arc<Node<T>>)>,
}

/// A node is copied to be changed, and mostly to get one more.
impl<T: Clone> Clone for Node<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(elements) => Self::Leaf(copy_with_room(elements)),
            Self::Branch(branch) => Self::Branch(Box::new(Branch {
                starts: copy_with_room(&branch.starts),
                children: copy_with_room(&branch.children),
                len: branch.len,
            })),
        }
    }
}

fn copy_with_room<I: Clone>(items: &[I]) -> Vec<I> {
    let mut copy = Vec::with_capacity((items.len() + 1).next_multiple_of(NODE_STEP));
    copy.extend_from_slice(items);
    copy
}

fn insert_at<I>(items: &mut Vec<I>, at: usize, item: I) {
    if items.len() == items.capacity() {
        items.reserve_exact(NODE_STEP);
    }
    items.insert(at, item);
}

/// The items from `middle` on, taken out, with as little room left as there can be.
fn split_off<I>(items: &mut Vec<I>, middle: usize) -> Vec<I> {
    let right = items.split_off(middle);
    items.shrink_to(middle.next_multiple_of(NODE_STEP));
    right
}

impl<T> Node<T> {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(elements) => elements.len(),
            Self::Branch(branch) => branch.len,
        }
    }

    /// Elements of a leaf, children of a branch.
    fn width(&self) -> usize {
        match self {
            Self::Leaf(elements) => elements.len(),
            Self::Branch(branch) => branch.children.len(),
        }
    }
}

impl<T: Keyed> Node<T> {
    fn start(&self) -> &Key {
        match self {
            Self::Leaf(elements) => elements[0].key(),
            Self::Branch(branch) => &branch.starts[0],
        }
    }

    fn insert(&mut self, element: T) -> Inserted<T> {
        match self {
            Self::Leaf(elements) => insert_into_leaf(elements, element),
            Self::Branch(branch) => branch.insert(element),
        }
    }

    /// Takes out an element that is there.
    fn remove(&mut self, key: &[u8]) -> Option<T> {
        match self {
            Self::Leaf(elements) => {
                let at = search(elements, key).ok()?;
                Some(elements.remove(at))
            }
            Self::Branch(branch) => branch.remove(key),
        }
    }

    /// Takes over all that the next node holds.
    fn append(&mut self, next: Self) {
        match (self, next) {
            (Self::Leaf(elements), Self::Leaf(more)) => elements.extend(more),
            (Self::Branch(branch), Self::Branch(more)) => {
                branch.starts.extend(more.starts);
                branch.children.extend(more.children);
                branch.len += more.len;
            }
            (Self::Leaf(_), Self::Branch(_)) | (Self::Branch(_), Self::Leaf(_)) => {
                unreachable!("neighbours are at one height")
            }
        }
    }
}

impl<T: Keyed> Branch<T> {
    fn of(children: Vec<Arc<Node<T>>>) -> Self {
        Self {
            starts: children.iter().map(|child| child.start().clone()).collect(),
            len: children.iter().map(|child| child.len()).sum(),
            children,
        }
    }

    fn insert(&mut self, element: T) -> Inserted<T> {
        let at = self.child_of(element.key().as_bytes());
        let Inserted { replaced, split } = Arc::make_mut(&mut self.children[at]).insert(element);
        self.len += usize::from(replaced.is_none());
        if let Some((start, node)) = split {
            insert_at(&mut self.starts, at + 1, start);
            insert_at(&mut self.children, at + 1, node);
        }
        let split = (self.children.len() > NODE_MAX).then(|| {
            let middle = split_point(at + 1, self.children.len());
            let right = branch(split_off(&mut self.children, middle));
            drop(split_off(&mut self.starts, middle));
            self.len -= right.len();
            (right.start().clone(), right)
        });
        Inserted { replaced, split }
    }

    fn remove(&mut self, key: &[u8]) -> Option<T> {
        let at = self.child_of(key);
        let removed = Arc::make_mut(&mut self.children[at]).remove(key);
        self.len -= usize::from(removed.is_some());
        let width = self.children[at].width();
        if width == 0 {
            self.children.remove(at);
            self.starts.remove(at);
        } else if width < NODE_MIN && self.children.len() > 1 {
            self.join(at.min(self.children.len() - 2));
        }
        removed
    }

    /// Makes one of the child and the next one, if that has room for both.
    fn join(&mut self, at: usize) {
        if self.children[at].width() + self.children[at + 1].width() <= NODE_MAX {
            self.starts.remove(at + 1);
            let next = Arc::unwrap_or_clone(self.children.remove(at + 1));
            Arc::make_mut(&mut self.children[at]).append(next);
        }
    }
}

fn branch<T: Keyed>(children: Vec<Arc<Node<T>>>) -> Arc<Node<T>> {
    Arc::new(Node::Branch(Box::new(Branch::of(children))))
}

impl<T> Branch<T> {
    fn child_of(&self, key: &[u8]) -> usize {
        let after = self.starts.partition_point(|start| start.as_bytes() <= key);
        after.saturating_sub(1)
    }
}

fn insert_into_leaf<T: Keyed>(elements: &mut Vec<T>, element: T) -> Inserted<T> {
    let at = match search(elements, element.key().as_bytes()) {
        Ok(at) => {
            let replaced = Some(std::mem::replace(&mut elements[at], element));
            return Inserted {
                replaced,
                split: None,
            };
        }
        Err(at) => at,
    };
    insert_at(elements, at, element);
    let split = (elements.len() > NODE_MAX).then(|| {
        let middle = split_point(at, elements.len());
        let right = split_off(elements, middle);
        (right[0].key().clone(), Arc::new(Node::Leaf(right)))
    });
    Inserted {
        replaced: None,
        split,
    }
}

/// Where to cut a node: in the middle, but right before an element that was put last, so that keys
/// which come in order leave full nodes behind.
fn split_point(inserted: usize, width: usize) -> usize {
    match inserted + 1 == width {
        true => inserted,
        false => width / 2,
    }
}

fn search<T: Keyed>(elements: &[T], key: &[u8]) -> Result<usize, usize> {
    elements.binary_search_by(|element| element.key().as_bytes().cmp(key))
}

fn lower_bound<T: Keyed>(elements: &[T], key: &[u8]) -> usize {
    elements.partition_point(|element| element.key().as_bytes() < key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Pair(Key, u32);

    impl Keyed for Pair {
        fn key(&self) -> &Key {
            &self.0
        }
    }

    fn key(number: u32) -> Key {
        Key::new(format!("{number:05}"))
    }

    fn contents(tree: &CountedTree<Pair>) -> Vec<Pair> {
        tree.iter_from(b"").cloned().collect()
    }

    fn model_contents(model: &BTreeMap<Key, u32>) -> Vec<Pair> {
        let pairs = model.iter();
        pairs
            .map(|(key, value)| Pair(key.clone(), *value))
            .collect()
    }

    #[test]
    fn it_equals_a_model_under_random_changes_and_so_do_its_old_clones() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut tree, mut model) = (CountedTree::new(), BTreeMap::new());
        let mut kept = Vec::new();
        for step in 0..20_000 {
            // Grows, shrinks to almost nothing, and grows again.
            let removes = (step / 5_000) % 2 * 60 + 30;
            let (number, value) = (random.u32(..3_000), random.u32(..));
            if random.u32(..100) < removes {
                let removed = tree.remove(key(number).as_bytes()).map(|pair: Pair| pair.1);
                assert_eq!(removed, model.remove(&key(number)));
            } else {
                let replaced = tree.insert(Pair(key(number), value)).map(|pair| pair.1);
                assert_eq!(replaced, model.insert(key(number), value));
            }
            assert_eq!(tree.len(), model.len());
            let probe = key(random.u32(..3_000));
            assert_eq!(
                tree.get(probe.as_bytes()).map(|pair| pair.1),
                model.get(&probe).copied()
            );
            if step % 1_000 == 0 {
                kept.push((tree.clone(), model.clone()));
            }
        }
        kept.push((tree, model));
        for (tree, model) in kept {
            assert_eq!(contents(&tree), model_contents(&model));
            let probe = key(random.u32(..3_000));
            assert_eq!(
                tree.rank(probe.as_bytes()),
                model.range::<Key, _>(..&probe).count()
            );
            let first = tree
                .iter_from(probe.as_bytes())
                .next()
                .map(|pair| pair.0.clone());
            assert_eq!(
                first,
                model
                    .range::<Key, _>(&probe..)
                    .next()
                    .map(|(key, _)| key.clone())
            );
        }
    }

    #[test]
    fn a_tree_built_at_once_equals_one_built_step_by_step() {
        for count in [0, 1, 28, 29, 800, 5_000] {
            let pairs: Vec<Pair> = (0..count).map(|number| Pair(key(number), number)).collect();
            let mut tree = CountedTree::from_sorted(&pairs);
            assert_eq!((contents(&tree), tree.len()), (pairs, count as usize));
            tree.insert(Pair(key(99_999), 0));
            assert_eq!(tree.rank(b"99999"), count as usize);
        }
    }

    #[test]
    fn an_element_is_changed_in_place_for_one_clone_only() {
        let pairs: Vec<Pair> = (0..100).map(|number| Pair(key(number), number)).collect();
        let mut tree = CountedTree::from_sorted(&pairs);
        let before = tree.clone();
        tree.get_mut(key(50).as_bytes()).unwrap().1 = 7;
        assert_eq!(tree.get(key(50).as_bytes()).unwrap().1, 7);
        assert_eq!(before.get(key(50).as_bytes()).unwrap().1, 50);
    }
    /// Places for elements in all leaves, taken and free.
    fn room(node: &Node<Pair>) -> usize {
        match node {
            Node::Leaf(elements) => elements.capacity(),
            Node::Branch(branch) => branch.children.iter().map(|child| room(child)).sum(),
        }
    }

    #[test]
    fn a_tree_that_grew_while_others_looked_on_has_hardly_more_room_than_it_needs() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut tree = CountedTree::new();
        let mut shown = tree.clone();
        for step in 0..10_000 {
            tree.insert(Pair(key(random.u32(..99_999)), step));
            if step % 3 == 0 {
                shown = tree.clone();
            }
        }
        assert!(shown.len() <= tree.len());
        let needed = tree.len();
        assert!(room(&tree.0) * 100 <= needed * 115, "{}", room(&tree.0));
    }
}
