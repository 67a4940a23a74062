//! Debian's packages, unpacked without being installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    progress::{self, Outcome},
    tools, workspace,
};

/// A package, and a file of it that tells whether it is here.
pub(crate) struct Package {
    /// What Debian calls it.
    pub(crate) name: &'static str,
    /// The folder among the tools that it is unpacked into.
    pub(crate) folder: &'static str,
    /// The program that is wanted of it.
    pub(crate) program: &'static str,
}

impl Package {
    /// Where it is unpacked.
    pub(crate) fn folder(&self) -> PathBuf {
        workspace::tools().join(self.folder)
    }

    /// Unpacks it, unless that has been done.
    pub(crate) fn unpack(&self) -> Result<Outcome> {
        if self.folder().join(self.program).exists() {
            return Ok(Outcome::Passed);
        }
        if let Some(program) = tools::missing(&["apt-get", "dpkg-deb"]) {
            return tools::leave_out(format!("`{program}` is not installed: this is no Debian"));
        }
        let download = || download(self.name, &self.folder());
        match download().or_else(|_| update().and_then(|()| download())) {
            Ok(()) => extract(&self.folder()).map(|()| Outcome::Passed),
            Err(error) => tools::leave_out(format!("{error:#}")),
        }
    }
}

fn download(package: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context("cannot make a folder")?;
    let mut command = Command::new("apt-get");
    command.args(["download", "--quiet", package]);
    progress::command(command.current_dir(folder)).map(drop)
}

fn update() -> Result<()> {
    progress::command(Command::new("apt-get").args(["update", "--quiet"])).map(drop)
}

fn extract(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).context("cannot read a folder")? {
        let package = entry?.path();
        if package
            .extension()
            .is_some_and(|extension| extension == "deb")
        {
            let mut command = Command::new("dpkg-deb");
            command.arg("--extract").arg(package).arg(folder);
            progress::command(&mut command)?;
        }
    }
    Ok(())
}
