//! Values in blocks of their own size.
//!
//! An allocator rounds up: of a value of 4,140 bytes it makes 5,120. Here values of about one size
//! share a large block, cut into places that are at most 63 bytes too long. A place that becomes
//! free is taken by the next value of its size, in the oldest block first; a block without values
//! goes back to the allocator.

use std::{collections::BTreeMap, ops::RangeInclusive};

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;

/// The sizes of values that are packed. Smaller ones would lose by it, and too few of the larger
/// ones fit into a block.
const PACKED_BYTES: RangeInclusive<usize> = 1024..=8192;
/// The size of a block.
const BLOCK_BYTES: usize = 128 * 1024;
/// Lengths of places are multiples of this.
const PLACE_STEP: usize = 64;

static BLOCKS: Blocks = Blocks::new();

/// A copy of the value that takes up hardly more memory than its length, for whoever keeps it.
pub fn pack(value: &[u8]) -> Bytes {
    match PACKED_BYTES.contains(&value.len()) {
        true => BLOCKS.pack(value),
        false => Bytes::copy_from_slice(value),
    }
}

/// The free places of all blocks.
struct Blocks(Mutex<Free>);

struct Free {
    /// By length of the places and number of their block; only blocks that have free places.
    places: BTreeMap<(usize, u64), Vec<BytesMut>>,
    next_block: u64,
}

/// A place with a value in it.
struct Taken {
    blocks: &'static Blocks,
    block: u64,
    place: BytesMut,
}

impl Blocks {
    const fn new() -> Self {
        Self(Mutex::new(Free {
            places: BTreeMap::new(),
            next_block: 0,
        }))
    }

    fn pack(&'static self, value: &[u8]) -> Bytes {
        let length = value.len().next_multiple_of(PLACE_STEP);
        let (block, mut place) = self.0.lock().take(length);
        place.extend_from_slice(value);
        Bytes::from_owner(Taken {
            blocks: self,
            block,
            place,
        })
    }
}

impl Free {
    fn take(&mut self, length: usize) -> (u64, BytesMut) {
        let mut blocks = self.places.range_mut((length, 0)..=(length, u64::MAX));
        if let Some((&(_, block), places)) = blocks.next()
            && let Some(place) = places.pop()
        {
            if places.is_empty() {
                self.places.remove(&(length, block));
            }
            return (block, place);
        }
        let block = self.next_block;
        self.next_block += 1;
        let mut places = cut_block(length);
        let place = places.pop().expect("a block has many places");
        self.places.insert((length, block), places);
        (block, place)
    }

    /// Gives back the whole block when this was its last value.
    fn give_back(&mut self, block: u64, place: BytesMut) -> Option<Vec<BytesMut>> {
        let length = place.capacity();
        let places = self.places.entry((length, block)).or_default();
        places.push(place);
        match places.len() == BLOCK_BYTES / length {
            true => self.places.remove(&(length, block)),
            false => None,
        }
    }
}

/// The places of a new block.
fn cut_block(length: usize) -> Vec<BytesMut> {
    let count = BLOCK_BYTES / length;
    let mut rest = BytesMut::with_capacity(count * length);
    let mut places = Vec::with_capacity(count);
    for _ in 0..count {
        let behind = rest.split_off(length);
        places.push(std::mem::replace(&mut rest, behind));
    }
    // The first place is taken first.
    places.reverse();
    places
}

impl AsRef<[u8]> for Taken {
    fn as_ref(&self) -> &[u8] {
        &self.place
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut place = std::mem::take(&mut self.place);
        place.clear();
        let unused = self.blocks.0.lock().give_back(self.block, place);
        // Freed without the lock.
        drop(unused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> &'static Blocks {
        Box::leak(Box::new(Blocks::new()))
    }

    /// Blocks that were ever made, and free places now.
    fn count(blocks: &Blocks) -> (u64, usize) {
        let free = blocks.0.lock();
        (free.next_block, free.places.values().map(Vec::len).sum())
    }

    #[test]
    fn a_packed_value_has_its_bytes_whatever_its_length() {
        for length in [0, 1, 1023, 1024, 1025, 4140, 8191, 8192, 8193, 100_000] {
            let value: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            assert_eq!(pack(&value), value);
        }
    }

    #[test]
    fn values_of_about_one_size_fill_a_block_to_the_last_place() {
        let blocks = blocks();
        let values: Vec<Bytes> = (0..31).map(|number| blocks.pack(&[number; 4140])).collect();
        assert_eq!(count(blocks), (1, 0));
        let more = blocks.pack(&[31; 4150]);
        assert_eq!(count(blocks), (2, 30));
        for (number, value) in (0..).zip(&values) {
            assert_eq!(*value, vec![number; 4140]);
        }
        assert_eq!(more, vec![31; 4150]);
    }

    #[test]
    fn the_place_of_a_value_that_is_gone_is_taken_by_the_next() {
        let blocks = blocks();
        let mut values: Vec<Bytes> = (0..40).map(|number| blocks.pack(&[number; 4140])).collect();
        for round in 0..1_000 {
            values[round % 7] = blocks.pack(&[round as u8; 4100]);
        }
        assert_eq!(count(blocks), (2, 62 - 40));
        assert!(
            values[7..]
                .iter()
                .zip(7..)
                .all(|(value, number)| *value == vec![number; 4140])
        );
    }

    #[test]
    fn a_block_without_values_is_given_back() {
        let blocks = blocks();
        let values: Vec<Bytes> = (0..100)
            .map(|number| blocks.pack(&[number; 2_000]))
            .collect();
        let kept = values[80].slice(5..10);
        drop(values);
        let (_, free) = count(blocks);
        assert_eq!(free, BLOCK_BYTES / 2048 - 1);
        assert_eq!(kept, vec![80; 5]);
        drop(kept);
        assert_eq!(count(blocks), (2, 0));
    }
}
