//! What listwatch costs beside its peers, measured in one run.

mod firehose;
mod informers;
mod load;
mod pods;
mod process;
mod resources;
mod servers;
mod table;

use clap::{Parser, Subcommand};

/// Measures listwatch beside its peers, on the same work, turn about.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    scene: Scene,
}

#[derive(Debug, Subcommand)]
enum Scene {
    /// Informers: ours, client-go's and kube-rs'. Prints the tables of docs/benchmarks.md.
    Informers(informers::Plan),
    /// Servers: ours on each of its stores, and kube-apiserver on etcd.
    Servers(Box<servers::Plan>),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Arguments::parse().scene {
        Scene::Informers(plan) => informers::run(&plan).await,
        Scene::Servers(plan) => servers::run(&plan).await,
    }
}
