//! The time of day, for what is written down. Timers are tokio's.

use std::{fmt, sync::Arc};

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::MicroTime, jiff::Timestamp};

/// Tells the time that people read in a Lease or an Event. Nothing is decided by it.
#[derive(Clone)]
pub struct WallClock(Source);

#[derive(Clone)]
enum Source {
    System,
    Simulated(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

impl WallClock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that says what `now` says.
    pub fn simulated(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Source::Simulated(Arc::new(now)))
    }

    /// The time now, as finely as Kubernetes writes it: so it reads back as the same.
    pub fn now(&self) -> MicroTime {
        let now = match &self.0 {
            Source::System => Timestamp::now(),
            Source::Simulated(now) => now(),
        };
        let microseconds = Timestamp::from_microsecond(now.as_microsecond());
        MicroTime(microseconds.expect("a time made coarser stays in range"))
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("WallClock").finish_non_exhaustive()
    }
}
