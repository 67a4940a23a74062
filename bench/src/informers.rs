//! Informers beside each other: filling a cache, filling it again, following events.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tokio::{process::Command, time::Instant};

use crate::{
    firehose::Firehose,
    load,
    process::Process,
    table::{self, megabytes},
};

/// What to measure.
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// Pods in the cache.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    /// Updates that are sent through each informer.
    #[arg(long, default_value_t = 200_000)]
    events: usize,
    /// The program made of bench/client_go; left out when absent.
    #[arg(long)]
    client_go: Option<PathBuf>,
    /// Measures only the informers whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
    /// The server to fill the caches from.
    #[arg(long, default_value = "target/release/listwatch")]
    server: PathBuf,
}

/// The informer whose reads are counted at the server.
const OURS: &str = "listwatch, raw";

/// An informer in a program of its own.
struct Peer {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    /// Whether it keeps indexes, without which its events are another work.
    indexes: Indexes,
}

#[derive(PartialEq, Eq)]
enum Indexes {
    Two,
    None,
}

/// Measures and prints.
pub(crate) async fn run(plan: &Plan) -> Result<()> {
    let peers = peers(plan)?;
    fill(plan, &peers).await?;
    follow(plan, &peers).await
}

fn peers(plan: &Plan) -> Result<Vec<Peer>> {
    let own = std::env::current_exe()?;
    let beside = |name: &str| own.with_file_name(name);
    let ours = |name, arguments| Peer {
        name,
        program: beside("informer_listwatch"),
        arguments,
        indexes: Indexes::Two,
    };
    let mut peers = vec![
        ours(OURS, &["raw"]),
        ours("listwatch, packed", &["packed"]),
        ours("listwatch, typed", &["typed"]),
        Peer {
            name: "kube-rs, typed",
            program: beside("informer_kube_rs"),
            arguments: &[],
            indexes: Indexes::None,
        },
    ];
    if let Some(program) = &plan.client_go {
        let client_go = |name, arguments| Peer {
            name,
            program: program.clone(),
            arguments,
            indexes: Indexes::Two,
        };
        peers.push(client_go("client-go, typed", &["--form=typed"]));
        peers.push(client_go("client-go, dynamic", &["--form=dynamic"]));
    }
    peers.retain(|peer| peer.name.contains(&plan.only));
    Ok(peers)
}

impl Peer {
    fn start(&self, address: &str) -> Result<Process> {
        let url = format!("http://{address}");
        let mut command = Command::new(&self.program);
        if self.program.ends_with("informer_listwatch") || self.indexes == Indexes::None {
            command.arg(url).args(self.arguments);
        } else {
            command.args(self.arguments).arg("--server").arg(url);
        }
        Process::start(&mut command)
    }

    /// Starts it and waits until its cache is full.
    async fn sync(&self, address: &str, objects: usize) -> Result<(Process, Duration)> {
        let begun = Instant::now();
        let mut process = self.start(address)?;
        let synced = process.expect("synced").await?;
        let elapsed = begun.elapsed();
        ensure!(
            synced.parse::<usize>()? == objects,
            "{} sees {synced}",
            self.name
        );
        Ok((process, elapsed))
    }
}

/// Fills each cache from a real server, and reads a million objects from ours.
async fn fill(plan: &Plan, peers: &[Peer]) -> Result<()> {
    let (server, address) = start_server(&plan.server).await?;
    load::create_pods(&address, 0..plan.objects).await?;
    let mut rows = Vec::new();
    for peer in peers {
        let (process, elapsed) = peer.sync(&address, plan.objects).await?;
        let cpu = process.cpu()?;
        process.settle().await?;
        rows.push(vec![
            peer.name.to_owned(),
            format!("{:.2} s", elapsed.as_secs_f64()),
            format!("{:.2} s", cpu.as_secs_f64()),
            megabytes(process.resident()?),
            megabytes(process.peak()?),
            format!("{:.2}", process.peak()? as f64 / process.resident()? as f64),
        ]);
    }
    table::print(
        &format!("First fill: {} pods from `listwatch serve`", plan.objects),
        &[
            "informer",
            "synced after",
            "CPU",
            "resident",
            "peak",
            "peak : resident",
        ],
        &rows,
    );
    if let Some(ours) = peers.iter().find(|peer| peer.name == OURS) {
        read(plan, ours, &address).await?;
    }
    drop(server);
    Ok(())
}

