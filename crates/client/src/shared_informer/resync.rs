//! When a handler is told everything again.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::{Instant, sleep_until};

/// The shortest period between two resyncs of one handler. Shorter ones are raised to it.
pub const RESYNC_PERIOD_MIN: Duration = Duration::from_secs(1);

/// How far a period may be off, so that the handlers of many programs do not all work at once.
const RESYNC_JITTER: f64 = 0.1;

/// The longest period that is told from never.
const RESYNC_PERIOD_MAX: Duration = Duration::from_hours(24 * 365);

/// One handler's own timer. It runs from the end of one resync to the begin of the next, so a
/// slow handler has at most one to do.
pub(super) struct ResyncTimer {
    period: Option<Duration>,
    next: Option<Instant>,
    random: Rng,
}

impl ResyncTimer {
    /// A timer that does not run yet. No period, or one of zero, is never due.
    pub(super) fn new(period: Option<Duration>, random: Rng) -> Self {
        let period = period.filter(|period| !period.is_zero());
        Self {
            period: period.map(|period| period.clamp(RESYNC_PERIOD_MIN, RESYNC_PERIOD_MAX)),
            next: None,
            random,
        }
    }

    /// Lets it run, unless it does.
    pub(super) fn run(&mut self) {
        if let (Some(period), None) = (self.period, self.next) {
            let factor = 1.0 + RESYNC_JITTER * (2.0 * self.random.f64() - 1.0);
            self.next = Some(Instant::now() + period.mul_f64(factor));
        }
    }

    pub(super) fn stop(&mut self) {
        self.next = None;
    }

    pub(super) fn is_due(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    pub(super) async fn due(&self) {
        match self.next {
            Some(next) => sleep_until(next).await,
            None => std::future::pending().await,
        }
    }
}
