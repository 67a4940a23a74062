//! Requests being answered at one time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for requests, counted apart for reads and writes so that neither starves the other.
#[derive(Debug)]
pub(crate) struct InFlight {
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
}

/// A place among the requests in flight, free again when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
}

impl InFlight {
    /// Room for so many of each.
    pub(crate) fn new(reads_max: usize, writes_max: usize) -> Self {
        Self {
            reads: Arc::new(Semaphore::new(reads_max)),
            writes: Arc::new(Semaphore::new(writes_max)),
        }
    }

    /// A place for a read, or `None` when all are taken.
    pub(crate) fn read(&self) -> Option<Slot> {
        take(&self.reads)
    }

    /// A place for a write, or `None` when all are taken.
    pub(crate) fn write(&self) -> Option<Slot> {
        take(&self.writes)
    }
}

fn take(semaphore: &Arc<Semaphore>) -> Option<Slot> {
    let permit = Arc::clone(semaphore).try_acquire_owned().ok()?;
    Some(Slot { _permit: permit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_house_of_reads_leaves_room_for_writes() {
        let in_flight = InFlight::new(1, 1);
        let slot = in_flight.read();
        assert!(slot.is_some() && in_flight.read().is_none());
        assert!(in_flight.write().is_some());
        drop(slot);
        assert!(in_flight.read().is_some());
    }
}
