//! Builds and installs what the foreign clients need, from pinned versions, into ignored folders.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use crate::{conformance, progress, workspace};

/// Installs for the clients named, or for all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    for client in conformance::select(names)? {
        match missing(client.toolchain) {
            Some(program) => println!("{}: SKIPPED: `{program}` is not installed", client.name),
            None => {
                (client.install)()?;
                println!("{}: ready", client.name);
            }
        }
    }
    Ok(())
}

/// The first of these programs that cannot be run here.
pub(crate) fn missing<'a>(toolchain: &[&'a str]) -> Option<&'a str> {
    let runs = |program: &str| {
        let argument = if program == "go" {
            "version"
        } else {
            "--version"
        };
        let mut command = Command::new(program);
        command
            .arg(argument)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    toolchain.iter().copied().find(|program| !runs(program))
}

/// Whether a missing toolchain is an error: nobody is there to read a warning.
pub(crate) fn is_unattended() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// Builds a Go module of `conformance/` into the folder of tools.
pub(crate) fn build_go(module: &str) -> Result<()> {
    let output = workspace::tools().join(module);
    let mut command = Command::new("go");
    command
        .args(["build", "-o"])
        .arg(output)
        .arg(".")
        .current_dir(workspace::root().join("conformance").join(module));
    progress::command(&mut command).map(drop)
}

/// Makes a Python environment with the pinned packages.
pub(crate) fn install_python() -> Result<()> {
    let wanted = workspace::root().join("conformance/python/requirements.txt");
    let environment = workspace::tools().join("python");
    unless_stamped(&wanted, &environment.join("installed"), || {
        let mut create = Command::new("python3");
        progress::command(create.args(["-m", "venv", "--clear"]).arg(&environment))?;
        let mut install = Command::new(environment.join("bin/pip"));
        install
            .args(["install", "--quiet", "--requirement"])
            .arg(&wanted);
        progress::command(&mut install).map(drop)
    })
}

/// Installs the locked npm packages.
pub(crate) fn install_javascript() -> Result<()> {
    let folder = workspace::root().join("conformance/javascript");
    let stamp = folder.join("node_modules/.installed");
    unless_stamped(&folder.join("package-lock.json"), &stamp, || {
        let mut install = Command::new("npm");
        install
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&folder);
        progress::command(&mut install).map(drop)
    })
}

/// Builds the client on the `kube` crate, a workspace of its own to keep ours light.
pub(crate) fn build_kube_rs() -> Result<()> {
    let mut command = Command::new("cargo");
    command
        .args(["build", "--quiet", "--locked", "--target-dir"])
        .arg(kube_rs_target())
        .current_dir(workspace::root().join("conformance/kube_rs"));
    progress::command(&mut command).map(drop)
}

/// Where that client is built.
pub(crate) fn kube_rs_target() -> PathBuf {
    workspace::target().join("kube_rs")
}

/// Installs once per content of the file that says what to install.
fn unless_stamped(wanted: &Path, stamp: &Path, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let content = fs::read(wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    if fs::read(stamp).is_ok_and(|installed| installed == content) {
        return Ok(());
    }
    install()?;
    fs::write(stamp, content).with_context(|| format!("cannot write {}", stamp.display()))
}
