//! What the released command needs: time to start, memory for a watch, CPU for an event.
//!
//! Prints the tables of `docs/benchmarks.md`. Reads `/proc`, so it runs on Linux only.

mod http1;
mod http2;
mod server;

use std::{
    fs,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use self::{http1::Http1Watches, http2::Http2Watches, server::Server};
use crate::{progress, workspace};

/// Starts that are timed.
const STARTS: usize = 10;
/// Long enough for bookmarks to come and for freed memory to go back.
const SETTLING: Duration = Duration::from_secs(15);
/// Idle time over which CPU is counted.
const IDLING: Duration = Duration::from_secs(20);
/// Events that every watch is sent, one after the other.
const EVENTS: usize = 100;
/// Watches that are sent events.
const LISTENERS: usize = 1_000;

/// How watches reach the server.
#[derive(Clone, Copy, Debug)]
enum Protocol {
    /// Each on a connection of its own.
    Http1,
    /// As many on a connection as the server allows.
    Http2,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// Open watches.
enum Watches {
    Http1(Http1Watches),
    Http2(Http2Watches),
}

impl Watches {
    /// Opens watches one after the other; the head of each answer has come.
    fn open(protocol: Protocol, address: &str, (count, query): (usize, &str)) -> Result<Self> {
        let path = format!("/api/v1/namespaces/default/configmaps?watch=1{query}");
        Ok(match protocol {
            Protocol::Http1 => Self::Http1(Http1Watches::open(address, count, &path)?),
            Protocol::Http2 => Self::Http2(Http2Watches::open(address, count, &path)?),
        })
    }

    /// Waits until every watch has been sent one event more.
    fn read_event(&mut self) -> Result<()> {
        match self {
            Self::Http1(watches) => watches.read_event(),
            Self::Http2(watches) => watches.read_event(),
        }
    }

    fn connections(&self) -> usize {
        match self {
            Self::Http1(watches) => watches.connections(),
            Self::Http2(watches) => watches.connections(),
        }
    }
}

/// Something that can be measured by itself.
type Part = (&'static str, fn() -> Result<()>);

const PARTS: [Part; 3] = [
    ("start", print_start),
    ("memory", print_memory_table),
    ("fanout", print_fanout_table),
];

/// Builds the command as it is released, measures the parts named or all, and prints tables.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let unknown = |name: &&String| PARTS.iter().all(|(part, _)| part != name);
    if let Some(name) = names.iter().find(unknown) {
        bail!("there is no `{name}` to measure, but start, memory and fanout");
    }
    let mut build = Command::new("cargo");
    build
        .args(["build", "--release", "--package", "listwatch-cli"])
        .current_dir(workspace::root());
    progress::command(&mut build)?;
    for (part, print) in PARTS {
        if names.is_empty() || names.iter().any(|name| name == part) {
            println!();
            print()?;
        }
    }
    Ok(())
}

fn print_memory_table() -> Result<()> {
    println!("| watches | connections | resident | per watch | CPU while idle |");
    println!("|---|---|---|---|---|");
    for count in [1_000, 10_000] {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            print_memory(protocol, count)?;
        }
    }
    Ok(())
}

fn print_fanout_table() -> Result<()> {
    println!("| one event to {LISTENERS} watches | CPU for each delivery | until all have it |");
    println!("|---|---|---|");
    for protocol in [Protocol::Http1, Protocol::Http2] {
        print_fanout(protocol)?;
    }
    Ok(())
}

fn print_start() -> Result<()> {
    let mut starts = (0..STARTS)
        .map(|_| Server::start().map(|server| server.started_in))
        .collect::<Result<Vec<Duration>>>()?;
    starts.sort();
    let server = Server::start()?;
    sleep(SETTLING);
    let resident = server.resident_kilobytes()?;
    println!("| from nothing | |");
    println!("|---|---|");
    let (median, slowest) = (starts[STARTS / 2], starts[STARTS - 1]);
    println!("| first answer after | {median:.1?} (slowest of {STARTS}: {slowest:.1?}) |");
    println!("| resident when idle | {:.1} MB |", megabytes(resident));
    Ok(())
}

fn print_memory(protocol: Protocol, count: usize) -> Result<()> {
    let server = Server::start()?;
    ensure_files(count)?;
    let before = server.resident_kilobytes()?;
    let query = "&allowWatchBookmarks=true";
    let watches = Watches::open(protocol, &server.address, (count, query))?;
    sleep(SETTLING);
    let after = server.resident_kilobytes()?;
    let cpu = server.cpu()?;
    sleep(IDLING);
    let cpu = server.cpu()? - cpu;
    println!(
        "| {count} on {} | {} | {:.1} MB | {:.2} KB | {:.2} % of a core |",
        protocol.name(),
        watches.connections(),
        megabytes(after),
        after.saturating_sub(before) as f64 / count as f64,
        100.0 * cpu.as_secs_f64() / IDLING.as_secs_f64(),
    );
    Ok(())
}

fn print_fanout(protocol: Protocol) -> Result<()> {
    let server = Server::start()?;
    let mut watches = Watches::open(protocol, &server.address, (LISTENERS, ""))?;
    let (cpu, begun) = (server.cpu()?, Instant::now());
    for number in 0..EVENTS {
        http1::create_config_map(&server.address, &format!("event-{number}"))?;
        watches.read_event()?;
    }
    let (cpu, elapsed) = (server.cpu()? - cpu, begun.elapsed());
    let deliveries = (EVENTS * LISTENERS) as f64;
    println!(
        "| {} | {:.1} µs | {:.1} ms |",
        protocol.name(),
        1e6 * cpu.as_secs_f64() / deliveries,
        1e3 * elapsed.as_secs_f64() / EVENTS as f64,
    );
    Ok(())
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Fails early, with what to do, where too few files may be open.
fn ensure_files(needed: usize) -> Result<()> {
    let limits = fs::read_to_string("/proc/self/limits").context("cannot read /proc")?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let allowed = line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    ensure!(
        allowed.is_none_or(|allowed: usize| allowed > needed + 100),
        "{needed} connections need more open files: run `ulimit -n {}` first",
        needed * 2
    );
    Ok(())
}
