//! A set of slots, small whether it holds one object or most of them.

use std::{slice, sync::Arc};

use super::persistent_array::PersistentArray;

/// A set with fewer members is never a bitmap.
const BITMAP_MIN: usize = 64;

/// Slots in ascending order, each once. A clone is free.
#[derive(Clone, Default)]
pub(super) enum SlotSet {
    /// None.
    #[default]
    Empty,
    /// Exactly one, as in an index by something unique.
    One(u32),
    /// Few of all slots.
    Sorted(Arc<Vec<u32>>),
    /// So many that a bit for each slot takes less room.
    Bitmap(Bitmap),
}

/// A bit for each slot.
#[derive(Clone)]
pub(super) struct Bitmap {
    words: PersistentArray<u64, 16>,
    len: usize,
}

impl SlotSet {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(_) => 1,
            Self::Sorted(slots) => slots.len(),
            Self::Bitmap(bitmap) => bitmap.len,
        }
    }

    /// Whether the slot is among them.
    pub(super) fn contains(&self, slot: u32) -> bool {
        match self {
            Self::Empty => false,
            Self::One(only) => *only == slot,
            Self::Sorted(slots) => slots.binary_search(&slot).is_ok(),
            Self::Bitmap(bitmap) => bitmap.contains(slot),
        }
    }

    /// Adds a slot.
    pub(super) fn insert(&mut self, slot: u32) {
        match self {
            Self::Empty => *self = Self::One(slot),
            Self::One(only) if *only == slot => {}
            Self::One(only) => {
                let pair = vec![slot.min(*only), slot.max(*only)];
                *self = Self::Sorted(Arc::new(pair));
            }
            Self::Sorted(slots) => {
                if let Err(at) = slots.binary_search(&slot) {
                    Arc::make_mut(slots).insert(at, slot);
                    if is_dense(slots) {
                        *self = Self::Bitmap(slots.iter().copied().collect());
                    }
                }
            }
            Self::Bitmap(bitmap) => bitmap.insert(slot),
        }
    }

    /// Takes a slot out.
    pub(super) fn remove(&mut self, slot: u32) {
        match self {
            Self::Empty => {}
            Self::One(only) => {
                if *only == slot {
                    *self = Self::Empty;
                }
            }
            Self::Sorted(slots) => {
                if let Ok(at) = slots.binary_search(&slot) {
                    Arc::make_mut(slots).remove(at);
                    if let [only] = slots[..] {
                        *self = Self::One(only);
                    }
                }
            }
            Self::Bitmap(bitmap) => {
                bitmap.remove(slot);
                if bitmap.is_sparse() {
                    *self = Self::Sorted(Arc::new(bitmap.iter().collect()));
                }
            }
        }
    }

    /// The slots in ascending order.
    pub(super) fn iter(&self) -> Slots<'_> {
        match self {
            Self::Empty => Slots::One(None),
            Self::One(only) => Slots::One(Some(*only)),
            Self::Sorted(slots) => Slots::Sorted(slots.iter()),
            Self::Bitmap(bitmap) => Slots::Bitmap(Box::new(bitmap.iter())),
        }
    }

    /// The slots that are in both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let (small, large) = match self.len() <= other.len() {
            true => (self, other),
            false => (other, self),
        };
        small.iter().filter(|&slot| large.contains(slot)).collect()
    }

    /// The slots that are in one or in both.
    pub(super) fn union(&self, other: &Self) -> Self {
        let (small, large) = match self.len() <= other.len() {
            true => (self, other),
            false => (other, self),
        };
        if let Self::Sorted(_) | Self::One(_) = large {
            let mut slots: Vec<u32> = large.iter().chain(small.iter()).collect();
            slots.sort_unstable();
            slots.dedup();
            return slots.into_iter().collect();
        }
        let mut union = large.clone();
        small.iter().for_each(|slot| union.insert(slot));
        union
    }
}

