//! The time of day, which comes in through the door.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Where the time of day comes from. Lifetimes are counted in it, so that they survive a restart.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl WallClock {
    /// The clock of the machine.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn system() -> Self {
        Self::new(SystemTime::now)
    }

    /// A clock that shows what the function says.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time since 1970.
    pub(crate) fn since_epoch(&self) -> Duration {
        let now = (self.0)();
        now.duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Milliseconds since 1970.
    pub(crate) fn milliseconds(&self) -> u64 {
        u64::try_from(self.since_epoch().as_millis()).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WallClock")
    }
}
