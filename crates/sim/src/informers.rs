//! Informers in simulation: one seed, one run, one verdict.
//!
//! A model server of several kinds, an informer of each, handlers that come and go, and every fault
//! that the way between them knows, all in simulated time and all by the seed's choice. What
//! happens is taken down in a [`trace`], which the [`checkers`] hold to the promises.

pub mod trace;
pub mod source;
pub mod server;
pub mod handlers;
pub mod simulation;
pub mod checkers;
#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use anyhow::{Context, bail};

use self::trace::{Event, Notice, Trace};

/// How much happened in a run: a promise kept by a run without faults says little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Runs.
    pub runs: usize,
    /// Changes at the server.
    pub changes: usize,
    /// Times that the server went back to an earlier state.
    pub restores: usize,
    /// Other faults.
    pub faults: usize,
    /// Whole states that were handed over.
    pub fills: usize,
    /// Handlers that were added.
    pub joined: usize,
    /// Handlers that were removed.
    pub removed: usize,
    /// Notifications.
    pub told: usize,
    /// Notifications that only told something again.
    pub resyncs: usize,
    /// Times that a handler was told that it had missed something.
    pub lagged: usize,
    /// Panics of handlers.
    pub panics: usize,
    /// Times that a handler was compared with the cache.
    pub compared: usize,
    /// Reads that waited for a version.
    pub reads: usize,
}

/// Runs one seed and holds what happened to every promise. The error tells how to run it again.
pub fn run(seed: u64) -> anyhow::Result<Summary> {
    let trace = record(seed)?;
    let broken = checkers::check(&trace);
    let summary = Summary::of(&trace);
    if broken.is_empty() {
        return Ok(summary);
    }
    let mut text = String::new();
    for broken in broken {
        writeln!(text, "{broken}")?;
    }
    bail!(
        "seed {seed} breaks promises: {summary}\n\n{text}\n\
         again with: cargo run -p listwatch-sim -- informers --seed {seed}"
    )
}

/// Runs one seed.
pub fn record(seed: u64) -> anyhow::Result<Trace> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    let runtime = runtime.context("no runtime")?;
    Ok(runtime.block_on(simulation::run(seed)))
}

impl Summary {
    /// What happened in a run.
    pub fn of(trace: &Trace) -> Self {
        let mut summary = Self {
            runs: 1,
            ..Self::default()
        };
        for event in &trace.events {
            let count = match event {
                Event::Changed { .. } => &mut summary.changes,
                Event::Restored => &mut summary.restores,
                Event::Fault(_) => &mut summary.faults,
                Event::Filled { .. } => &mut summary.fills,
                Event::Joined { .. } => &mut summary.joined,
                Event::Removed(_) => &mut summary.removed,
                Event::Told(_, Notice::Lagged) => &mut summary.lagged,
                Event::Told(_, Notice::Updated { old, new }) if old == new => &mut summary.resyncs,
                Event::Told(..) => &mut summary.told,
                Event::Panicked(_) => &mut summary.panics,
                Event::CaughtUp(..) => &mut summary.compared,
                Event::Read { .. } => &mut summary.reads,
                Event::Synced(_)
                | Event::Looked { .. }
                | Event::Waits { .. }
                | Event::Quiet(..) => continue,
            };
            *count += 1;
        }
        summary
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            changes: self.changes + other.changes,
            restores: self.restores + other.restores,
            faults: self.faults + other.faults,
            fills: self.fills + other.fills,
            joined: self.joined + other.joined,
            removed: self.removed + other.removed,
            told: self.told + other.told,
            resyncs: self.resyncs + other.resyncs,
            lagged: self.lagged + other.lagged,
            panics: self.panics + other.panics,
            compared: self.compared + other.compared,
            reads: self.reads + other.reads,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            runs,
            changes,
            restores,
            faults,
            fills,
            joined,
            removed,
            told,
            resyncs,
            lagged,
            panics,
            compared,
            reads,
        } = self;
        write!(
            formatter,
            "{runs} runs, {changes} changes, {restores} restores, {faults} other faults, \
             {fills} fills, {joined} handlers added and {removed} removed, {told} notifications, \
             {resyncs} of a resync, {lagged} of a lag, {panics} panics, {compared} comparisons, \
             {reads} reads"
        )
    }
}
