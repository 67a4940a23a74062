//! What every group of scenarios works with.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::{
    contender::{Contender, Running},
    measure::{Bar, Findings, Measure},
    meter::Spent,
    objects::{self, Pods},
    sizes::Sizes,
};

/// One server, freshly started, and what was found on it.
pub(crate) struct Stage<'run> {
    /// How it was started.
    pub(crate) contender: &'run Contender,
    /// The server.
    pub(crate) running: Running,
    /// How much to do.
    pub(crate) sizes: &'run Sizes,
    /// What came of it.
    pub(crate) findings: Findings,
}

impl Stage<'_> {
    /// Pods with numbers below this, in the namespaces that they need.
    pub(crate) async fn fill(&self, count: u64) -> Result<Pods> {
        let pods = Pods::new(&self.running.endpoint, self.sizes.object_bytes);
        objects::make_namespaces(&self.running.endpoint).await?;
        pods.fill(0..count).await?;
        Ok(pods)
    }

    /// Memory of the server and its store once it has come to rest.
    pub(crate) async fn resident(&self) -> Result<u64> {
        sleep(Duration::from_secs_f64(self.sizes.settle)).await;
        self.running.resources().resident()
    }

    /// Whether the server's processes are known, without which memory says nothing.
    pub(crate) fn sees_processes(&self) -> bool {
        self.running.resources().is_known()
    }

    /// Tells a reader something that is no number.
    pub(crate) fn note(&mut self, note: String) {
        self.findings.notes.push(note);
    }

    /// Notes the CPU time of one of `count` things, where it is known.
    pub(crate) fn cpu(
        &mut self,
        scenario: String,
        spent: Spent,
        count: u64,
    ) -> Option<&mut Measure> {
        let cpu = spent.server?.as_secs_f64() / count.max(1) as f64;
        let each = Duration::from_secs_f64(cpu);
        Some(self.findings.time(scenario, each))
    }
}

/// Says what is expected of a measure, if it was taken.
pub(crate) fn expect(measure: Option<&mut Measure>, bar: Bar) {
    if let Some(measure) = measure {
        measure.bar(bar);
    }
}
