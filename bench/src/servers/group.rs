//! Groups of scenarios: each starts a server of its own and finds its numbers there.

use anyhow::Result;
use clap::ValueEnum;

use super::{
    churn,
    contender::{Contender, Store},
    entry::Entry,
    fanout, growth,
    measure::Findings,
    meter::Meter,
    objects, reads,
    report::Outcome,
    sizes::Sizes,
    stage::Stage,
    start, storms, writes,
};

/// Scenarios that share one start of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Start and memory.
    Start,
    /// Creates, patches, updates.
    Writes,
    /// Gets and lists.
    Reads,
    /// One write to many watches.
    Fanout,
    /// Many writes to 25 watches.
    Churn,
    /// Lists at once.
    Lists,
    /// Watches that come back at once.
    Resumes,
    /// Watches beside others that are stalled.
    Stalled,
    /// How cost grows.
    Growth,
}

impl Group {
    /// What stands above its table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Start => "Start and memory",
            Self::Writes => "Writes",
            Self::Reads => "Gets and lists",
            Self::Fanout => "Fan-out",
            Self::Churn => "Watch-churn",
            Self::Lists => "List storm",
            Self::Resumes => "Resume storm",
            Self::Stalled => "Slow watchers",
            Self::Growth => "How cost grows",
        }
    }

    /// Whether it can be measured there.
    pub(crate) fn suits(self, contender: &Contender) -> bool {
        match self {
            // Nothing is left after a restart, and what others have started is theirs to restart.
            Self::Resumes => match contender {
                Contender::Ours { store, .. } => *store != Store::Memory,
                Contender::Peer { .. } => true,
                Contender::Given(_) => false,
            },
            Self::Growth => match contender {
                Contender::Ours { store, .. } => *store == Store::Embedded,
                Contender::Peer { .. } | Contender::Given(_) => true,
            },
            Self::Start | Self::Writes | Self::Reads | Self::Fanout => true,
            Self::Churn | Self::Lists | Self::Stalled => true,
        }
    }

    /// Starts the server and measures the group there; a failure is part of the outcome.
    pub(crate) async fn outcome(self, entry: &Entry, sizes: &Sizes) -> Result<Outcome> {
        let mut stage = Stage {
            contender: &entry.contender,
            running: entry.contender.start().await?,
            sizes,
            findings: Findings::default(),
        };
        if entry.contender.is_given() {
            objects::clear(&stage.running.endpoint).await?;
        }
        let meter = Meter::start(&stage.running)?;
        let failure = self.measure(&mut stage).await.err();
        let outcome = Outcome {
            role: entry.role,
            name: entry.name.clone(),
            spent: meter.stop()?,
            findings: stage.findings,
            failure: failure.map(|error| format!("{error:#}")),
        };
        stage.running.stop().await?;
        Ok(outcome)
    }

    async fn measure(self, stage: &mut Stage<'_>) -> Result<()> {
        match self {
            Self::Start => start::measure(stage).await,
            Self::Writes => writes::measure(stage).await,
            Self::Reads => reads::measure(stage).await,
            Self::Fanout => fanout::measure(stage).await,
            Self::Churn => churn::measure(stage).await,
            Self::Lists => storms::measure_lists(stage).await,
            Self::Resumes => storms::measure_resumes(stage).await,
            Self::Stalled => fanout::measure_stalled(stage).await,
            Self::Growth => growth::measure(stage).await,
        }
    }
}
