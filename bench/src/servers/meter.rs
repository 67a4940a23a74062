//! What a stretch of work costs the server, and what it costs the one who drives it.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

use super::contender::Running;
use crate::resources::Resources;

/// A stretch that has begun.
pub(crate) struct Meter {
    server: Resources,
    begun: Instant,
    server_cpu: Duration,
    own_cpu: Duration,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// CPU time of the server and its store, where their processes are known.
    pub(crate) server: Option<Duration>,
    /// CPU time of the load generator.
    pub(crate) own: Duration,
    /// Time on the clock.
    pub(crate) elapsed: Duration,
}

impl Meter {
    /// Begins.
    pub(crate) fn start(running: &Running) -> Result<Self> {
        let server = running.resources();
        Ok(Self {
            server_cpu: server.cpu()?,
            own_cpu: Resources::own().cpu()?,
            begun: Instant::now(),
            server,
        })
    }

    /// Ends.
    pub(crate) fn stop(self) -> Result<Spent> {
        let elapsed = self.begun.elapsed();
        // A server that was restarted is another process, whose beginning was not seen.
        let server = self.server.cpu().ok();
        let server = server.filter(|_| self.server.is_known());
        Ok(Spent {
            server: server.map(|cpu| cpu.saturating_sub(self.server_cpu)),
            own: Resources::own().cpu()?.saturating_sub(self.own_cpu),
            elapsed,
        })
    }
}