/// Collects ascending slots.
impl FromIterator<u32> for SlotSet {
    fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
        let slots: Vec<u32> = slots.into_iter().collect();
        debug_assert!(slots.is_sorted_by(|left, right| left < right));
        match slots[..] {
            [] => Self::Empty,
            [only] => Self::One(only),
            [..] if is_dense(&slots) => Self::Bitmap(slots.into_iter().collect()),
            [..] => Self::Sorted(Arc::new(slots)),
        }
    }
}

/// Whether a bit for each slot takes less room than a number for each member.
fn is_dense(slots: &[u32]) -> bool {
    let last = slots.last().map_or(0, |last| *last as usize);
    slots.len() >= BITMAP_MIN && slots.len() * 32 > last
}

impl Bitmap {
    fn contains(&self, slot: u32) -> bool {
        let (word, bit) = place(slot);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    fn insert(&mut self, slot: u32) {
        let (word, bit) = place(slot);
        if !self.contains(slot) {
            *self.words.get_mut(word) |= bit;
            self.len += 1;
        }
    }

    fn remove(&mut self, slot: u32) {
        let (word, bit) = place(slot);
        if self.contains(slot) {
            *self.words.get_mut(word) &= !bit;
            self.len -= 1;
        }
    }

    /// Well below the border of [`is_dense`], so that a set at the border does not change its form
    /// with each member.
    fn is_sparse(&self) -> bool {
        self.len < BITMAP_MIN / 2 || self.len * 128 < self.words.len() * 64
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        let words = (0..).zip(self.words.iter());
        words.flat_map(|(at, word)| Ones(*word).map(move |bit| at * 64 + bit))
    }
}

impl FromIterator<u32> for Bitmap {
    fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
        let mut bitmap = Self {
            words: PersistentArray::new(),
            len: 0,
        };
        slots.into_iter().for_each(|slot| bitmap.insert(slot));
        bitmap
    }
}

fn place(slot: u32) -> (usize, u64) {
    (slot as usize / 64, 1 << (slot % 64))
}

/// The places of the ones in a word.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros())?;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// A walk through a set.
pub(super) enum Slots<'a> {
    /// Of one or none.
    One(Option<u32>),
    /// Of a list.
    Sorted(slice::Iter<'a, u32>),
    /// Of a bitmap.
    Bitmap(Box<dyn Iterator<Item = u32> + 'a>),
}

impl Iterator for Slots<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::One(slot) => slot.take(),
            Self::Sorted(slots) => slots.next().copied(),
            Self::Bitmap(slots) => slots.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn set(model: &BTreeSet<u32>) -> SlotSet {
        model.iter().copied().collect()
    }

    #[test]
    fn it_equals_a_model_in_each_of_its_forms() {
        let mut random = fastrand::Rng::with_seed(11);
        let (mut set, mut model) = (SlotSet::default(), BTreeSet::new());
        for step in 0..12_000 {
            let slot = random.u32(..5000);
            if random.u32(..100) < (step / 3000 % 2) * 70 + 15 {
                set.remove(slot);
                model.remove(&slot);
            } else {
                set.insert(slot);
                model.insert(slot);
            }
            assert_eq!(set.len(), model.len());
            assert_eq!(set.contains(slot), model.contains(&slot));
            if step % 100 == 0 {
                assert!(set.iter().eq(model.iter().copied()));
            }
        }
        for slot in std::mem::take(&mut model) {
            set.remove(slot);
        }
        assert!(matches!(set, SlotSet::Empty));
    }

    #[test]
    fn sets_of_any_form_are_joined_and_cut() {
        let mut random = fastrand::Rng::with_seed(12);
        let counts = [0, 1, 10, 400, 3000];
        for (left, right) in counts
            .iter()
            .flat_map(|left| counts.map(|right| (*left, right)))
        {
            let mut sample =
                |count| -> BTreeSet<u32> { (0..count).map(|_| random.u32(..9000)).collect() };
            let (left, right) = (sample(left), sample(right));
            let both = set(&left).intersection(&set(&right));
            assert!(both.iter().eq(left.intersection(&right).copied()));
            let either = set(&left).union(&set(&right));
            assert!(either.iter().eq(left.union(&right).copied()));
        }
    }
}
