//! Where objects are copied from or to: a data directory, or an etcd cluster.

use std::{path::PathBuf, str::FromStr, sync::Arc};

use anyhow::{Context, Result};
use listwatch_store::{EmbeddedOptions, EmbeddedStore, OpenError, Revision, Store};

use super::target::CommitBounds;

/// A place that keeps objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// The data directory of a server.
    Data(PathBuf),
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("data", directory)) if !directory.is_empty() => Ok(Self::Data(directory.into())),
            _ => Err("say data:DIR".to_owned()),
        }
    }
}

impl Location {
    /// What tells it from other places, however it was written.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Data(path) => {
                let absolute = path.canonicalize().unwrap_or_else(|_| path.clone());
                format!("data:{}", absolute.display())
            }
        }
    }

    /// Opens it to be read.
    pub(crate) async fn open_source(&self) -> Result<Arc<dyn Store>> {
        match self {
            Self::Data(path) => {
                let options = EmbeddedOptions::default();
                let opened = EmbeddedStore::open_existing_directory(path, options).await;
                Ok(Arc::new(opened.map_err(stop_the_server)?))
            }
        }
    }

    /// Opens it to be written, or makes it.
    pub(crate) async fn open_target(&self) -> Result<Arc<dyn Store>> {
        match self {
            Self::Data(path) => {
                let opened = EmbeddedStore::open_directory(path, EmbeddedOptions::default()).await;
                Ok(Arc::new(opened.map_err(stop_the_server)?))
            }
        }
    }

    /// Makes it begin after a revision if nobody has ever written to it, and opens it.
    pub(crate) async fn begin_after(&self, revision: Revision) -> Result<Arc<dyn Store>> {
        match self {
            Self::Data(path) => {
                let options = EmbeddedOptions::default();
                let begun = EmbeddedStore::begin_directory_after(path, options, revision).await;
                match begun {
                    Err(OpenError::AlreadyWritten { .. }) => self.open_target().await,
                    begun => Ok(Arc::new(begun.map_err(stop_the_server)?)),
                }
            }
        }
    }

    /// What one commit may hold there.
    pub(crate) fn commit_bounds(&self) -> CommitBounds {
        match self {
            Self::Data(_) => CommitBounds {
                objects_max: 1_000,
                bytes_max: 4 * 1024 * 1024,
            },
        }
    }

    /// Entries of one page. The embedded store has all of them in memory anyway.
    pub(crate) fn page_entries_max(&self) -> usize {
        match self {
            Self::Data(_) => 10_000,
        }
    }

    /// The command that serves it.
    pub(crate) fn serve_command(&self) -> String {
        match self {
            Self::Data(path) => format!("listwatch serve --data {}", path.display()),
        }
    }
}

fn stop_the_server(error: OpenError) -> anyhow::Error {
    let in_use = matches!(error, OpenError::InUse { .. });
    let opened = Err::<(), _>(error);
    let opened = match in_use {
        true => opened.context("is a server running on it? Stop it before copying"),
        false => opened.context("cannot open the data directory"),
    };
    opened.expect_err("it is an error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_says_what_it_is() {
        let data: Location = "data:./old".parse().unwrap();
        assert_eq!(data, Location::Data("./old".into()));
        for wrong in ["./old", "data:", "file:/old", ""] {
            assert!(wrong.parse::<Location>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn one_directory_has_one_name() {
        let place = tempfile::tempdir().unwrap();
        let name = |path: PathBuf| Location::Data(path).name();
        let direct = name(place.path().to_owned());
        assert_eq!(name(place.path().join(".")), direct);
        assert_ne!(name(place.path().join("other")), direct);
    }
}
