//! Wall time.

use std::sync::Arc;

use jiff::Timestamp;

/// Tells what time it is. Timers are tokio's; this is only for times that are written down.
#[derive(Clone)]
pub struct Clock(Source);

#[derive(Clone)]
enum Source {
    System,
    Simulated(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that says what `now` says.
    pub fn simulated(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Source::Simulated(Arc::new(now)))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Simulated(now) => now(),
        }
    }
}
