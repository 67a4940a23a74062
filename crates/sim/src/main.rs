//! Tries seeds on a server, by hand and for as long as one likes.

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use listwatch_sim::{
    cluster::{self, ClusterParts, ClusterPlan, Program, Release},
    crash::{self, CrashPlan},
    informers,
    soak::{self, Place, SoakPlan},
    trial::{self, Subject, Summary},
};
use tokio::{runtime::Runtime, time::Instant};

/// Runs concurrent clients with lost connections and restarts against a server, and holds what they
/// saw to every promise of docs/guarantees.md.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    scene: Option<Scene>,
    #[command(flatten)]
    trial: TrialArguments,
}

#[derive(Debug, Subcommand)]
enum Scene {
    /// Kills the command while many connections create objects, and looks for every one that it
    /// had acknowledged.
    Crash(CrashArguments),
    /// Lets informers of every kind follow a server that goes down over a network that breaks, and
    /// holds their caches against the list in the end.
    Soak(SoakArguments),
    /// Runs informers on a model server in simulated time, with everything that can go wrong
    /// between them, and holds what they tell and show to the promises of docs/guarantees.md.
    Informers(InformersArguments),
    /// Runs three servers in front of three members of etcd, lets every kind of fault happen to
    /// both while clients go from server to server, and holds what they saw to every promise.
    Cluster(ClusterArguments),
}

