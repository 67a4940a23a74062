//! Where work that waits for the disk is done.

use tokio::{runtime::Handle, task::JoinHandle};

/// Where work that waits for the disk is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskWork {
    /// On the runtime's threads for blocking work.
    #[default]
    BlockingThreads,
    /// In tasks of the runtime, one after the other: for a simulated disk, which never waits, so
    /// that a runtime of one thread does everything in one order.
    Tasks,
}

impl DiskWork {
    /// Does something in its own time. Wants to be called within a runtime.
    pub(crate) fn start<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        match self {
            Self::BlockingThreads => tokio::task::spawn_blocking(work),
            Self::Tasks => tokio::spawn(async move { work() }),
        }
    }

    /// Does something that can be done another time, if there is a runtime.
    pub(crate) fn start_if_possible(self, work: impl FnOnce() + Send + 'static) {
        if Handle::try_current().is_ok() {
            self.start(work);
        }
    }
}
