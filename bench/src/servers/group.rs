//! Groups of scenarios: each starts a server of its own and finds its numbers there.

use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{
    churn, entry::Entry, fanout, measure::Findings, meter::Meter, multiplexed, objects, reads,
    report::Outcome, selector, sizes::Sizes, stage::Stage, stalled, start, stores, storms, writes,
};

/// How long one server may take for a group; what it has found by then counts.
const TIME_MAX: Duration = Duration::from_secs(30 * 60);

/// Scenarios that share one start of a server. How long each takes is told for two cores.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
pub(crate) enum Group {
    /// Start and memory; 3 minutes
    Start,
    /// Creates, patches, updates; 3 minutes
    Writes,
    /// Gets and lists; 8 minutes
    Reads,
    /// A selector that matches nothing; 6 minutes
    Selector,
    /// One write to many watches; 6 minutes
    Fanout,
    /// Gets and watches over HTTP/2; 2 minutes
    Http2,
    /// Many writes to 25 watches; 4 minutes
    Churn,
    /// Lists at once; 2 minutes
    Lists,
    /// Watches that come back at once; 1 minute
    Resumes,
    /// Watches beside others that are stalled; 2 minutes
    Stalled,
    /// Ours on each of its stores; 4 minutes
    Stores,
}

impl Group {
    /// What stands above its table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Start => "Start and memory",
            Self::Writes => "Writes",
            Self::Reads => "Gets and lists",
            Self::Selector => "A selector that matches nothing",
            Self::Fanout => "Fan-out",
            Self::Http2 => "HTTP/2",
            Self::Churn => "Watch-churn",
            Self::Lists => "List storm",
            Self::Resumes => "Resume storm",
            Self::Stalled => "Slow watchers",
            Self::Stores => "Our stores",
        }
    }

    /// What a reader must know to read its table.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::Start => Some(START_NOTE),
            Self::Churn => Some(CHURN_NOTE),
            Self::Http2 => Some(HTTP2_NOTE),
            Self::Stores => Some(STORES_NOTE),
            Self::Writes | Self::Reads | Self::Selector | Self::Fanout => None,
            Self::Lists | Self::Resumes | Self::Stalled => None,
        }
    }

    /// Where it stands in the document.
    pub(crate) fn place(self) -> Option<usize> {
        Self::value_variants().iter().position(|it| *it == self)
    }

    /// Whether it can be measured there.
    pub(crate) fn suits(self, entry: &Entry) -> bool {
        match self {
            Self::Stores => entry.store.is_some(),
            // Nothing is left after a restart, and what others have started is theirs to restart.
            Self::Resumes => entry.is_compared() && entry.contender.keeps_objects(),
            Self::Start | Self::Writes | Self::Reads | Self::Selector | Self::Fanout => {
                entry.is_compared()
            }
            Self::Http2 | Self::Churn | Self::Lists | Self::Stalled => entry.is_compared(),
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
        let measured = timeout(TIME_MAX, self.measure(&mut stage)).await;
        let failure = match measured {
            Ok(measured) => measured.err(),
            Err(_) => Some(anyhow!("{} minutes were over", TIME_MAX.as_secs() / 60)),
        };
        let outcome = Outcome {
            role: entry.role_in(self),
            name: entry.name_in(self),
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
            Self::Selector => selector::measure(stage).await,
            Self::Fanout => fanout::measure(stage).await,
            Self::Http2 => multiplexed::measure(stage).await,
            Self::Churn => churn::measure(stage).await,
            Self::Lists => storms::measure_lists(stage).await,
            Self::Resumes => storms::measure_resumes(stage).await,
            Self::Stalled => stalled::measure(stage).await,
            Self::Stores => stores::measure(stage).await,
        }
    }
}

const START_NOTE: &str = "\
Memory per object is what a further one takes when as many are there, after creates alone: history \
then holds no object that is not there, and what it holds beside them is counted. *many sizes* are \
spread evenly, so that no class of sizes of an allocator makes luck; their padding is random. \
Starting with objects there means the store too, after both were killed.";

const CHURN_NOTE: &str = "\
25 watches, and ConfigMaps that are each created, updated twice and deleted over one of the \
connections. The lag is from a write being sent to its event being read; *delivered* is of the \
writes that were granted. A watch that the server ends is opened again where it was, as clients do \
it, and where everything is when the server has forgotten that.";

const HTTP2_NOTE: &str = "\
100 watches share a connection. Over TLS for kube-apiserver, by prior knowledge for ours.";

const STORES_NOTE: &str = "\
The relation is that of the server alone, without what etcd takes.";
