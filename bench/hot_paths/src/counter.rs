//! What is counted: what happens within sections, and nothing else.

use std::{alloc::System, hint::black_box};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The function whose instructions callgrind collects, with all that it calls.
pub(crate) const SECTION: &str = "hot_path_section";

/// Counts what sections allocate, and marks them for callgrind.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    stage: Stage,
    allocated: Allocated,
}

/// What was asked of the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocated {
    /// How often memory was asked for, or more of it.
    pub(crate) times: u64,
    /// How much in all.
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
enum Stage {
    /// Nothing counts yet, so that what is only done at first is left out.
    #[default]
    WarmingUp,
    Counting,
}

impl Counter {
    /// Counts from here on.
    pub(crate) fn begin(&mut self) {
        self.stage = Stage::Counting;
    }

    /// Does something that counts.
    pub(crate) fn section<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let Stage::Counting = self.stage else {
            return work();
        };
        let region = Region::new(ALLOCATOR);
        let result = hot_path_section(work);
        let change = region.change();
        self.allocated.times += (change.allocations + change.reallocations) as u64;
        self.allocated.bytes += change.bytes_allocated as u64;
        result
    }

    /// What the sections have allocated.
    pub(crate) fn allocated(&self) -> Allocated {
        self.allocated
    }
}

#[inline(never)]
fn hot_path_section<T>(work: impl FnOnce() -> T) -> T {
    // Without the box the call could become a jump, which ends the section before it began.
    black_box(work())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happens_in_a_section_after_the_beginning_counts() {
        let mut counter = Counter::default();
        let allocate = || Vec::<u8>::with_capacity(1_000);
        drop(counter.section(allocate));
        assert_eq!(counter.allocated(), Allocated::default());
        counter.begin();
        drop(black_box(allocate()));
        drop(counter.section(allocate));
        let allocated = counter.allocated();
        assert!(allocated.times >= 1 && allocated.bytes >= 1_000);
    }
}
