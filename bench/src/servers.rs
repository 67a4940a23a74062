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
mod growth;
mod histogram;
mod http;
mod kube_apiserver;
mod lines;
mod machine;
mod measure;
mod meter;
mod objects;
mod plot;
mod program;
mod reads;
mod report;
mod sizes;
mod stage;
mod start;
mod storms;
mod template;
mod tls;
mod watch;
mod writes;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use self::{
    contender::Store, document::Document, given::Given, group::Group, report::Section, sizes::Sizes,
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
    /// The store of the peer, and one of ours; looked for on the PATH when left out
    #[arg(long, value_name = "FILE")]
    etcd: Option<PathBuf>,
    /// The stores that ours is measured on; the first is held against the peer
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
    /// Measures only these groups of scenarios
    #[arg(long, value_delimiter = ',')]
    only: Vec<Group>,
    /// Writes the tables into this document, and the drawing beside it
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
    let (entries, missing) = entry::entries(plan)?;
    let mut document = Document::begin(&entries, missing).await;
    for group in groups(plan) {
        let mut outcomes = Vec::new();
        for entry in entries.iter().filter(|entry| group.suits(&entry.contender)) {
            eprintln!("{}: {}", group.title(), entry.name);
            outcomes.push(group.outcome(entry, &sizes).await?);
        }
        let section = Section {
            title: group.title().to_owned(),
            outcomes,
        };
        print(&section.markdown());
        document.sections.push(section);
        // After each group, so that a run that is broken off leaves what it has found.
        if let Some(file) = &plan.write {
            document.write(file)?;
        }
    }
    print(&document.cost());
    match document.sections.iter().find_map(Section::ours_failed) {
        Some(failure) => bail!("ours did not do what it was asked: {failure}"),
        None => Ok(()),
    }
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
