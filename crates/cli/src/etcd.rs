//! How the command is told of an etcd cluster, and how it waits for one.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};
use listwatch_etcd::{Credentials, Error, Identity, Settings, Tls};
use listwatch_etcd_store::{Compaction, EtcdOptions, EtcdStore, KeyMount, OpenError};
use tokio::time::Instant;

/// What the keys begin with in etcd unless told otherwise.
pub(crate) const DEFAULT_PREFIX: &str = "/registry";
/// What all keys of objects begin with, whatever they are called in etcd.
const REGISTRY: &str = "/registry/";
/// How long a cluster that is not there yet is waited for.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two attempts.
const START_PAUSE: Duration = Duration::from_secs(1);

/// Who we are to etcd, and whom we believe to be etcd.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct EtcdIdentity {
    /// Certificates, in PEM, of the authorities that may vouch for etcd; needed for https
    #[arg(long, value_name = "FILE")]
    pub(crate) etcd_ca: Option<PathBuf>,

    /// Our own certificate, in PEM, where etcd asks for one
    #[arg(long, value_name = "FILE", requires = "etcd_key")]
    pub(crate) etcd_cert: Option<PathBuf>,

    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "etcd_cert")]
    pub(crate) etcd_key: Option<PathBuf>,

    /// Our name, where etcd asks for a name and a password
    #[arg(long, value_name = "NAME", requires = "etcd_password_file")]
    pub(crate) etcd_user: Option<String>,

    /// File that holds the password
    #[arg(long, value_name = "FILE", requires = "etcd_user")]
    pub(crate) etcd_password_file: Option<PathBuf>,
}

impl EtcdIdentity {
    /// How to reach a cluster as this.
    pub(crate) fn settings(&self, endpoints: &[String]) -> Result<Settings> {
        let mut settings = Settings::new(endpoints.iter().map(|one| with_scheme(one)));
        let is_secure = |endpoint: &String| endpoint.starts_with("https://");
        if settings.endpoints.iter().any(is_secure) {
            settings.tls = Some(self.tls()?);
        } else if self.etcd_ca.is_some() || self.etcd_cert.is_some() {
            bail!("certificates are given, but no address of etcd begins with https://");
        }
        if let (Some(user), Some(file)) = (&self.etcd_user, &self.etcd_password_file) {
            let password = String::from_utf8(read(file)?).context("the password is not text")?;
            settings.credentials = Some(Credentials {
                user: user.clone(),
                password: password.trim_end_matches(['\r', '\n']).to_owned(),
            });
        }
        Ok(settings)
    }

    fn tls(&self) -> Result<Tls> {
        let Some(authorities) = &self.etcd_ca else {
            bail!("etcd is reached by https, so --etcd-ca has to say who may vouch for it");
        };
        let identity = match (&self.etcd_cert, &self.etcd_key) {
            (Some(certificates), Some(key)) => Some(Identity {
                certificates: read(certificates)?,
                key: read(key)?,
            }),
            _ => None,
        };
        Ok(Tls {
            authorities: read(authorities)?,
            identity,
            server_name: None,
        })
    }
}

/// Where the keys of objects are under a prefix such as `/registry`.
pub(crate) fn keys_under(prefix: &str) -> Result<KeyMount> {
    let prefix = prefix.trim_end_matches('/');
    if prefix.is_empty() || !prefix.starts_with('/') {
        bail!("the prefix in etcd must begin with / and have a name, such as /registry");
    }
    Ok(KeyMount::new(REGISTRY, format!("{prefix}/")))
}

/// Opens the store, and waits a while for a cluster that does not answer yet.
pub(crate) async fn open_patiently(options: &EtcdOptions) -> Result<EtcdStore> {
    let deadline = Instant::now() + START_PATIENCE;
    loop {
        let error = match EtcdStore::open(options.clone()).await {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        let may_come = matches!(
            error,
            OpenError::Etcd(Error::Unreachable { .. } | Error::Interrupted { .. })
        );
        if !may_come || Instant::now() >= deadline {
            let endpoints = options.connection.endpoints.join(", ");
            return Err(error).with_context(|| format!("cannot use etcd at {endpoints}"));
        }
        tracing::warn!(%error, "etcd does not answer yet; trying again");
        tokio::time::sleep(START_PAUSE).await;
    }
}

/// The intervals at which the past is forgotten; 0 leaves that to others.
pub(crate) fn compaction(seconds: u64) -> Compaction {
    match seconds {
        0 => Compaction::ByOthers,
        seconds => Compaction::Every(Duration::from_secs(seconds)),
    }
}

fn with_scheme(endpoint: &str) -> String {
    let endpoint = endpoint.trim().trim_end_matches('/');
    match endpoint.contains("://") {
        true => endpoint.to_owned(),
        false => format!("http://{endpoint}"),
    }
}

fn read(file: &PathBuf) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_leave_out_what_goes_without_saying() {
        let endpoints = ["h1:2379".to_owned(), "http://h2:2379/".to_owned()];
        let settings = EtcdIdentity::default().settings(&endpoints).unwrap();
        assert_eq!(settings.endpoints, ["http://h1:2379", "http://h2:2379"]);
    }

    #[test]
    fn https_needs_somebody_to_vouch_for_it() {
        let refused = EtcdIdentity::default().settings(&["https://h1:2379".to_owned()]);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("--etcd-ca"), "{message}");
    }

    #[test]
    fn a_prefix_is_a_path() {
        assert_eq!(
            keys_under("/registry").unwrap(),
            KeyMount::new("/registry/", "/registry/")
        );
        assert_eq!(
            keys_under("/a/b/").unwrap(),
            KeyMount::new("/registry/", "/a/b/")
        );
        for prefix in ["", "/", "registry"] {
            assert!(keys_under(prefix).is_err(), "{prefix}");
        }
    }
}
