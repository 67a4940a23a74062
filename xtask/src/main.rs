//! Developer tasks. `cargo xtask help` lists them.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a tool at the edge: it times real commands, writes real files and talks to a person"
)]

mod bench;
mod conformance;
mod debian;
mod etcd;
mod generate;
mod hot_paths;
mod measure;
mod progress;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::{env, process::ExitCode};

use anyhow::{Result, bail};

struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const TASKS: [Task; 9] = [
    Task {
        name: "test",
        help: "everything that must pass before a change lands",
        run: |_| test::run(),
    },
    Task {
        name: "tidy",
        help: "the rules of CONTRIBUTING.md that no compiler knows",
        run: |_| tidy::run(),
    },
    Task {
        name: "conformance",
        help: "other people's clients against our server: all, those named, or --e2e-test PATH",
        run: conformance::run,
    },
    Task {
        name: "tools",
        help: "build and install what tests need, into .tools: foreign clients, etcd",
        run: tools::run,
    },
    Task {
        name: "measure",
        help: "time, memory and CPU of the released command: all, or start, memory, fanout",
        run: measure::run,
    },
    Task {
        name: "bench",
        help: "ours beside the peers, in one run: informers, or servers",
        run: bench::run,
    },
    Task {
        name: "hot-paths",
        help: "instructions and allocations of all hot paths, or those named; --write records them",
        run: hot_paths::run,
    },
    Task {
        name: "generate",
        help: "make the schema tables of the built-in kinds anew, from downloaded packages",
        run: generate::run,
    },
    Task {
        name: "help",
        help: "this list",
        run: |_| {
            help();
            Ok(())
        },
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        help();
        return Ok(());
    };
    match TASKS.iter().find(|task| task.name == name) {
        Some(task) => (task.run)(rest),
        None => bail!("there is no task `{name}`; `cargo xtask help` lists them"),
    }
}

fn help() {
    for task in &TASKS {
        println!("cargo xtask {:<12} {}", task.name, task.help);
    }
}
