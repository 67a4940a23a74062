//! A set of slots, small whether it holds one object or most of them.

use std::{slice, sync::Arc};

use super::persistent_array::PersistentArray;

/// Members that a set holds in place, without memory of its own.
const FEW_MAX: usize = 3;

/// A set with fewer members is never a bitmap.
const BITMAP_MIN: usize = 1024;

/// Slots in ascending order, each once. A clone is free.
#[derive(Clone)]
pub(super) enum SlotSet {
    /// Most values of an index are those of one object, or of very few.
    Few(Few),
    /// A number for each member.
    Sorted(Arc<Vec<u32>>),
    /// So many that a bit for each slot takes less room.
    Bitmap(Arc<Bitmap>),
}

/// Up to [`FEW_MAX`] slots.
#[derive(Clone, Copy, Default)]
pub(super) struct Few {
    count: Count,
    slots: [u32; FEW_MAX],
}

/// How many. Not a number, so that a set takes 16 bytes: the compiler keeps its form here too.
#[derive(Clone, Copy, Default)]
enum Count {
    #[default]
    Zero,
    One,
    Two,
    Three,
}

/// A bit for each slot.
#[derive(Clone)]
pub(super) struct Bitmap {
    words: PersistentArray<u64, 16>,
    len: usize,
}

impl SlotSet {
    /// No slots.
    pub(super) fn new() -> Self {
        Self::Few(Few::default())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few(few) => few.as_slice().len(),
            Self::Sorted(slots) => slots.len(),
            Self::Bitmap(bitmap) => bitmap.len,
        }
    }

    /// Whether the slot is among them.
    pub(super) fn contains(&self, slot: u32) -> bool {
        match self {
            Self::Few(few) => few.as_slice().contains(&slot),
            Self::Sorted(slots) => slots.binary_search(&slot).is_ok(),
            Self::Bitmap(bitmap) => bitmap.contains(slot),
        }
    }

    /// Adds a slot.
    pub(super) fn insert(&mut self, slot: u32) {
        if self.contains(slot) {
            return;
        }
        match self {
            Self::Few(few) => {
                let slots = few.as_slice().iter().copied();
                let mut slots: Vec<u32> = slots.chain([slot]).collect();
                slots.sort_unstable();
                *self = slots.into_iter().collect();
            }
            Self::Sorted(slots) => {
                let at = slots.partition_point(|other| *other < slot);
                Arc::make_mut(slots).insert(at, slot);
                if is_dense(slots) {
                    *self = Self::Bitmap(Arc::new(slots.iter().copied().collect()));
                }
            }
            Self::Bitmap(bitmap) => Arc::make_mut(bitmap).insert(slot),
        }
    }

    /// Takes a slot out.
    pub(super) fn remove(&mut self, slot: u32) {
        if !self.contains(slot) {
            return;
        }
        match self {
            Self::Few(few) => {
                let slots = few.as_slice().iter().copied();
                *few = Few::of(slots.filter(|other| *other != slot));
            }
            Self::Sorted(slots) => {
                let at = slots.partition_point(|other| *other < slot);
                Arc::make_mut(slots).remove(at);
                if slots.len() <= FEW_MAX {
                    *self = Self::Few(Few::of(slots.iter().copied()));
                }
            }
            Self::Bitmap(bitmap) => {
                Arc::make_mut(bitmap).remove(slot);
                if bitmap.is_sparse() {
                    *self = Self::Sorted(Arc::new(bitmap.iter().collect()));
                }
            }
        }
    }

    /// The slots in ascending order.
    pub(super) fn iter(&self) -> Slots<'_> {
        match self {
            Self::Few(few) => Slots::Listed(few.as_slice().iter()),
            Self::Sorted(slots) => Slots::Listed(slots.iter()),
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
        match large {
            Self::Few(_) | Self::Sorted(_) => {
                let mut slots: Vec<u32> = large.iter().chain(small.iter()).collect();
                slots.sort_unstable();
                slots.dedup();
                slots.into_iter().collect()
            }
            Self::Bitmap(_) => {
                let mut union = large.clone();
                small.iter().for_each(|slot| union.insert(slot));
                union
            }
        }
    }
}

impl Default for SlotSet {
    fn default() -> Self {
        Self::new()
    }
}

/// Collects ascending slots.
impl FromIterator<u32> for SlotSet {
    fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
        let slots: Vec<u32> = slots.into_iter().collect();
        debug_assert!(slots.is_sorted_by(|left, right| left < right));
        match slots.len() {
            0..=FEW_MAX => Self::Few(Few::of(slots.into_iter())),
            _ if is_dense(&slots) => Self::Bitmap(Arc::new(slots.into_iter().collect())),
            _ => Self::Sorted(Arc::new(slots)),
        }
    }
}

/// Whether a bit for each slot takes less room than a number for each member.
fn is_dense(slots: &[u32]) -> bool {
    let last = slots.last().map_or(0, |last| *last as usize);
    slots.len() >= BITMAP_MIN && slots.len() * 32 > last
}

impl Few {
    fn of(slots: impl Iterator<Item = u32>) -> Self {
        let mut few = Self::default();
        for slot in slots {
            few.count = match few.count {
                Count::Zero => Count::One,
                Count::One => Count::Two,
                Count::Two => Count::Three,
                Count::Three => unreachable!("few are three at the most"),
            };
            few.slots[few.count as usize - 1] = slot;
        }
        few
    }

    fn as_slice(&self) -> &[u32] {
        &self.slots[..self.count as usize]
    }
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
    /// Of a list.
    Listed(slice::Iter<'a, u32>),
    /// Of a bitmap.
    Bitmap(Box<dyn Iterator<Item = u32> + 'a>),
}

impl Iterator for Slots<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Listed(slots) => slots.next().copied(),
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
        assert!(matches!(set, SlotSet::Few(_)));
        assert_eq!(size_of::<SlotSet>(), 16);
    }

    #[test]
    fn sets_of_any_form_are_joined_and_cut() {
        let mut random = fastrand::Rng::with_seed(12);
        let counts = [0, 1, 3, 10, 400, 3000];
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
