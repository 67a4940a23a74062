//! A prefix of an etcd as a source: informers without any API server.
//!
//! An object is a key; its name is what follows the prefix, its version the revision that wrote it,
//! its uid the revision that created it. A list is one revision, however many pages it takes, and a
//! watch goes on from the revision after it.

mod key_names;
mod list;
mod watch;

use std::{sync::Arc, time::Duration};

use listwatch_etcd::{Client, Error, KeyRange, PreviousValues, ReadAt, WatchRequest};
use parking_lot::Mutex;

use self::{
    key_names::KeyNames,
    list::{EtcdList, Place},
    watch::EtcdWatch,
};
use crate::{
    ListerWatcher, SourceError, Version,
    lister_watcher::{
        BoxFuture, EventStream, Freshness, InitialEvents, ListOptions, ListStream, WatchOptions,
        WatchStart,
    },
};

/// How often a watch asks how far it has come, where nobody chose.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// etcd counts with a sign.
const REVISION_MAX: u64 = i64::MAX as u64;

/// All keys of an etcd that begin with a prefix.
///
/// Values may be any bytes. A key that is not text after the prefix is reported as unreadable and
/// hides no other. A cluster that does not answer leaves the version good: the watch is resumed
/// from it. Only what etcd has compacted, and another cluster at the same address, ask for a list.
#[derive(Debug)]
pub struct EtcdSource {
    keys: Arc<Keys>,
    progress_interval: Duration,
}

/// What a source shares with its lists.
#[derive(Debug)]
struct Keys {
    client: Client,
    names: KeyNames,
    /// The cluster that the last list came from; its revisions mean nothing in another.
    cluster: Mutex<Option<u64>>,
}

impl EtcdSource {
    /// The keys with this prefix, which usually ends with a slash. An empty one means all keys.
    pub fn new(client: Client, prefix: impl Into<String>) -> Self {
        Self {
            keys: Arc::new(Keys {
                client,
                names: KeyNames::new(prefix.into()),
                cluster: Mutex::new(None),
            }),
            progress_interval: PROGRESS_INTERVAL,
        }
    }

    /// Asks this often how far a watch has come, in place of every five seconds. After three
    /// questions without an answer a watch counts as broken. An etcd before 3.4.31 or 3.5.13 is not
    /// asked, since its answers may be wrong: it tells by itself about every ten minutes, and the
    /// connection's own keep-alive finds out when it is gone.
    #[must_use]
    pub fn with_progress_interval(mut self, interval: Duration) -> Self {
        self.progress_interval = interval;
        self
    }

    /// What all keys of this source begin with.
    pub fn prefix(&self) -> &str {
        self.keys.names.prefix()
    }

    fn begin_list(&self, options: &ListOptions) -> Result<EtcdList, SourceError> {
        let place = match &options.continue_token {
            Some(token) => Place::parse(token)?,
            None => Place::start(match &options.freshness {
                Freshness::MostRecent | Freshness::NotOlderThan(_) => ReadAt::MostRecent,
                Freshness::Any => ReadAt::AtHand,
                Freshness::Exactly(version) => ReadAt::Revision(revision(version)?),
            }),
        };
        let oldest = match (&options.freshness, &options.continue_token) {
            (Freshness::NotOlderThan(version), None) => revision(version)?,
            _ => 0,
        };
        Ok(EtcdList::new(
            Arc::clone(&self.keys),
            place,
            oldest,
            options.limit,
        ))
    }

    async fn begin_watch(&self, options: &WatchOptions) -> Result<EtcdWatch, SourceError> {
        let WatchStart::After(version) = &options.start else {
            return Err(refused(
                "a watch of etcd begins after a version: list first",
            ));
        };
        let version = revision(version)?;
        let request = WatchRequest {
            previous: PreviousValues::Included,
            ..WatchRequest::from_revision(self.keys.range(), version + 1)
        };
        let watch = self.keys.client.watch(request).await?;
        self.keys.check_cluster(watch.opened_at().cluster_id)?;
        if watch.opened_at().revision < version {
            self.keys.wait_for(version).await?;
        }
        Ok(EtcdWatch::new(watch, self, version, options.timeout))
    }
}

impl Keys {
    fn range(&self) -> KeyRange {
        KeyRange::prefix(self.names.prefix().to_owned())
    }

    /// A member may lag, but no cluster may forget: one that is behind was restored.
    async fn wait_for(&self, version: u64) -> Result<(), SourceError> {
        match self.client.revision().await? {
            present if present < version => Err(too_large(present, version)),
            _ => Ok(()),
        }
    }

    fn check_cluster(&self, cluster: u64) -> Result<(), SourceError> {
        match *self.cluster.lock() {
            Some(listed) if listed != cluster => Err(SourceError::Expired {
                message: "another etcd cluster answers than was listed".to_owned(),
            }),
            Some(_) | None => Ok(()),
        }
    }
}

impl ListerWatcher for EtcdSource {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async {
            let list: Box<dyn ListStream> = Box::new(self.begin_list(options)?);
            Ok(list)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async {
            let watch: Box<dyn EventStream> = Box::new(self.begin_watch(options).await?);
            Ok(watch)
        })
    }

    /// A list and a watch after it are as good: both are exact to the revision.
    fn initial_events(&self) -> InitialEvents {
        InitialEvents::Unsupported
    }
}

/// The revision that a version names.
fn revision(version: &Version) -> Result<u64, SourceError> {
    match version {
        Version::Number(revision) if *revision < REVISION_MAX => Ok(*revision),
        Version::Number(_) => Err(Error::FutureRevision.into()),
        Version::Text(text) => Err(refused(format!("`{text}` is no revision of etcd"))),
    }
}

fn refused(message: impl Into<String>) -> SourceError {
    SourceError::Refused {
        code: 400,
        message: message.into(),
    }
}

fn too_large(present: u64, wanted: u64) -> SourceError {
    SourceError::TooLarge {
        message: format!("etcd is at revision {present}, before {wanted}"),
        retry_after: None,
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Unreachable { reason } => Self::ConnectionRefused { reason },
            Error::Interrupted { reason } => Self::Disconnected { reason },
            Error::Overloaded { message } => Self::TooManyRequests {
                message,
                retry_after: None,
            },
            Error::Compacted { .. } => Self::Expired { message },
            Error::FutureRevision => Self::TooLarge {
                message,
                retry_after: None,
            },
            Error::Denied { message } => Self::Denied { code: 403, message },
            Error::NoSpace { message } => Self::Internal { code: 507, message },
            Error::LeaseNotFound | Error::Refused { .. } => Self::Refused { code: 400, message },
            Error::Unreadable { reason } => Self::Unreadable { reason },
        }
    }
}
