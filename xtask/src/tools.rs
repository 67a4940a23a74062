//! Builds and installs what tests need, from pinned versions, into ignored folders.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    conformance, etcd,
    progress::{self, Outcome, Progress},
    workspace,
};

/// What stands for the etcd servers among the names of clients.
const ETCD: &str = "etcd";

/// Installs for the clients named, or for all, and the etcd servers if named or all.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let (servers, clients): (Vec<String>, Vec<String>) =
        names.iter().cloned().partition(|name| name == ETCD);
    if names.is_empty() || !servers.is_empty() {
        install_etcd(&mut Progress::default())?;
    }
    if names.is_empty() || !clients.is_empty() {
        install_clients(&clients)?;
    }
    Ok(())
}

/// Installs the etcd servers that tests start.
pub(crate) fn install_etcd(progress: &mut Progress) -> Result<()> {
    progress.step("etcd", etcd::build_current)?;
    progress.step("etcd of Debian", etcd::unpack_debian)
}

fn install_clients(names: &[String]) -> Result<()> {
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

/// Whether nobody is there to read a warning, and everything is built for this one time.
pub(crate) fn is_unattended() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// Leaves something out for this reason, which is an error where nobody reads it.
pub(crate) fn leave_out(reason: String) -> Result<Outcome> {
    if is_unattended() {
        bail!("{reason}, and with CI=true nothing may be left out");
    }
    Ok(Outcome::Skipped(reason))
}

/// Builds a Go module of `conformance/` into the folder of tools.
pub(crate) fn build_go(module: &str) -> Result<()> {
    build_go_with(module, "")
}

/// Builds kubectl, told its version as its releases are.
pub(crate) fn build_kubectl() -> Result<()> {
    let manifest = workspace::root().join("conformance/kubectl/go.mod");
    let manifest = fs::read_to_string(manifest).context("cannot read kubectl's go.mod")?;
    let version = kubectl_version(&manifest).context("go.mod names no version of kubectl")?;
    let variable = "k8s.io/component-base/version.gitVersion";
    build_go_with("kubectl", &format!("-X {variable}={version}"))
}

/// Builds the programs that look on while servers die.
pub(crate) fn install_for_replicas() -> Result<()> {
    build_kubectl()?;
    build_go("etcd")?;
    build_go("go")
}

/// Builds the tests of an operator on controller-runtime into a program.
pub(crate) fn build_operator() -> Result<()> {
    let mut build = Command::new("go");
    build.args(["test", "-c", "-o"]);
    build.arg(workspace::tools().join("operator"));
    build.current_dir(workspace::root().join("conformance/operator"));
    progress::command(&mut build).map(drop)
}

fn build_go_with(module: &str, linker_flags: &str) -> Result<()> {
    let folder = workspace::root().join("conformance").join(module);
    let mut build = Command::new("go");
    build.args(["build", "-ldflags", linker_flags, "-o"]);
    build.arg(workspace::tools().join(module)).arg(".");
    progress::command(build.current_dir(&folder))?;
    let mut vet = Command::new("go");
    progress::command(vet.args(["vet", "."]).current_dir(&folder)).map(drop)
}

/// Module versions begin with 0 where those of the releases begin with 1.
fn kubectl_version(manifest: &str) -> Option<String> {
    let mut words = manifest.split_whitespace();
    words.find(|word| *word == "k8s.io/kubectl")?;
    let minor = words.next()?.strip_prefix("v0.")?;
    Some(format!("v1.{minor}"))
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

/// Installs once per content of the file that says what to install.
fn unless_stamped(wanted: &Path, stamp: &Path, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let content = fs::read(wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    if fs::read(stamp).is_ok_and(|installed| installed == content) {
        return Ok(());
    }
    install()?;
    fs::write(stamp, content).with_context(|| format!("cannot write {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectl_is_as_old_as_its_module() {
        let manifest = "require (\n\tk8s.io/component-base v0.37.2\n\tk8s.io/kubectl v0.37.3\n)";
        assert_eq!(kubectl_version(manifest).as_deref(), Some("v1.37.3"));
        assert_eq!(kubectl_version("require ()"), None);
    }
}
