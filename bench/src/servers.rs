//! Servers beside each other: the same work on each, turn about, and a table of what it took.

mod churn;
mod connection;
mod contender;
mod document;
mod drive;
mod endpoint;
mod entry;
mod etcd;
mod fanout;
mod given;
mod group;
mod histogram;
mod http;
mod http2;
mod kube_apiserver;
mod limits;
mod lines;
mod machine;
mod measure;
mod meter;
mod multiplexed;
mod objects;
mod plot;
mod program;
mod reads;
mod report;
mod results;
mod rounds;
mod selector;
mod sizes;
mod stage;
mod stalled;
mod start;
mod storms;
mod stores;
mod template;
mod tls;
mod watch;
mod writes;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use self::{
    contender::Store, entry::Entry, given::Given, group::Group, machine::Run, report::Section,
    results::Results, sizes::Sizes,
};

/// What to measure.
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// Our server
    #[arg(long, value_name = "FILE", default_value = "target/release/listwatch")]
    listwatch: PathBuf,
    /// The peer; looked for on the PATH when left out
    #[arg(long, value_name = "FILE")]
    kube_apiserver: Option<PathBuf>,
    /// What to call the peer, when it does not know its own version
    #[arg(long, value_name = "VERSION")]
    kube_apiserver_version: Option<String>,
    /// The store of the peer, and one of ours; looked for on the PATH when left out
    #[arg(long, value_name = "FILE")]
    etcd: Option<PathBuf>,
    /// The stores that ours is measured on; the first is held against the peer in every group, the
    /// others appear in the group `stores`
    #[arg(long, value_delimiter = ',', default_values = ["embedded", "memory", "etcd"])]
    stores: Vec<Store>,
    /// Measures this server instead of starting ours
    #[arg(long, value_name = "url=URL,...")]
    ours: Option<Given>,
    /// Measures this server instead of starting the peer:
    /// url=URL[,token-file=FILE][,ca=FILE|,insecure][,cert=FILE,key=FILE][,pids=1+2]
    #[arg(long, value_name = "url=URL,...")]
    theirs: Option<Given>,
    /// Whom ours is measured beside
    #[arg(long, value_enum, default_value = "peer")]
    beside: Beside,
    /// Measures only these groups of scenarios; all take about 40 minutes on two cores
    #[arg(long, value_delimiter = ',')]
    only: Vec<Group>,
    /// Writes the tables into this document and the drawings beside it; groups that are not
    /// measured now stay as they are there
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// As little as possible, to see that everything works
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    sizes: Sizes,
}

/// Who is measured beside ours.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Beside {
    /// The peer, if there is one.
    Peer,
    /// Nobody.
    Nobody,
}

/// Measures, prints the tables and writes them down where that was asked for.
pub(crate) async fn run(plan: &Plan) -> Result<()> {
    let sizes = match plan.quick {
        true => Sizes::quick(),
        false => plan.sizes.clone(),
    };
    limits::check(&sizes)?;
    let (entries, missing) = entry::entries(plan)?;
    let mut run = Run::begin(programs(&entries).into_iter(), missing).await;
    if let Some(version) = &plan.kube_apiserver_version {
        run.call("kube-apiserver", version);
    }
    let mut results = match &plan.write {
        Some(file) => Results::read(&file.with_extension("json"))?,
        None => Results::default(),
    };
    let mut failures = Vec::new();
    for group in groups(plan) {
        let section = measure(group, &entries, (&sizes, &run)).await?;
        print(&section.markdown());
        print(&document::cost(std::slice::from_ref(&section)));
        failures.extend(section.ours_failed().map(str::to_owned));
        results.keep(section);
        // After each group, so that a run that is broken off leaves what it has found.
        if let Some(file) = &plan.write {
            document::write(&results, file)?;
        }
    }
    match failures.first() {
        Some(failure) => bail!("ours did not do what it was asked: {failure}"),
        None => Ok(()),
    }
}

/// One server after the other.
async fn measure(group: Group, entries: &[Entry], (sizes, run): (&Sizes, &Run)) -> Result<Section> {
    let mut outcomes = Vec::new();
    for entry in entries.iter().filter(|entry| group.suits(entry)) {
        eprintln!("{}: {}", group.title(), entry.name_in(group));
        let outcome = group.outcome(entry, sizes).await?;
        eprintln!("took {:.0} s", outcome.spent.elapsed.as_secs_f64());
        outcomes.push(outcome);
    }
    Ok(Section {
        group,
        run: run.clone(),
        outcomes,
    })
}

fn programs(entries: &[Entry]) -> Vec<&Path> {
    let programs = entries.iter().flat_map(|entry| entry.contender.programs());
    let mut programs: Vec<&Path> = programs.collect();
    programs.sort();
    programs.dedup();
    programs
}

fn groups(plan: &Plan) -> Vec<Group> {
    let asked = |group: &Group| plan.only.is_empty() || plan.only.contains(group);
    let groups = Group::value_variants().iter().copied();
    groups.filter(asked).collect()
}

#[expect(
    clippy::print_stdout,
    reason = "the tables are what this program is for"
)]
fn print(text: &str) {
    println!("{text}");
}

#[cfg(test)]
mod tests;
