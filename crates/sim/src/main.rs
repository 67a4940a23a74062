//! Tries seeds on a server, by hand and for as long as one likes.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};
use listwatch_sim::trial::{self, Subject, Summary};
use tokio::time::Instant;

/// Runs concurrent clients with lost connections and restarts against a server, and holds what they
/// saw to every promise of docs/guarantees.md.
#[derive(Debug, Parser)]
struct Arguments {
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StoreChoice {
    Memory,
    Embedded,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let subject = match (arguments.binary, arguments.store) {
        (Some(path), _) => Subject::Binary(path),
        (None, StoreChoice::Memory) => Subject::Memory,
        (None, StoreChoice::Embedded) => Subject::Embedded,
    };
    let random = || fastrand::Rng::new().u64(..1 << 32);
    let first = arguments.seed.unwrap_or_else(random);
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
