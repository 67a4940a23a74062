//! The etcd servers that tests start: a current one, and the older one that Debian ships.

use anyhow::Result;

use crate::{debian::Package, progress::Outcome, tools};

const DEBIAN: Package = Package {
    name: "etcd-server",
    folder: "etcd-debian",
    program: "usr/bin/etcd",
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
    DEBIAN.unpack()
}
