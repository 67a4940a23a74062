//! Concurrent clients, lost connections and restarts, all chosen by one seed.
//!
//! A run records what its clients did and saw; it judges nothing.

mod circumstances;
pub(crate) mod kind;
pub(crate) mod ledger;
mod plan;
mod world;
pub(crate) mod writer;
pub(crate) mod lister;
pub(crate) mod follower;
mod prober;
mod restarter;

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use tokio::task::JoinSet;

pub use circumstances::{CacheSize, Circumstances, Past, StreamLife};
pub use kind::Kind;
pub use plan::{FollowerBeginning, FollowerPlan, Pace, Plan};

use self::world::{Phase, World};
use crate::{
    history::{Freshness, History, StopManner},
    selection::Selection,
    target::Target,
};

/// A run that takes longer than this hangs.
const RUN_TIMEOUT: Duration = Duration::from_secs(300);

/// Runs the plan against the target, and returns what the clients did and saw.
pub async fn run(plan: Plan, target: &mut Target) -> anyhow::Result<History> {
    let run = tokio::time::timeout(RUN_TIMEOUT, run_to_the_end(plan, target)).await;
    run.context("the run hangs")?
}

async fn run_to_the_end(plan: Plan, target: &mut Target) -> anyhow::Result<History> {
    let world = Arc::new(World::new(plan));
    world.server_is_up(target.start().await?);
    writer::prepare(&world).await?;

    // The witness has its place before anything is written.
    let mut readers = JoinSet::new();
    for number in 0..world.plan.followers.len() {
        let ready = world.expect_reader();
        readers.spawn(follower::run(Arc::clone(&world), number, ready));
    }
    world.all_readers_ready().await;
    for number in 0..world.plan.listers {
        readers.spawn(lister::run(Arc::clone(&world), number));
    }
    for number in 0..world.plan.probers {
        readers.spawn(prober::run(Arc::clone(&world), number));
    }
    let mut writers = JoinSet::new();
    for number in 0..world.plan.writers {
        writers.spawn(writer::run(Arc::clone(&world), number));
    }

    let mut history = History::default();
    let restarts = restarter::run(&world, target, &mut writers, &mut history).await;
    history.restarts = restarts?;
    let last = lister::list(
        &world,
        &Selection::everything(),
        Freshness::MostRecent,
        None,
    )
    .await?;
    let through = last.at().context("the last list is refused")?;
    history.lists.push(last);
    world.enter(Phase::Draining { through });
    while let Some(part) = readers.join_next().await {
        history.extend(part??);
    }
    target.stop(StopManner::Graceful).await?;
    Ok(history)
}
