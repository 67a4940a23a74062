//! Where objects are copied from or to: a data directory, or an etcd cluster.

use std::{path::PathBuf, str::FromStr, sync::Arc};

use anyhow::{Context, Result};
use listwatch_etcd_store::{Compaction, EtcdOptions, EtcdStore, OpenError as EtcdOpenError};
use listwatch_store::{EmbeddedOptions, EmbeddedStore, OpenError, Revision, Store};

use super::target::CommitBounds;
use crate::etcd::{self, EtcdIdentity};

/// A place as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// The data directory of a server.
    Data(PathBuf),
    /// The addresses of an etcd cluster.
    Etcd(Vec<String>),
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("data", directory)) if !directory.is_empty() => Ok(Self::Data(directory.into())),
            Some(("etcd", addresses)) if !addresses.is_empty() => Ok(Self::Etcd(
                addresses.split(',').map(str::to_owned).collect(),
            )),
            _ => Err("say data:DIR or etcd:URL,URL,...".to_owned()),
        }
    }
}

/// A place that keeps objects.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// The data directory of a server.
    Data(PathBuf),
    /// Keys of an etcd cluster.
    Etcd {
        /// The cluster and the keys.
        options: Box<EtcdOptions>,
        /// What the keys begin with there.
        prefix: String,
    },
}

impl Place {
    /// The place at a location; of etcd, what is under a prefix.
    pub(crate) fn new(location: &Location, prefix: &str, identity: &EtcdIdentity) -> Result<Self> {
        let addresses = match location {
            Location::Data(path) => return Ok(Self::Data(path.clone())),
            Location::Etcd(addresses) => addresses,
        };
        let options = EtcdOptions {
            connection: identity.settings(addresses)?,
            keys: etcd::keys_under(prefix)?,
            compaction: Compaction::ByOthers,
        };
        Ok(Self::Etcd {
            options: Box::new(options),
            prefix: prefix.trim_end_matches('/').to_owned(),
        })
    }

    /// What tells it from other places, however it was written.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Data(path) => {
                let absolute = path.canonicalize().unwrap_or_else(|_| path.clone());
                format!("data:{}", absolute.display())
            }
            Self::Etcd { options, prefix } => {
                let mut addresses = options.connection.endpoints.clone();
                addresses.sort_unstable();
                format!("etcd:{} under {prefix}", addresses.join(","))
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
            Self::Etcd { options, .. } => Ok(Arc::new(etcd::open_patiently(options).await?)),
        }
    }

    /// Opens it to be written, or makes it.
    pub(crate) async fn open_target(&self) -> Result<Arc<dyn Store>> {
        match self {
            Self::Data(path) => {
                let opened = EmbeddedStore::open_directory(path, EmbeddedOptions::default()).await;
                Ok(Arc::new(opened.map_err(stop_the_server)?))
            }
            Self::Etcd { options, .. } => Ok(Arc::new(etcd::open_patiently(options).await?)),
        }
    }

    /// Makes it begin after a revision if nothing has been written to it, and opens it.
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
            Self::Etcd { options, .. } => {
                match EtcdStore::begin_after((**options).clone(), revision).await {
                    Err(EtcdOpenError::NotEmpty { .. }) => self.open_target().await,
                    begun => Ok(Arc::new(begun?)),
                }
            }
        }
    }

    /// What one commit may hold there. etcd takes 128 operations and 1.5 MiB, unless told
    /// otherwise.
    pub(crate) fn commit_bounds(&self) -> CommitBounds {
        match self {
            Self::Data(_) => CommitBounds {
                objects_max: 1_000,
                bytes_max: 4 * 1024 * 1024,
            },
            Self::Etcd { .. } => CommitBounds {
                objects_max: 100,
                bytes_max: 1024 * 1024,
            },
        }
    }

    /// Entries of one page. The embedded store has all of them in memory anyway.
    pub(crate) fn page_entries_max(&self) -> usize {
        match self {
            Self::Data(_) => 10_000,
            Self::Etcd { .. } => 500,
        }
    }

    /// The command that serves it.
    pub(crate) fn serve_command(&self) -> String {
        match self {
            Self::Data(path) => format!("listwatch serve --data {}", path.display()),
            Self::Etcd { options, prefix } => {
                let addresses = options.connection.endpoints.join(",");
                let command = format!("listwatch serve --etcd {addresses}");
                match prefix.as_str() {
                    etcd::DEFAULT_PREFIX => command,
                    prefix => format!("{command} --etcd-prefix {prefix}"),
                }
            }
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

    fn place(location: &str, prefix: &str) -> Place {
        let location = location.parse().unwrap();
        Place::new(&location, prefix, &EtcdIdentity::default()).unwrap()
    }

    #[test]
    fn a_location_says_what_it_is() {
        let data: Location = "data:./old".parse().unwrap();
        assert_eq!(data, Location::Data("./old".into()));
        let etcd: Location = "etcd:http://h1:2379,h2:2379".parse().unwrap();
        let addresses = ["http://h1:2379", "h2:2379"].map(str::to_owned);
        assert_eq!(etcd, Location::Etcd(addresses.to_vec()));
        for wrong in ["./old", "data:", "etcd:", "file:/old", ""] {
            assert!(wrong.parse::<Location>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn one_place_has_one_name() {
        let directory = tempfile::tempdir().unwrap();
        let name = |path: PathBuf| Place::Data(path).name();
        let direct = name(directory.path().to_owned());
        assert_eq!(name(directory.path().join(".")), direct);
        assert_ne!(name(directory.path().join("other")), direct);
        let etcd = place("etcd:http://h2:2379,h1:2379", "/registry").name();
        assert_eq!(place("etcd:h1:2379,h2:2379", "/registry/").name(), etcd);
        assert_ne!(place("etcd:h1:2379,h2:2379", "/other").name(), etcd);
    }

    #[test]
    fn a_place_says_how_to_serve_it() {
        let served = |prefix| place("etcd:h1:2379,h2:2379", prefix).serve_command();
        let command = "listwatch serve --etcd http://h1:2379,http://h2:2379";
        assert_eq!(served("/registry"), command);
        assert_eq!(served("/a"), format!("{command} --etcd-prefix /a"));
    }
}
