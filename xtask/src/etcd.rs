//! The etcd servers that tests start: a current one, and the older one that Debian ships.

use std::{fs, process::Command};

use anyhow::{Context, Result};

use crate::{
    progress::{self, Outcome},
    tools, workspace,
};

/// Builds the current etcd from its published module.
pub(crate) fn build_current() -> Result<Outcome> {
    if let Some(program) = tools::missing(&["go"]) {
        return tools::leave_out(format!("`{program}` is not installed"));
    }
    tools::build_go("etcd")?;
    Ok(Outcome::Passed)
}

/// Unpacks Debian's package, without installing it.
pub(crate) fn unpack_debian() -> Result<Outcome> {
    if workspace::tools().join("etcd-debian/usr/bin/etcd").exists() {
        return Ok(Outcome::Passed);
    }
    if let Some(program) = tools::missing(&["apt-get", "dpkg-deb"]) {
        return tools::leave_out(format!("`{program}` is not installed: this is no Debian"));
    }
    match download().or_else(|_| update().and_then(|()| download())) {
        Ok(()) => extract().map(|()| Outcome::Passed),
        Err(error) => tools::leave_out(format!("{error:#}")),
    }
}

fn download() -> Result<()> {
    let folder = workspace::tools().join("etcd-debian");
    fs::create_dir_all(&folder).context("cannot make a folder")?;
    let mut command = Command::new("apt-get");
    command.args(["download", "--quiet", "etcd-server"]);
    progress::command(command.current_dir(folder)).map(drop)
}

fn update() -> Result<()> {
    progress::command(Command::new("apt-get").args(["update", "--quiet"])).map(drop)
}

fn extract() -> Result<()> {
    let folder = workspace::tools().join("etcd-debian");
    for entry in fs::read_dir(&folder).context("cannot read a folder")? {
        let package = entry?.path();
        if package
            .extension()
            .is_some_and(|extension| extension == "deb")
        {
            let mut command = Command::new("dpkg-deb");
            command.arg("--extract").arg(package).arg(&folder);
            progress::command(&mut command)?;
        }
    }
    Ok(())
}
