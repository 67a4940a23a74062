//! A real kube-apiserver and our server on one etcd.
//!
//! `KUBE_APISERVER` names its program; without it, it is looked for on the `PATH`.

use std::{env, process::Command};

use anyhow::{Result, bail};

use crate::{progress, tools, workspace};

/// Runs both and compares what they say.
pub(super) fn run() -> Result<()> {
    let Some(program) = find() else {
        let missing = "there is no kube-apiserver on the PATH and none named by KUBE_APISERVER";
        bail!("{missing}; conformance/kube_apiserver/README.md tells how to build one");
    };
    let mut command = Command::new("python3");
    command
        .arg("conformance/kube_apiserver/main.py")
        .env("KUBE_APISERVER", program)
        .env("ETCD", workspace::tools().join("etcd"))
        .env("LISTWATCH", workspace::target().join("debug/listwatch"))
        .env(
            "FOLDER",
            workspace::target().join("conformance/kube_apiserver"),
        )
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(workspace::root());
    progress::command(&mut command).map(drop)
}

fn find() -> Option<String> {
    let on_path = || {
        tools::missing(&[PROGRAM])
            .is_none()
            .then(|| PROGRAM.to_owned())
    };
    env::var("KUBE_APISERVER").ok().or_else(on_path)
}

const PROGRAM: &str = "kube-apiserver";
