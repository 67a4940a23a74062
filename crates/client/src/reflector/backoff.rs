//! How long to wait after an error.

use std::time::Duration;

use tokio::time::Instant;

use super::settings::BackoffSettings;

/// Waits that grow from error to error.
#[derive(Debug)]
pub(super) struct Backoff {
    settings: BackoffSettings,
    next: Duration,
    last: Option<Instant>,
}

impl Backoff {
    pub(super) fn new(settings: BackoffSettings) -> Self {
        Self {
            next: settings.first,
            last: None,
            settings,
        }
    }

    /// How long to wait now.
    pub(super) fn delay(&mut self, random: &mut fastrand::Rng) -> Duration {
        let now = Instant::now();
        let quiet = self.last.map(|last| now - last);
        if quiet.is_some_and(|quiet| quiet >= self.settings.reset_after) {
            self.next = self.settings.first;
        }
        self.last = Some(now);
        let delay = self.next.min(self.settings.cap);
        self.next = delay.saturating_mul(self.settings.factor);
        delay.mul_f64(1.0 + self.settings.jitter.max(0.0) * random.f64())
    }
}
