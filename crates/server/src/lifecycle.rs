//! From starting to stopped, told to whoever needs to act on it.

use tokio::sync::watch;

/// How far the server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Loading its state. Answers health checks only.
    Starting,
    /// Answers everything.
    Serving,
    /// Not ready any more: finishes what is in flight, ends watches, takes nothing new.
    Draining,
}

/// The server's phase, which only moves forward.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    phase: watch::Sender<Phase>,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Starting),
        }
    }
}

impl Lifecycle {
    /// The phase now.
    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Moves on to a later phase; an earlier one changes nothing.
    pub(crate) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let moves = to > *phase;
            *phase = (*phase).max(to);
            moves
        });
    }

    /// A handle that outlives the borrow, for tasks that end when draining begins.
    pub(crate) fn drain_signal(&self) -> DrainSignal {
        DrainSignal(self.phase.subscribe())
    }
}

/// Tells one task when draining begins.
#[derive(Clone, Debug)]
pub(crate) struct DrainSignal(watch::Receiver<Phase>);

impl DrainSignal {
    /// Waits until draining begins. Cancel safe.
    pub(crate) async fn draining(&mut self) {
        // A dropped sender means that the server itself is gone: the same to a task.
        let _ = self.0.wait_for(|phase| *phase == Phase::Draining).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_phase_never_goes_back() {
        let lifecycle = Lifecycle::default();
        let mut signal = lifecycle.drain_signal();
        lifecycle.advance(Phase::Draining);
        lifecycle.advance(Phase::Serving);
        assert_eq!(lifecycle.phase(), Phase::Draining);
        signal.draining().await;
    }
}
