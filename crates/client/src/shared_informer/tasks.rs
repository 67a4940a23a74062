//! The tasks that belong to one informer, so that its end can be awaited.

use tokio::sync::watch;

/// Counts tasks.
pub(super) struct Tasks {
    running: watch::Sender<usize>,
}

/// Held by a task as long as it runs.
pub(super) struct Running {
    running: watch::Sender<usize>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self {
            running: watch::Sender::new(0),
        }
    }

    pub(super) fn begin(&self) -> Running {
        self.running.send_modify(|running| *running += 1);
        Running {
            running: self.running.clone(),
        }
    }

    /// Waits until no task runs.
    pub(super) async fn ended(&self) {
        let mut running = self.running.subscribe();
        // An error says that all senders are gone, and with them all tasks.
        let _ = running.wait_for(|running| *running == 0).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.running.send_modify(|running| *running -= 1);
    }
}
