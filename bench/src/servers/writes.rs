//! Creates, merge patches and updates, over few and many connections.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::{
    drive::{Driven, Limit, Load, drive_metered},
    measure::{Bar, Unit},
    meter::Spent,
    objects::Pods,
    rounds,
    stage::{Stage, expect},
    template::Template,
    watch::reserve_marks,
};

/// Pods that are patched and updated, in turn, if there are to be as many.
const POOL_MAX: u64 = 1_000;
/// Writes that one load may make.
const WRITES_MAX: u64 = 500_000;
/// Connections at which creates are held to their bars and drawn.
const CONNECTIONS_BARRED: usize = 64;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Pods that were not there.
    Create,
    /// One annotation.
    MergePatch,
    /// Whole pods.
    Update,
}

/// Pods that are there, and numbers that no pod has yet.
pub(crate) struct Pool {
    pods: Pods,
    there: u64,
    free: u64,
}

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    let there = stage.sizes.objects_least().min(POOL_MAX);
    let mut pool = Pool::of(stage.fill(there).await?, there);
    for verb in [Verb::Create, Verb::MergePatch, Verb::Update] {
        for connections in stage.sizes.connections.clone() {
            write(stage, &mut pool, (verb, connections)).await?;
        }
    }
    Ok(())
}

impl Pool {
    /// Pods with numbers below this are there.
    pub(crate) fn of(pods: Pods, there: u64) -> Self {
        Self {
            pods,
            there,
            free: there,
        }
    }

    /// Which pod each turn writes, and how.
    fn load(&mut self, verb: Verb) -> (Template, Arc<dyn Fn(u64) -> u64 + Send + Sync>) {
        let (there, free) = (self.there, self.free);
        match verb {
            Verb::Create => {
                self.free += WRITES_MAX;
                (self.pods.create(), Arc::new(move |turn| free + turn))
            }
            Verb::MergePatch => (self.pods.patch(), Arc::new(move |turn| turn % there)),
            Verb::Update => (self.pods.update(), Arc::new(move |turn| turn % there)),
        }
    }
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::MergePatch => "merge patch",
            Self::Update => "update",
        }
    }
}

/// Writes over this many connections, in several rounds.
pub(crate) async fn write(
    stage: &mut Stage<'_>,
    pool: &mut Pool,
    (verb, connections): (Verb, usize),
) -> Result<()> {
    let mut rounds: Vec<(Driven, Spent)> = Vec::new();
    for _ in 0..stage.sizes.rounds {
        rounds.push(round(stage, pool, (verb, connections)).await?);
    }
    let dearness = |(driven, spent): &(Driven, Spent)| spent.dearness(driven.granted);
    let (driven, spent) = rounds::middle(rounds, dearness).context("there was a round")?;
    let verb_name = verb.name();
    let name = match connections {
        1 => format!("{verb_name}, 1 connection"),
        _ => format!("{verb_name}, {connections} connections"),
    };
    let barred = connections == CONNECTIONS_BARRED;
    let found = stage.findings.add(&*name, driven.rate(), Unit::PerSecond);
    if verb == Verb::Create && barred {
        found.bar(Bar::Better(8.0));
    }
    let found = stage.cpu(format!("{name}: CPU each"), spent, driven.granted);
    match verb {
        Verb::Create if barred => expect(found, Bar::Better(10.0)),
        Verb::MergePatch => expect(found, Bar::Better(15.0)),
        Verb::Create | Verb::Update => {}
    }
    let slow = driven.latency.quantile(0.99);
    stage.findings.time(format!("{name}: p99"), slow);
    if barred && verb != Verb::Update {
        stage.draw_latency(&name, &driven.latency);
    }
    Ok(())
}

async fn round(
    stage: &Stage<'_>,
    pool: &mut Pool,
    (verb, connections): (Verb, usize),
) -> Result<(Driven, Spent)> {
    let first_mark = reserve_marks(WRITES_MAX);
    let (template, number) = pool.load(verb);
    let load = Load::closed(connections, Limit::Time(stage.sizes.time()));
    let driven = drive_metered(&stage.running, load, move |turn, request| {
        template.fill(number(turn.number), first_mark + turn.number, request);
    });
    let (driven, meter) = driven.await?;
    Ok((driven.clean()?, meter.stop()?))
}
