//! Everything that must pass before a change lands, cheapest first.

use std::{
    ffi::OsStr,
    fs,
    process::{Command, Stdio},
};

use anyhow::Result;

use crate::{
    conformance, hot_paths,
    progress::{self, Outcome, Progress},
    tidy, tools, workspace,
};

/// Runs all steps up to the first that fails.
pub(crate) fn run() -> Result<()> {
    let mut progress = Progress::default();
    progress.step("format", || cargo(&["fmt", "--all", "--check"]))?;
    progress.step("clippy", || {
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ])
    })?;
    progress.step("tidy", || tidy::run().map(|()| Outcome::Passed))?;
    progress.step("doc", doc)?;
    progress.step("build", build)?;
    tools::install_etcd(&mut progress)?;
    progress.step("tests", tests)?;
    progress.step("hot paths", hot_paths::check)?;
    progress.step("examples", examples)?;
    for client in &conformance::CLIENTS {
        progress.step(client.name, || conformance::check(client))?;
    }
    progress.finish();
    Ok(())
}

fn doc() -> Result<Outcome> {
    let mut command = cargo_command(&[
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--quiet",
    ]);
    progress::command(command.env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Builds the server, the tests and the examples together: apart, each would choose other features
/// of the same dependencies, and build them again.
fn build() -> Result<Outcome> {
    cargo(&["build", "--workspace", "--all-targets", "--quiet"])
}

/// Tests at one time: more than there are cores, since many wait for real etcd and real servers.
const TEST_THREADS: &str = "5";

fn tests() -> Result<Outcome> {
    if !has_nextest() {
        let mut command = cargo_command(&["test", "--workspace", "--quiet"]);
        return progress::command(command.env("RUST_TEST_THREADS", TEST_THREADS));
    }
    cargo(&["nextest", "run", "--workspace"])?;
    cargo(&["test", "--workspace", "--doc", "--quiet"])
}

/// Runs every example to its end.
fn examples() -> Result<Outcome> {
    for entry in fs::read_dir(workspace::root().join("examples"))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        if path.extension() != Some(OsStr::new("rs")) || name == "lib" {
            continue;
        }
        let program = workspace::target().join("debug/examples").join(name);
        progress::command(Command::new(program).current_dir(workspace::root()))?;
    }
    Ok(Outcome::Passed)
}

fn has_nextest() -> bool {
    let mut command = Command::new("cargo");
    command
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn cargo(arguments: &[&str]) -> Result<Outcome> {
    progress::command(&mut cargo_command(arguments))
}

/// Where everything is built once, nothing is written down for the next time.
fn cargo_command(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace::root());
    if tools::is_unattended() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}
