//! What every group of scenarios works with.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::{
    contender::{Contender, Running},
    histogram::Histogram,
    measure::{Bar, Findings, Measure, Unit},
    meter::Spent,
    objects::{self, Pods},
    plot::{Across, Drawing, Point},
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

    /// Starts the server anew on an empty store; one that others have started stays as it is.
    pub(crate) async fn restart_empty(&mut self) -> Result<()> {
        if self.contender.is_given() {
            return Ok(());
        }
        let fresh = self.contender.start().await?;
        std::mem::replace(&mut self.running, fresh).stop().await
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

    /// Draws how long the slowest waited.
    pub(crate) fn draw_latency(&mut self, panel: &str, latency: &Histogram) {
        let parts = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
        let points = parts.map(|part| Point {
            drawing: Drawing::Latency,
            panel: panel.to_owned(),
            across: Across::Part(part),
            seconds: latency.quantile(part).as_secs_f64(),
        });
        self.findings.points.extend(points);
    }

    /// Draws what one of something costs when this much is there.
    pub(crate) fn draw_growth(&mut self, panel: &str, across: Across, cpu: Option<f64>) {
        let point = cpu.map(|seconds| Point {
            drawing: Drawing::Growth,
            panel: panel.to_owned(),
            across,
            seconds,
        });
        self.findings.points.extend(point);
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
        let each = |cpu: Duration| cpu.as_secs_f64() / count.max(1) as f64;
        let found = self
            .findings
            .add(scenario, each(spent.server?), Unit::Seconds);
        found.store = spent.store.map(each);
        Some(found)
    }
}

/// Says what is expected of a measure, if it was taken.
pub(crate) fn expect(measure: Option<&mut Measure>, bar: Bar) {
    if let Some(measure) = measure {
        measure.bar(bar);
    }
}
