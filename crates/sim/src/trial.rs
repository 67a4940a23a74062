//! One seed, one server, one verdict.

use std::{fmt, path::PathBuf};

use anyhow::{Context, bail};

use crate::{
    checkers,
    history::{Ending, Frame, History, Refusal, WatchStart, WriteOutcome},
    target::{Binary, InProcess, Target},
    workload::{self, Past, Plan},
};

/// What a seed is tried on.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A server in this process on a store in memory, which outlives it.
    Memory,
    /// A server in this process on the embedded store.
    Embedded,
    /// The command at this path.
    Binary(PathBuf),
}

impl Subject {
    /// The subject of this name, as it stands in `regressions.txt`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "memory" => Some(Self::Memory),
            "embedded" => Some(Self::Embedded),
            _ => None,
        }
    }
}

/// How much happened in a run: a promise kept by a run without conflicts or restarts says little.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Writes that were acknowledged.
    pub acknowledged: usize,
    /// Writes that lost against another.
    pub conflicts: usize,
    /// Writes without an answer.
    pub unknown: usize,
    /// Writes refused for no reason that the workload gave.
    pub refused: usize,
    /// Reads of one object.
    pub reads: usize,
    /// Lists.
    pub lists: usize,
    /// Watch streams.
    pub streams: usize,
    /// Streams that went on from a version and brought something.
    pub resumed: usize,
    /// Streams that could not go on.
    pub expired: usize,
    /// Events on all streams.
    pub events: usize,
    /// Bookmarks on all streams.
    pub bookmarks: usize,
    /// Restarts of the server.
    pub restarts: usize,
    /// Runs of which nothing can be said: the server forgot something before anybody had seen it.
    pub inconclusive: usize,
}

/// Runs one seed and holds what happened to every promise. The error tells how to run it again.
pub async fn run(seed: u64, subject: &Subject) -> anyhow::Result<Summary> {
    let judged = record(seed, subject).await.and_then(|run| run.judge());
    judged.with_context(|| {
        let replay = replay_command(seed, subject);
        format!("seed {seed} failed; again with: {replay}")
    })
}

/// A run and what its clients did and saw.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was to be done.
    pub plan: Plan,
    /// What happened.
    pub history: History,
}

/// Runs one seed.
pub async fn record(seed: u64, subject: &Subject) -> anyhow::Result<Run> {
    let plan = Plan::from_seed(seed);
    let mut target = match subject {
        Subject::Memory => Target::InProcess(InProcess::on_memory(&plan.circumstances)),
        Subject::Embedded => Target::InProcess(InProcess::on_disk(&plan.circumstances)?),
        Subject::Binary(path) => Target::Binary(Binary::new(path, &plan.circumstances)?),
    };
    let history = workload::run(plan.clone(), &mut target).await?;
    Ok(Run { plan, history })
}

impl Run {
    /// Holds what happened to every promise.
    pub fn judge(&self) -> anyhow::Result<Summary> {
        let mut summary = Summary::of(&self.history);
        if self.plan.circumstances.past == Past::Whole && summary.expired > 0 {
            bail!("something expired, though all of the past was there: {summary}");
        }
        if self.plan.circumstances.past == Past::Short && !checkers::is_witnessed(&self.history) {
            summary.inconclusive = 1;
            return Ok(summary);
        }
        let verdict = checkers::check(&self.history);
        if !verdict.holds() {
            bail!("promises were broken: {summary}\n\n{verdict}");
        }
        Ok(summary)
    }
}

fn replay_command(seed: u64, subject: &Subject) -> String {
    let subject = match subject {
        Subject::Memory => "--store memory".to_owned(),
        Subject::Embedded => "--store embedded".to_owned(),
        Subject::Binary(path) => format!("--binary {}", path.display()),
    };
    format!("cargo run -p listwatch-sim -- --seed {seed} {subject}")
}

impl Summary {
    /// What happened in a run.
    pub fn of(history: &History) -> Self {
        let mut summary = Self {
            reads: history.reads.len(),
            lists: history.lists.len(),
            streams: history.watches.len(),
            restarts: history.restarts.len(),
            ..Self::default()
        };
        for write in &history.writes {
            match &write.outcome {
                WriteOutcome::Stored(_) | WriteOutcome::Deleted { .. } => summary.acknowledged += 1,
                WriteOutcome::Refused(Refusal::Conflict) => summary.conflicts += 1,
                WriteOutcome::Refused(Refusal::Other(_)) => summary.refused += 1,
                WriteOutcome::Refused(_) => {}
                WriteOutcome::Unknown => summary.unknown += 1,
            }
        }
        for watch in &history.watches {
            let resumed = matches!(watch.start, WatchStart::After(..)) && !watch.frames.is_empty();
            summary.resumed += usize::from(resumed);
            summary.expired += usize::from(watch.ending == Ending::Expired);
            for received in &watch.frames {
                match received.frame {
                    Frame::Bookmark(_) | Frame::InitialEventsEnd(_) => summary.bookmarks += 1,
                    Frame::Added(_) | Frame::Modified(_) | Frame::Deleted(_) => summary.events += 1,
                }
            }
        }
        summary
    }

    /// The same, with what happened in another run.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            acknowledged: self.acknowledged + other.acknowledged,
            conflicts: self.conflicts + other.conflicts,
            unknown: self.unknown + other.unknown,
            refused: self.refused + other.refused,
            reads: self.reads + other.reads,
            lists: self.lists + other.lists,
            streams: self.streams + other.streams,
            resumed: self.resumed + other.resumed,
            expired: self.expired + other.expired,
            events: self.events + other.events,
            bookmarks: self.bookmarks + other.bookmarks,
            restarts: self.restarts + other.restarts,
            inconclusive: self.inconclusive + other.inconclusive,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} writes ({} conflicts, {} unknown, {} refused), {} reads, {} lists, \
             {} streams ({} resumed, {} expired) with {} events and {} bookmarks, {} restarts, \
             {} inconclusive",
            self.acknowledged,
            self.conflicts,
            self.unknown,
            self.refused,
            self.reads,
            self.lists,
            self.streams,
            self.resumed,
            self.expired,
            self.events,
            self.bookmarks,
            self.restarts,
            self.inconclusive,
        )
    }
}
