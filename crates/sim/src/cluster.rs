//! Three servers in front of three members of etcd, clients that go from one server to the next,
//! and faults of every kind while they work. What the clients saw is held to every promise.

mod fault;
mod ground;
mod injector;
mod line;
mod lister;
mod plan;
mod prober;
mod report;
mod server;
mod stage;
mod watcher;
mod witness;
mod writer;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use listwatch_api::ResourceVersion;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

pub use fault::{Fault, PlannedFault};
pub use line::Passage;
pub use listwatch_etcd::testing::{Program, Release};
pub use plan::ClusterPlan;
pub use report::ClusterReport;

use self::{ground::Ground, injector::Injector, plan::Paging, stage::Stage, witness::Witness};
use crate::{
    checkers,
    history::{Freshness, History, ObjectKey, WriteOutcome},
    selection::Selection,
};

/// How long what was sent before the end may still take effect: nothing must change for so long.
const SETTLED: Duration = Duration::from_secs(2);

/// How long settling may take.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long everything may take beyond the time that the clients work.
const OVERTIME_MAX: Duration = Duration::from_secs(240);

/// What is put together.
#[derive(Clone, Debug)]
pub struct ClusterParts {
    /// The `listwatch` command.
    pub binary: PathBuf,
    /// The etcd to run.
    pub program: Program,
    /// Which release that is, for the command that repeats the run.
    pub release: Release,
}

/// Runs a plan and holds what happened to every promise. The error tells how to run it again; what
/// was logged and recorded is then kept.
pub async fn run(plan: ClusterPlan, parts: &ClusterParts) -> anyhow::Result<ClusterReport> {
    let folder = folder(&plan, parts.release)?;
    let repeat = repeat_command(&plan, parts.release);
    let limit = plan.duration + OVERTIME_MAX;
    let run = tokio::time::timeout(limit, judged(plan, parts, &folder)).await;
    let judged = run.context("the run hangs").and_then(|judged| judged);
    match judged {
        Ok(report) => {
            fs::remove_dir_all(&folder)?;
            Ok(report)
        }
        Err(error) => Err(error.context(format!(
            "the run failed; what it left is in {}; again with: {repeat}",
            folder.display()
        ))),
    }
}

fn folder(plan: &ClusterPlan, release: Release) -> anyhow::Result<PathBuf> {
    let name = format!("{release:?}-{}-{}", plan.seed, std::process::id());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cluster");
    let folder = folder.join(name.to_lowercase());
    fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

fn repeat_command(plan: &ClusterPlan, release: Release) -> String {
    let release = format!("{release:?}").to_lowercase();
    format!(
        "cargo run -p listwatch-sim -- cluster --seconds {} --seed {} --etcd {release}",
        plan.duration.as_secs(),
        plan.seed
    )
}

async fn judged(
    plan: ClusterPlan,
    parts: &ClusterParts,
    folder: &Path,
) -> anyhow::Result<ClusterReport> {
    let (history, report) = record(plan, parts, folder).await?;
    let verdict = if checkers::is_witnessed(&history) {
        checkers::check(&history)
    } else {
        keep(folder, &history)?;
        bail!("the witness has not seen everything, so nothing can be said:\n{report}");
    };
    if !verdict.holds() {
        keep(folder, &history)?;
        let excerpt = history.excerpt(&verdict.to_string());
        bail!("promises were broken:\n{report}\n{verdict}\nwhat these speak of:\n{excerpt}");
    }
    Ok(report)
}

fn keep(folder: &Path, history: &History) -> anyhow::Result<()> {
    let mut file = fs::File::create(folder.join("history.txt"))?;
    Ok(file.write_all(history.transcript().as_bytes())?)
}

/// Runs the plan to its end.
async fn record(
    plan: ClusterPlan,
    parts: &ClusterParts,
    folder: &Path,
) -> anyhow::Result<(History, ClusterReport)> {
    let mut ground = Ground::start(&parts.program, &parts.binary, folder).await?;
    let stage = Arc::new(Stage::new(plan, ground.clients()?));
    writer::prepare(&stage).await?;
    let witness = Witness::start(ground.etcd_settings(), &stage.ledger).await?;
    let mut clients = JoinSet::new();
    let mut watchers = JoinSet::new();
    for number in 0..stage.plan.watchers.len() {
        watchers.spawn(watcher::run(Arc::clone(&stage), number));
    }
    for number in 0..stage.plan.writers.len() {
        clients.spawn(writer::run(Arc::clone(&stage), number));
    }
    for number in 0..stage.plan.listers.len() {
        clients.spawn(lister::run(Arc::clone(&stage), number));
    }
    for number in 0..stage.plan.probers.len() {
        clients.spawn(prober::run(Arc::clone(&stage), number));
    }
    let injector = Injector::new(&mut ground, Arc::clone(&stage), witness.record())?;
    let toll = injector.run().await?;
    let fared = stage.fared();
    let mut history = History::default();
    while let Some(part) = clients.join_next().await {
        history.extend(part??);
    }
    ground.all_answer().await?;
    let last = settle(&stage, &mut history).await?;
    stage.ends_with(last);
    while let Some(part) = watchers.join_next().await {
        history.extend(part??);
    }
    last_lists(&stage, last, &mut history).await?;
    history.watches.insert(0, witness.finish(last).await?);
    history.restarts.clone_from(&toll.restarts);
    history.gaps = ground.gaps(witness::PREFIX);
    let report = ClusterReport::new(&history, toll, fared, ground.exits());
    Ok((history, report))
}

/// Waits until nothing changes any more, then writes one last object, and tells its version.
async fn settle(stage: &Stage, history: &mut History) -> anyhow::Result<ResourceVersion> {
    let deadline = Instant::now() + SETTLE_TIMEOUT;
    let everything = Selection::everything();
    let mut route = stage::Route::to(0);
    let mut seen = Vec::new();
    loop {
        let what = (&everything, Freshness::MostRecent, Paging::Whole);
        let list = lister::list(stage, &mut route, what).await?;
        let items: Vec<_> = list.items().cloned().collect();
        let settled = list.at().is_some() && items == seen;
        seen = items;
        history.lists.push(list);
        if settled {
            break;
        }
        anyhow::ensure!(Instant::now() < deadline, "it does not settle");
        sleep(SETTLED).await;
    }
    let mut last = None;
    while last.is_none() {
        anyhow::ensure!(Instant::now() < deadline, "the last write fails");
        let number = history.writes.len();
        let key = ObjectKey::new(plan::KIND.namespaces()[0], &format!("zz-{number}"));
        let write = writer::write_last(stage, key).await?;
        last = write.as_ref().and_then(|write| match &write.outcome {
            WriteOutcome::Stored(object) => Some(object.version),
            _ => None,
        });
        history.writes.extend(write);
    }
    last.context("it was waited for")
}

/// What every server shows in the end, by itself and when asked for the newest.
async fn last_lists(
    stage: &Stage,
    last: ResourceVersion,
    history: &mut History,
) -> anyhow::Result<()> {
    let everything = Selection::everything();
    for mut route in stage.servers() {
        for freshness in [
            Freshness::MostRecent,
            Freshness::NotOlderThan(last),
            Freshness::Exactly(last),
        ] {
            let what = (&everything, freshness, Paging::Whole);
            let list = lister::list(stage, &mut route, what).await?;
            anyhow::ensure!(
                list.at().is_some(),
                "a server shows nothing in the end: {:?}",
                list.end
            );
            history.lists.push(list);
        }
    }
    Ok(())
}
