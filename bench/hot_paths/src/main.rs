//! Counts the instructions and allocations of hot paths, which no noise on the machine changes.
//!
//! Without arguments all paths are counted, else those named. `--write` records the costs, and
//! `--check` fails when one is clearly dearer than recorded. Wants valgrind.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a tool at the edge: it writes the record and talks to a person"
)]

mod cost;
mod counter;
mod objects;
mod paths;
mod record;
mod stage;

use std::{
    env,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use self::{
    cost::Cost,
    paths::{HOT_PATHS, HotPath},
    record::{Record, TOLERANCE, Verdict, change},
};

/// What to do with the costs, beside printing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Print,
    Check,
    Write,
}

fn main() -> ExitCode {
    match obey() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", name, size] => {
            let allocated = (find(name)?.run)(size.parse()?)?;
            println!("{}", cost::print_allocated(allocated));
            Ok(())
        }
        ["--check"] => count(&all(), Purpose::Check),
        ["--write"] => count(&all(), Purpose::Write),
        [] => count(&all(), Purpose::Print),
        ref names => {
            let paths: Result<Vec<_>> = names.iter().map(|name| find(name)).collect();
            count(&paths?, Purpose::Print)
        }
    }
}

fn all() -> Vec<&'static HotPath> {
    HOT_PATHS.iter().collect()
}

fn find(name: &str) -> Result<&'static HotPath> {
    let known = || {
        let names: Vec<_> = HOT_PATHS.iter().map(|path| path.name).collect();
        format!("there is no path `{name}`, but {}", names.join(", "))
    };
    paths::find(name).with_context(known)
}

fn count(paths: &[&'static HotPath], purpose: Purpose) -> Result<()> {
    let record = Record::read()?;
    let costs = cost::of(paths)?;
    let found: Vec<(&HotPath, Cost)> = paths.iter().copied().zip(costs).collect();
    println!(
        "{:<20} instructions  allocations      bytes  since recorded",
        "path"
    );
    for (path, cost) in &found {
        println!("{}", row(&record, path.name, *cost));
    }
    if purpose == Purpose::Write {
        let costs = found
            .iter()
            .map(|(path, cost)| (path.name.to_owned(), *cost));
        return Record::new(compiler()?, costs.collect()).write();
    }
    let mut dearer = Vec::new();
    for (path, cost) in &found {
        let verdict = record.judge(path.name, *cost);
        if let Some(advice) = advice(path, verdict)? {
            println!("{advice}");
        }
        if verdict == Verdict::Dearer {
            dearer.push(path.name);
        }
    }
    if dearer.is_empty() || purpose != Purpose::Check {
        return Ok(());
    }
    if compiler()? != record.compiler {
        println!(
            "The record is of {}, and this is {}.",
            record.compiler,
            compiler()?
        );
    }
    bail!(
        "over {:.0} % dearer than in bench/hot-paths.txt: {}",
        TOLERANCE * 100.0,
        dearer.join(", ")
    )
}

/// What to do about a path, unless it is as recorded.
fn advice(path: &HotPath, verdict: Verdict) -> Result<Option<String>> {
    let name = path.name;
    Ok(match verdict {
        Verdict::Same => None,
        Verdict::New => Some(format!("{name} is not recorded: {RECORD}.")),
        Verdict::Cheaper => Some(format!("{name} became cheaper. Keep it so: {RECORD}.")),
        Verdict::Dearer => {
            let profile = cost::profiles(path)?.swap_remove(0);
            Some(format!(
                "{name} became dearer. Either find out why:\n    \
                 callgrind_annotate --inclusive=yes {}\nor, if it is meant, {RECORD}.",
                profile.display()
            ))
        }
    })
}

/// The compiler that this program was made with, unless it was changed since.
fn compiler() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output();
    let output = output.context("cannot run rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn row(record: &Record, name: &str, cost: Cost) -> String {
    let since = record.get(name).map_or("new".to_owned(), |recorded| {
        let part = change(recorded.instructions, cost.instructions) * 100.0;
        let instructions = cost.instructions - recorded.instructions;
        let allocations = cost.allocations - recorded.allocations;
        format!("{instructions:+.0} ({part:+.1} %), {allocations:+.1}")
    });
    let Cost {
        instructions,
        allocations,
        bytes,
    } = cost;
    format!("{name:<20} {instructions:>12.0} {allocations:>12.1} {bytes:>10.0}  {since}")
}

const RECORD: &str = "run `cargo xtask hot-paths --write` and say why in the commit";
