//! Where things lie in this repository.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().map(PathBuf::from).unwrap_or(xtask)
}

/// Built and downloaded things that git ignores.
pub(crate) fn tools() -> PathBuf {
    root().join(".tools")
}

/// Every file that git tracks or would add and that is there, relative to the root.
pub(crate) fn files() -> Result<Vec<String>> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .context("cannot run git")?;
    ensure!(listed.status.success(), "git ls-files failed");
    let names = String::from_utf8(listed.stdout).context("a file name is not text")?;
    let names = names.split_terminator('\0').map(str::to_owned);
    Ok(names.filter(|name| root().join(name).is_file()).collect())
}

/// The pages for users among them.
pub(crate) fn documents() -> Result<Vec<String>> {
    let is_document =
        |path: &String| path == "README.md" || path.starts_with("docs/") && path.ends_with(".md");
    Ok(files()?.into_iter().filter(is_document).collect())
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(chosen.unwrap_or_else(|| PathBuf::from("target")))
}
