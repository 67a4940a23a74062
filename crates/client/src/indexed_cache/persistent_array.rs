//! An array whose clones are free: leaves are shared between clones and copied when one changes.

use std::{array, sync::Arc};

/// Leaves of a branch.
const BRANCH_LEAVES: usize = 64;

/// A growing array in three levels, every element of which is there and has its default value
/// until it is set.
///
/// ```text
/// root      [ . . . ]             as many branches as needed
/// branch    [ . . … . ]           64 leaves
/// leaf      [ element … ]         `LEAF` elements: what a clone pays for one changed element
/// ```
pub(super) struct PersistentArray<E, const LEAF: usize> {
    root: Arc<[Branch<E, LEAF>]>,
}

type Leaf<E, const LEAF: usize> = Arc<[E; LEAF]>;
type Branch<E, const LEAF: usize> = Arc<[Leaf<E, LEAF>; BRANCH_LEAVES]>;

impl<E: Clone + Default, const LEAF: usize> PersistentArray<E, LEAF> {
    const BRANCH_ELEMENTS: usize = LEAF * BRANCH_LEAVES;

    /// No elements.
    pub(super) fn new() -> Self {
        Self { root: Arc::new([]) }
    }

    /// At least this many elements.
    pub(super) fn with_length(length: usize) -> Self {
        let branches = length.div_ceil(Self::BRANCH_ELEMENTS);
        Self {
            root: empty_branches(branches).collect(),
        }
    }

    /// How many elements there are, most of them perhaps unset.
    pub(super) fn len(&self) -> usize {
        self.root.len() * Self::BRANCH_ELEMENTS
    }

    /// The element at this place.
    pub(super) fn get(&self, index: usize) -> Option<&E> {
        let branch = self.root.get(index / Self::BRANCH_ELEMENTS)?;
        Some(&branch[index / LEAF % BRANCH_LEAVES][index % LEAF])
    }

    /// The element at this place, to change it. The array grows to hold it.
    pub(super) fn get_mut(&mut self, index: usize) -> &mut E {
        let at = index / Self::BRANCH_ELEMENTS;
        if at >= self.root.len() {
            let more = empty_branches(at + 1 - self.root.len());
            self.root = self.root.iter().cloned().chain(more).collect();
        }
        let branch = Arc::make_mut(&mut Arc::make_mut(&mut self.root)[at]);
        let leaf = Arc::make_mut(&mut branch[index / LEAF % BRANCH_LEAVES]);
        &mut leaf[index % LEAF]
    }

    /// All elements in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        let leaves = self.root.iter().flat_map(|branch| branch.iter());
        leaves.flat_map(|leaf| leaf.iter())
    }

    /// The places that may hold different elements in the two arrays. What they share is skipped.
    pub(super) fn changed_places<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> {
        let branches = self.root.len().max(other.root.len());
        let branches = (0..branches).filter(|&at| {
            let (ours, theirs) = (self.root.get(at), other.root.get(at));
            !matches!((ours, theirs), (Some(ours), Some(theirs)) if Arc::ptr_eq(ours, theirs))
        });
        let leaves = branches.flat_map(|at| at * BRANCH_LEAVES..(at + 1) * BRANCH_LEAVES);
        let leaves = leaves.filter(|&at| match (self.leaf(at), other.leaf(at)) {
            (Some(ours), Some(theirs)) => !Arc::ptr_eq(ours, theirs),
            (None, _) | (_, None) => true,
        });
        leaves.flat_map(|at| at * LEAF..(at + 1) * LEAF)
    }

    fn leaf(&self, at: usize) -> Option<&Leaf<E, LEAF>> {
        let branch = self.root.get(at / BRANCH_LEAVES)?;
        Some(&branch[at % BRANCH_LEAVES])
    }
}

fn empty_branches<E: Default, const LEAF: usize>(
    count: usize,
) -> impl Iterator<Item = Branch<E, LEAF>> {
    let leaf: Leaf<E, LEAF> = Arc::new(array::from_fn(|_| E::default()));
    let branch = Arc::new(array::from_fn(|_| Arc::clone(&leaf)));
    (0..count).map(move |_| Arc::clone(&branch))
}

impl<E, const LEAF: usize> Clone for PersistentArray<E, LEAF> {
    fn clone(&self) -> Self {
        Self {
            root: Arc::clone(&self.root),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_its_clones_stay_as_they_were() {
        let mut array = PersistentArray::<u32, 4>::new();
        assert_eq!(array.get(0), None);
        *array.get_mut(700) = 7;
        let before = array.clone();
        *array.get_mut(701) = 8;
        *array.get_mut(3) = 9;
        assert_eq!((before.get(700), before.get(701)), (Some(&7), Some(&0)));
        assert_eq!((array.get(701), array.get(3)), (Some(&8), Some(&9)));
        let sum: u32 = array.iter().sum();
        assert_eq!((sum, array.len()), (24, 768));
    }

    #[test]
    fn only_what_is_not_shared_is_compared() {
        let mut array = PersistentArray::<u32, 4>::with_length(1000);
        let before = array.clone();
        *array.get_mut(513) = 1;
        let places: Vec<_> = array.changed_places(&before).collect();
        assert_eq!(places, [512, 513, 514, 515]);
        *array.get_mut(1024) = 1;
        let places: Vec<_> = array.changed_places(&before).collect();
        assert_eq!(places.len(), 4 + 256);
    }
}
