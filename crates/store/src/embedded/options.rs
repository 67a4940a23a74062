//! What may be chosen about an embedded store.

use std::time::Duration;

use super::disk_work::DiskWork;

/// What may be chosen about an embedded store. The defaults are right for a server.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// The past that is always kept, unless it is more than the other bounds allow. Older changes
    /// go when enough of them have come together to be worth the work.
    pub history_age: Duration,
    /// The past in bytes on the disk. Beyond it, or beyond the size of the state if that is more,
    /// the older half is forgotten.
    pub history_bytes: u64,
    /// The past in changes, of which each costs about a hundred bytes of memory. Beyond it the
    /// older half is forgotten.
    pub history_changes: usize,
    /// The newest changes in bytes of memory, for followers that are nearly up to date. Those that
    /// are further behind read from the disk.
    pub tail_bytes: usize,
    /// The size of the largest file of the log. A larger commit gets a larger file.
    pub segment_bytes: u32,
    /// Where work that waits for the disk is done.
    pub disk_work: DiskWork,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            history_age: Duration::from_secs(600),
            history_bytes: 512 * 1024 * 1024,
            history_changes: 500_000,
            tail_bytes: 8 * 1024 * 1024,
            segment_bytes: 16 * 1024 * 1024,
            disk_work: DiskWork::BlockingThreads,
        }
    }
}
