//! What a stretch of work costs the server, and what it costs the one who drives it.

use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::contender::Running;
use crate::resources::Resources;

/// A stretch that has begun.
pub(crate) struct Meter {
    server: Resources,
    store: Resources,
    begun: Instant,
    server_cpu: Duration,
    store_cpu: Duration,
    own_cpu: Duration,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Spent {
    /// CPU time of the server and its store together, where their processes are known.
    pub(crate) server: Option<Duration>,
    /// That of a store alone that is a process of its own.
    pub(crate) store: Option<Duration>,
    /// CPU time of the load generator.
    pub(crate) own: Duration,
    /// Time on the clock.
    pub(crate) elapsed: Duration,
}

impl Spent {
    /// Seconds of CPU time for each of this many, where it is known.
    pub(crate) fn cpu_each(&self, count: u64) -> Option<f64> {
        Some(self.server?.as_secs_f64() / count.max(1) as f64)
    }

    /// The same, or seconds on the clock where it is not.
    pub(crate) fn dearness(&self, count: u64) -> f64 {
        let clock = || self.elapsed.as_secs_f64() / count.max(1) as f64;
        self.cpu_each(count).unwrap_or_else(clock)
    }
}

impl Meter {
    /// Begins.
    pub(crate) fn start(running: &Running) -> Result<Self> {
        let (server, store) = (running.resources(), running.store());
        Ok(Self {
            server_cpu: server.cpu()?,
            store_cpu: store.cpu()?,
            own_cpu: Resources::own().cpu()?,
            begun: Instant::now(),
            server,
            store,
        })
    }

    /// Ends.
    pub(crate) fn stop(self) -> Result<Spent> {
        let elapsed = self.begun.elapsed();
        Ok(Spent {
            server: since(&self.server, self.server_cpu),
            store: since(&self.store, self.store_cpu),
            own: Resources::own().cpu()?.saturating_sub(self.own_cpu),
            elapsed,
        })
    }
}

/// What was spent since then, unless it is unknown: a server that was restarted is another process,
/// whose beginning was not seen.
fn since(resources: &Resources, before: Duration) -> Option<Duration> {
    let known = resources.is_known().then(|| resources.cpu().ok());
    Some(known??.saturating_sub(before))
}