#[derive(Args, Debug)]
struct ClusterArguments {
    /// The `listwatch` command.
    #[arg(long, default_value = "target/debug/listwatch")]
    binary: PathBuf,
    /// Which etcd, as `cargo xtask tools etcd` installs them.
    #[arg(long, value_enum, default_value_t = EtcdChoice::Current)]
    etcd: EtcdChoice,
    /// What clients do, and what goes wrong when, follows from this. A random one when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// For how long clients work and things go wrong.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(20..))]
    seconds: u64,
    /// Print what would be done, and when, and do nothing.
    #[arg(long)]
    plan: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EtcdChoice {
    Current,
    Debian,
}

#[derive(Args, Debug)]
struct InformersArguments {
    /// The first seed; the next ones follow it. A random one when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// For how long to try one seed after the other. One seed only when absent.
    #[arg(long)]
    seconds: Option<u64>,
}

#[derive(Args, Debug)]
struct TrialArguments {
    /// The first seed; the next ones follow it. A random one when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// For how long to try one seed after the other. One seed only when absent.
    #[arg(long)]
    seconds: Option<u64>,
    /// The store of a server in this process.
    #[arg(long, value_enum, default_value_t = StoreChoice::Embedded)]
    store: StoreChoice,
    /// The `listwatch` command to run instead, killed for real.
    #[arg(long, conflicts_with = "store")]
    binary: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct CrashArguments {
    /// The `listwatch` command.
    #[arg(long)]
    binary: PathBuf,
    /// What the moments of the kills follow from. A random one when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Connections that create objects all the time.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How often the server is killed.
    #[arg(long, default_value_t = 5)]
    kills: usize,
    /// How many writes are acknowledged at most before each kill.
    #[arg(long, default_value_t = 4_000)]
    writes: u64,
    /// The size of each object.
    #[arg(long, default_value_t = 4_096)]
    bytes: usize,
}

#[derive(Args, Debug)]
struct SoakArguments {
    /// The `listwatch` command, killed and started again. A server in this process when absent.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// A server of the Kubernetes API at `http://host:port` instead, such as an idle cluster
    /// behind `kubectl proxy`. It is not restarted, and keeps what was put into it.
    #[arg(long, conflicts_with = "binary")]
    address: Option<String>,
    /// What all chance follows from. A random one when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// How many objects there are.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// For how long things change and break.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many writes are tried in a second.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    writes_per_second: u32,
    /// How often the server goes down.
    #[arg(long, default_value_t = 4)]
    restarts: u32,
    /// How often half of all connections break at once.
    #[arg(long, default_value_t = 12)]
    storms: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StoreChoice {
    Memory,
    Embedded,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.scene {
        None => Runtime::new()?.block_on(try_seeds(arguments.trial)),
        Some(Scene::Crash(arguments)) => Runtime::new()?.block_on(try_crashes(arguments)),
        Some(Scene::Soak(arguments)) => Runtime::new()?.block_on(try_soaking(arguments)),
        Some(Scene::Cluster(arguments)) => Runtime::new()?.block_on(try_cluster(arguments)),
        Some(Scene::Informers(arguments)) => try_informers(&arguments),
    }
}

async fn try_cluster(arguments: ClusterArguments) -> anyhow::Result<()> {
    let seed = arguments.seed.unwrap_or_else(random_seed);
    let plan = ClusterPlan::new(seed, Duration::from_secs(arguments.seconds));
    if arguments.plan {
        eprintln!("{plan}");
        return Ok(());
    }
    let release = match arguments.etcd {
        EtcdChoice::Current => Release::Current,
        EtcdChoice::Debian => Release::Debian,
    };
    let program = Program::find(release);
    let program = program.context("no such etcd is here: run `cargo xtask tools etcd`")?;
    eprintln!("seed {seed}");
    let parts = ClusterParts {
        binary: arguments.binary,
        program,
        release,
    };
    let report = cluster::run(plan, &parts).await?;
    eprintln!("every promise was kept:\n{report}");
    Ok(())
}

fn try_informers(arguments: &InformersArguments) -> anyhow::Result<()> {
    let first = arguments.seed.unwrap_or_else(random_seed);
    let end = Instant::now() + Duration::from_secs(arguments.seconds.unwrap_or(0));
    let mut total = informers::Summary::default();
    for seed in first.. {
        let summary = informers::run(seed)?;
        eprintln!("seed {seed}: {summary}");
        total = total.plus(&summary);
        if Instant::now() >= end {
            break;
        }
    }
    eprintln!("every promise was kept: {total}");
    Ok(())
}

async fn try_seeds(arguments: TrialArguments) -> anyhow::Result<()> {
    let subject = match (arguments.binary, arguments.store) {
        (Some(path), _) => Subject::Binary(path),
        (None, StoreChoice::Memory) => Subject::Memory,
        (None, StoreChoice::Embedded) => Subject::Embedded,
    };
    let first = arguments.seed.unwrap_or_else(random_seed);
    let end = Instant::now() + Duration::from_secs(arguments.seconds.unwrap_or(0));
    let mut total = Summary::default();
    for seed in first.. {
        let summary = trial::run(seed, &subject).await?;
        eprintln!("seed {seed}: {summary}");
        total = total.plus(&summary);
        if Instant::now() >= end {
            break;
        }
    }
    eprintln!("every promise was kept: {total}");
    Ok(())
}

async fn try_crashes(arguments: CrashArguments) -> anyhow::Result<()> {
    let plan = CrashPlan {
        seed: arguments.seed.unwrap_or_else(random_seed),
        connections: arguments.connections,
        kills: arguments.kills,
        writes_per_life_max: arguments.writes,
        object_bytes: arguments.bytes,
    };
    eprintln!("seed {}", plan.seed);
    let summary = crash::run(&plan, &arguments.binary).await?;
    eprintln!(
        "nothing was lost: {} writes acknowledged, {} without an answer, {} objects after {} kills",
        summary.acknowledged, summary.unknown, summary.objects, summary.kills
    );
    Ok(())
}

async fn try_soaking(arguments: SoakArguments) -> anyhow::Result<()> {
    let place = match (arguments.binary, arguments.address) {
        (Some(path), _) => Place::Command(path),
        (None, Some(address)) => Place::Elsewhere(address),
        (None, None) => Place::InProcess,
    };
    let plan = SoakPlan {
        seed: arguments.seed.unwrap_or_else(random_seed),
        objects: arguments.objects,
        duration: Duration::from_secs(arguments.seconds),
        writes_per_second: arguments.writes_per_second,
        restarts: arguments.restarts,
        storms: arguments.storms,
    };
    eprintln!("seed {}", plan.seed);
    let summary = soak::run(&plan, &place).await?;
    eprintln!("every cache equals the list: {summary}");
    Ok(())
}

fn random_seed() -> u64 {
    fastrand::Rng::new().u64(..1 << 32)
}
