//! How the cost of one create, one list and one event grows with what is there.

use anyhow::Result;

use super::{
    drive::Pace,
    fanout::{self, Interest, Round},
    measure::Unit,
    meter::Meter,
    objects::{self, PODS, Pods},
    reads,
    stage::Stage,
};

/// Objects for each watch.
const OBJECTS_PER_WATCH: u64 = 100;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Panel {
    /// CPU time of a create.
    Create,
    /// CPU time of a full list.
    List,
    /// CPU time of an event.
    Event,
}

/// One point of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Where it belongs.
    pub(crate) panel: Panel,
    /// How many there are.
    pub(crate) size: u64,
    /// Seconds of CPU time.
    pub(crate) seconds: f64,
}

impl Panel {
    /// All, in their order.
    pub(crate) const ALL: [Self; 3] = [Self::Create, Self::List, Self::Event];

    /// What stands above it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Create => "CPU per create",
            Self::List => "CPU per full list",
            Self::Event => "CPU per event",
        }
    }

    /// What its sizes count.
    pub(crate) fn sizes(self) -> &'static str {
        match self {
            Self::Create | Self::List => "objects there",
            Self::Event => "watches",
        }
    }
}

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    if !stage.sees_processes() {
        return Ok(());
    }
    objects::make_namespaces(&stage.running.endpoint).await?;
    let pods = Pods::new(&stage.running.endpoint, stage.sizes.object_bytes);
    let mut filled = 0;
    for size in stage.sizes.growth.clone() {
        let meter = Meter::start(&stage.running)?;
        pods.fill(filled..size).await?;
        let spent = meter.stop()?;
        note(
            stage,
            Panel::Create,
            size,
            spent.server.map(|cpu| cpu / (size - filled) as u32),
        );
        filled = size;
        let listed = reads::list(stage, PODS).await?;
        note(stage, Panel::List, size, listed.cpu_each());
        let watchers = (size / OBJECTS_PER_WATCH).max(1);
        let round = Round {
            watchers,
            stalled: 0,
            interest: Interest::All,
            updates: (stage.sizes.events / watchers).clamp(20, 2_000),
            pace: Pace::Closed,
        };
        let fanned = fanout::run(stage, &pods, round).await?;
        let each = fanned.spent.server.map(|cpu| cpu / fanned.events as u32);
        note(stage, Panel::Event, watchers, each);
    }
    let order = |title: &str| {
        Panel::ALL
            .iter()
            .position(|it| title.starts_with(it.title()))
    };
    stage
        .findings
        .measures
        .sort_by_key(|measure| order(&measure.scenario));
    Ok(())
}

fn note(stage: &mut Stage<'_>, panel: Panel, size: u64, cpu: Option<std::time::Duration>) {
    let Some(cpu) = cpu else { return };
    let seconds = cpu.as_secs_f64();
    let name = format!(
        "{}, {} {}",
        panel.title(),
        Unit::Count.text(size as f64),
        panel.sizes()
    );
    stage.findings.time(name, cpu);
    stage.findings.points.push(Point {
        panel,
        size,
        seconds,
    });
}
