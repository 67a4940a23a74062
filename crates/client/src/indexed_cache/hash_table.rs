//! From the hash of something to its number: what the number stands for is kept elsewhere.

use super::persistent_array::PersistentArray;

/// The least number of cells, and what their number is a multiple of.
const CELLS_MIN: usize = 64;

/// Numbers found by a hash, in open addressing over a persistent array.
///
/// A cell holds 32 bits of the hash and the number, so that growing and removing need nothing but
/// the cells, and a clone pays for a change by copying plain memory.
#[derive(Clone)]
pub(super) struct HashTable {
    cells: PersistentArray<Cell, 64>,
    capacity: usize,
    filled: usize,
}

/// Zero is an empty cell; else the hash stands above, and the number plus one below.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Cell(u64);

impl Cell {
    const EMPTY: Self = Self(0);

    fn new(hash: u32, number: u32) -> Self {
        Self((u64::from(hash) << 32) | (u64::from(number) + 1))
    }

    fn hash(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn number(self) -> u32 {
        self.0 as u32 - 1
    }
}

impl HashTable {
    /// No numbers.
    pub(super) fn new() -> Self {
        Self::with_room_for(0)
    }

    /// No numbers, but room for this many.
    pub(super) fn with_room_for(count: usize) -> Self {
        let capacity = (count + count / 4 + 1).next_multiple_of(CELLS_MIN);
        Self {
            cells: PersistentArray::with_length(capacity),
            capacity,
            filled: 0,
        }
    }

    /// The number with this hash that is the right one.
    pub(super) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let cell = self.cell(at);
            if cell == Cell::EMPTY {
                return None;
            }
            if cell.hash() == hash && is_it(cell.number()) {
                return Some(cell.number());
            }
            at = self.after(at);
        }
    }

    /// Adds a number that is not there.
    pub(super) fn insert(&mut self, hash: u32, number: u32) {
        if (self.filled + 1) * 5 > self.capacity * 4 {
            self.grow();
        }
        self.put(Cell::new(hash, number));
    }

    /// Takes a number out.
    pub(super) fn remove(&mut self, hash: u32, number: u32) {
        let cell = Cell::new(hash, number);
        let mut hole = self.home(hash);
        while self.cell(hole) != cell {
            if self.cell(hole) == Cell::EMPTY {
                return;
            }
            hole = self.after(hole);
        }
        self.filled -= 1;
        self.close_gap(hole);
    }

    /// Moves back what stands behind the hole, wherever that brings it nearer to its home.
    fn close_gap(&mut self, mut hole: usize) {
        let mut at = hole;
        loop {
            at = self.after(at);
            let cell = self.cell(at);
            if cell == Cell::EMPTY {
                break;
            }
            let home = self.home(cell.hash());
            if self.distance(home, at) >= self.distance(hole, at) {
                *self.cells.get_mut(hole) = cell;
                hole = at;
            }
        }
        *self.cells.get_mut(hole) = Cell::EMPTY;
    }

    fn put(&mut self, cell: Cell) {
        let mut at = self.home(cell.hash());
        while self.cell(at) != Cell::EMPTY {
            at = self.after(at);
        }
        *self.cells.get_mut(at) = cell;
        self.filled += 1;
    }

    fn grow(&mut self) {
        let mut larger = Self::with_room_for(self.filled * 3 / 2 + 1);
        let cells = self.cells.iter().filter(|cell| **cell != Cell::EMPTY);
        for cell in cells {
            larger.put(*cell);
        }
        *self = larger;
    }

    fn cell(&self, at: usize) -> Cell {
        self.cells.get(at).copied().unwrap_or(Cell::EMPTY)
    }

    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.capacity as u64) >> 32) as usize
    }

    fn after(&self, at: usize) -> usize {
        let next = at + 1;
        if next == self.capacity { 0 } else { next }
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        (to + self.capacity - from) % self.capacity
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn it_equals_a_model_also_when_many_hashes_collide() {
        for spread in [40, u32::MAX] {
            let mut random = fastrand::Rng::with_seed(3);
            let (mut table, mut model) = (HashTable::new(), HashMap::new());
            let hash = |number: u32| number.wrapping_mul(0x9E37_79B9) % spread;
            for step in 0..8000 {
                let number = random.u32(..600);
                let growing = step / 2000 % 2 == 0;
                if random.u32(..100) < if growing { 20 } else { 70 } {
                    table.remove(hash(number), number);
                    model.remove(&number);
                } else if model.insert(number, ()).is_none() {
                    table.insert(hash(number), number);
                }
                let probe = random.u32(..600);
                let found = table.find(hash(probe), |number| number == probe);
                assert_eq!(found.is_some(), model.contains_key(&probe));
                assert_eq!(table.filled, model.len());
            }
        }
    }
}
