//! Instructions and allocations of hot paths, against those that were written down.

use std::{env, ffi::OsString, path::PathBuf, process::Command};

use anyhow::{Result, bail};

use crate::{
    debian::Package,
    progress::{self, Outcome},
    tools, workspace,
};

/// For machines that have no valgrind.
const VALGRIND: Package = Package {
    name: "valgrind",
    folder: "valgrind-debian",
    program: "usr/bin/valgrind.bin",
};

/// The machine whose instructions are in the record.
const RECORDED: &str = "x86_64";

/// Counts all paths or those named, or records them all with `--write`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match count(arguments)? {
        Outcome::Passed => Ok(()),
        Outcome::Skipped(reason) => bail!("{reason}"),
    }
}

/// Fails when a path has become clearly dearer.
pub(crate) fn check() -> Result<Outcome> {
    count(&["--check".to_owned()])
}

fn count(arguments: &[String]) -> Result<Outcome> {
    if env::consts::ARCH != RECORDED {
        let reason = format!("instructions are recorded for {RECORDED}");
        return tools::leave_out(reason);
    }
    let is_installed = tools::missing(&["valgrind"]).is_none();
    if !is_installed && let Outcome::Skipped(reason) = VALGRIND.unpack()? {
        return Ok(Outcome::Skipped(format!("valgrind is missing: {reason}")));
    }
    let mut build = Command::new("cargo");
    build.args(["build", "--quiet", "--profile", "measured"]);
    build.args(["--package", "listwatch-hot-paths"]);
    progress::command(build.current_dir(workspace::root()))?;
    let mut program = Command::new(workspace::target().join("measured/hot_paths"));
    program.args(arguments);
    if !is_installed {
        let folder = VALGRIND.folder().join("usr");
        program.env("PATH", with_folder(folder.join("bin")));
        program.env("VALGRIND_LIB", folder.join("libexec/valgrind"));
    }
    progress::command(&mut program)
}

/// The search path of programs, and a folder before all others.
fn with_folder(folder: PathBuf) -> OsString {
    let known = env::var_os("PATH").unwrap_or_default();
    let folders = [folder].into_iter().chain(env::split_paths(&known));
    env::join_paths(folders).unwrap_or(known)
}
