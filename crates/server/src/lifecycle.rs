//! From starting to stopped, told to whoever needs to act on it.

use std::pin::Pin;

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
        let mut phase = self.phase.subscribe();
        // The phase in which it is made may be the last.
        phase.mark_changed();
        DrainSignal(phase)
    }
}

/// Is over when draining begins.
pub(crate) type DrainWait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells one task when draining begins.
#[derive(Clone, Debug)]
pub(crate) struct DrainSignal(watch::Receiver<Phase>);

impl DrainSignal {
    /// The phase, if it has changed since this was last asked. Costs a glance while it does not.
    pub(crate) fn news(&mut self) -> Option<Phase> {
        match self.0.has_changed() {
            Ok(false) => None,
            Ok(true) => Some(*self.0.borrow_and_update()),
            Err(_) => Some(Phase::Draining),
        }
    }

    /// The wait for draining, for tasks that wait for other things as well, again and again.
    pub(crate) fn wait(&self) -> DrainWait {
        let mut signal = self.clone();
        Box::pin(async move { signal.draining().await })
    }

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
        assert_eq!(signal.news(), Some(Phase::Starting));
        assert_eq!(signal.news(), None);
        lifecycle.advance(Phase::Draining);
        lifecycle.advance(Phase::Serving);
        assert_eq!(lifecycle.phase(), Phase::Draining);
        assert_eq!(signal.news(), Some(Phase::Draining));
        assert_eq!(signal.news(), None);
        assert_eq!(lifecycle.drain_signal().news(), Some(Phase::Draining));
        signal.wait().await;
        signal.draining().await;
    }
}
