//! How long to wait after an error, and how long to bear internal ones.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    connection::Ended,
    settings::{BackoffSettings, ReflectorSettings},
};
use crate::SourceError;

/// After so long without an internal error, patience begins anew.
const PATIENCE_RESTORED_AFTER: Duration = Duration::from_secs(60);

/// Waits that grow from error to error.
#[derive(Debug)]
pub(super) struct Backoff {
    settings: BackoffSettings,
    next: Duration,
    last: Option<Instant>,
    patience: Duration,
    internal_errors: Option<Errors>,
}

/// Internal errors that belong together.
#[derive(Debug)]
struct Errors {
    first: Instant,
    last: Instant,
}

/// Whether an internal error may still pass by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Left,
    Gone,
}

impl Backoff {
    pub(super) fn new(settings: &ReflectorSettings) -> Self {
        Self {
            settings: settings.backoff.clone(),
            next: settings.backoff.first,
            last: None,
            patience: settings.internal_error_patience,
            internal_errors: None,
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
        delay.mul_f64(1.0 + self.settings.jitter * random.f64())
    }

    /// Whether another watch is worth a try after this one.
    pub(super) fn patience(&mut self, ended: &Ended) -> Patience {
        if !matches!(ended, Ended::Failed(SourceError::Internal { .. })) {
            return Patience::Left;
        }
        let now = Instant::now();
        let before = self.internal_errors.take();
        let recent = before.filter(|errors| now - errors.last < PATIENCE_RESTORED_AFTER);
        let first = recent.map_or(now, |errors| errors.first);
        if self.patience.is_zero() || now - first > self.patience {
            return Patience::Gone;
        }
        self.internal_errors = Some(Errors { first, last: now });
        Patience::Left
    }
}