/// Reads from the cache what would otherwise be asked of the server.
async fn read(plan: &Plan, peer: &Peer, address: &str) -> Result<()> {
    const READS: usize = 1_000_000;
    const GETS: usize = 100_000;
    let (mut process, _) = peer.sync(address, plan.objects).await?;
    process.settle().await?;
    let answered = load::requests_answered(address).await?;
    let begun = Instant::now();
    process.ask(&format!("reads {READS}")).await?;
    let reads = begun.elapsed();
    let asked = load::requests_answered(address).await? - answered;
    let begun = Instant::now();
    load::get_pods(address, 0..GETS, plan.objects).await?;
    let gets = begun.elapsed();
    let rate = |count: usize, time: Duration| format!("{:.0}/s", count as f64 / time.as_secs_f64());
    table::print(
        "Reads of single pods",
        &["from", "reads", "rate", "requests at the server"],
        &[
            vec![
                "the cache".to_owned(),
                READS.to_string(),
                rate(READS, reads),
                asked.to_string(),
            ],
            vec![
                "the server, 32 connections".to_owned(),
                GETS.to_string(),
                rate(GETS, gets),
                GETS.to_string(),
            ],
        ],
    );
    Ok(())
}

/// Relists and events, from a source that is never the bottleneck.
async fn follow(plan: &Plan, peers: &[Peer]) -> Result<()> {
    let firehose = Firehose::start(plan.objects).await?;
    let address = firehose.address.to_string();
    let (mut relists, mut rates) = (Vec::new(), Vec::new());
    for peer in peers {
        let (mut process, _) = peer.sync(&address, plan.objects).await?;
        process.settle().await?;
        let resident = process.resident()?;
        process.forget_peak()?;
        let before = process.cpu()?;
        firehose.expire()?;
        process.settle().await?;
        let cpu = process.cpu()? - before;
        relists.push(vec![
            peer.name.to_owned(),
            format!("{:.2} s", cpu.as_secs_f64()),
            megabytes(resident),
            megabytes(process.peak()?),
            format!("{:.2}", process.peak()? as f64 / resident as f64),
        ]);
        process.ask("reset").await?;
        let before = process.cpu()?;
        let begun = Instant::now();
        firehose.change(plan.events)?;
        process.ask(&format!("events {}", plan.events)).await?;
        let (elapsed, cpu) = (begun.elapsed(), process.cpu()? - before);
        rates.push(rate_row(peer, plan.events, elapsed, cpu));
    }
    table::print(
        &format!("Relist of {} pods, none of them changed", plan.objects),
        &[
            "informer",
            "CPU",
            "resident before",
            "peak",
            "peak : resident",
        ],
        &relists,
    );
    table::print(
        &format!(
            "{} updates of {} byte pods to one handler",
            plan.events,
            firehose.pod_bytes()
        ),
        &[
            "informer",
            "indexes",
            "took",
            "CPU per event",
            "events per CPU second",
        ],
        &rates,
    );
    Ok(())
}

fn rate_row(peer: &Peer, events: usize, elapsed: Duration, cpu: Duration) -> Vec<String> {
    let indexes = match peer.indexes {
        Indexes::Two => "two",
        Indexes::None => "none",
    };
    vec![
        peer.name.to_owned(),
        indexes.to_owned(),
        format!("{:.2} s", elapsed.as_secs_f64()),
        format!("{:.1} µs", cpu.as_secs_f64() * 1e6 / events as f64),
        format!("{:.0}", events as f64 / cpu.as_secs_f64()),
    ]
}

async fn start_server(program: &Path) -> Result<(Process, String)> {
    let mut command = Command::new(program);
    command.args(["serve", "--memory", "--listen", "127.0.0.1:0"]);
    command.stderr(std::process::Stdio::null());
    let mut server = Process::start(&mut command)?;
    let address = server.expect("listening on http://").await?;
    let address = address.split_whitespace().next();
    let address = address.context("no address")?.to_owned();
    Ok((server, address))
}
