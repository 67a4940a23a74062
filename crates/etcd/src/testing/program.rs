//! Where an etcd can be found on this machine.

use std::{
    env,
    path::{Path, PathBuf},
};

/// An etcd that can be run.
#[derive(Clone, Debug)]
pub struct Program(PathBuf);

/// Which etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The current one: that of `LISTWATCH_ETCD`, the one that `cargo xtask tools etcd` built, or
    /// the first in the `PATH`.
    Current,
    /// The older one that Debian ships: that of `LISTWATCH_ETCD_DEBIAN`, or the one that
    /// `cargo xtask tools etcd` unpacked.
    Debian,
}

impl Program {
    /// The program of this release, if it is here.
    pub fn find(release: Release) -> Option<Self> {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
        let (variable, installed) = match release {
            Release::Current => ("LISTWATCH_ETCD", tools.join("etcd")),
            Release::Debian => (
                "LISTWATCH_ETCD_DEBIAN",
                tools.join("etcd-debian/usr/bin/etcd"),
            ),
        };
        let path = env::var_os("PATH").filter(|_| release == Release::Current);
        let on_path = path.as_deref().map(env::split_paths).into_iter().flatten();
        env::var_os(variable)
            .map(PathBuf::from)
            .into_iter()
            .chain([installed])
            .chain(on_path.map(|folder| folder.join("etcd")))
            .find(|program| program.is_file())
            .map(Self)
    }

    /// The program of this release, for a test that cannot run without. When it is missing this
    /// says so, and with `CI=true`, where nobody reads that, it fails.
    pub fn find_or_skip(release: Release) -> Option<Self> {
        let found = Self::find(release);
        if found.is_none() {
            let missing = format!("no etcd ({release:?}) is here: run `cargo xtask tools etcd`");
            let unattended = env::var("CI").is_ok_and(|value| value == "true");
            assert!(
                !unattended,
                "{missing}; with CI=true nothing may be left out"
            );
            eprintln!("SKIPPED: {missing}");
        }
        found
    }

    /// Every release that is here, for a test that any will do for.
    pub fn all_or_skip() -> Vec<Self> {
        let releases = [Release::Current, Release::Debian].into_iter();
        releases.filter_map(Self::find_or_skip).collect()
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.0
    }
}
