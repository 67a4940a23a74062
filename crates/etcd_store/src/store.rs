//! The store, and how it is opened.

use std::sync::Arc;

use listwatch_etcd::{
    Client, Condition as EtcdCondition, Content, Error, Operation, Outcome, Put, Range, Settings,
    Transaction,
};
use listwatch_store::{
    Changes, ChangesError, Commit, CommitError, Follow, Page, Read, ReadError, Revision, Store,
    StoreFuture,
};
use tokio::task::JoinSet;

use crate::{
    Compaction, EtcdOptions, KeyMount, changes::EtcdChanges, cluster::Cluster, commit::Committing,
    compactor, leases::Leases, own_keys, progress::Progress, read,
};

/// A store whose keys are in an etcd cluster. Others may open the same keys at the same time.
pub struct EtcdStore {
    cluster: Arc<Cluster>,
    progress: Arc<Progress>,
    leases: Arc<Leases>,
    /// What goes on in the background; it ends with the store.
    _tasks: JoinSet<()>,
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// etcd did not answer, or not as hoped.
    #[error(transparent)]
    Etcd(#[from] Error),
    /// One of the store's own keys holds what no version of this store writes.
    #[error("`{key}` in etcd is `{value}`, which is no revision")]
    Unreadable {
        /// The key in etcd.
        key: String,
        /// What it holds.
        value: String,
    },
    /// The revisions could be raised only if there were no data yet.
    #[error(
        "revisions there are at {newest} and should be after {wanted}, but there are {keys} keys \
         already; choose an empty prefix"
    )]
    NotEmpty {
        /// How many keys there are.
        keys: u64,
        /// The newest revision there.
        newest: Revision,
        /// The revision that all should come after.
        wanted: Revision,
    },
}

impl EtcdStore {
    /// Opens these keys of a cluster. Must be called on a tokio runtime.
    pub async fn open(options: EtcdOptions) -> Result<Self, OpenError> {
        let client = Client::new(options.connection)?;
        let offset = Offset::read(&client, &options.keys).await?;
        let cluster = Arc::new(Cluster::new(client, options.keys, offset.value));
        // What was before had other numbers, if any.
        cluster.compacted(offset.written);
        cluster.newest().await?;
        let mut tasks = JoinSet::new();
        if let Compaction::Every(interval) = options.compaction {
            tasks.spawn(compactor::run(Arc::clone(&cluster), interval));
        }
        let (leases, reaper) = Leases::new(Arc::clone(&cluster));
        tasks.spawn(reaper.run());
        Ok(Self {
            progress: Arc::new(Progress::new(Arc::clone(&cluster))),
            leases: Arc::new(leases),
            cluster,
            _tasks: tasks,
        })
    }

    /// Opens keys of which there are none yet, so that all their revisions come after one. Keys
    /// that are there are fine if their revisions do so anyway.
    pub async fn begin_after(options: EtcdOptions, revision: Revision) -> Result<Self, OpenError> {
        let client = Client::new(options.connection.clone())?;
        Offset::raise(&client, &options.keys, revision).await?;
        drop(client);
        Self::open(options).await
    }

    /// How it reaches the cluster.
    pub fn settings(&self) -> &Settings {
        self.cluster.client.settings()
    }

    /// Waits until it cannot go on, since etcd is not what it was, and tells why. Everything is
    /// refused from then on; whoever runs the store should begin anew.
    pub async fn lost(&self) -> String {
        self.cluster.lost().await
    }
}

impl Store for EtcdStore {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        Box::pin(read::read(&self.cluster, read))
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        Box::pin(async move {
            commit.validate()?;
            let committing = Committing {
                cluster: &self.cluster,
                leases: &self.leases,
            };
            committing.commit(commit).await
        })
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        Box::pin(async move {
            let changes = EtcdChanges::open(&self.cluster, &self.progress, follow).await?;
            Ok(Box::new(changes) as Box<dyn Changes>)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        Box::pin(async move {
            match self.cluster.number(before) {
                Some(number) => compactor::compact(&self.cluster, number).await,
                None => Ok(()),
            }
        })
    }
}

/// What is added to etcd's revisions.
struct Offset {
    value: u64,
    /// The revision of etcd that wrote it; 0 if nobody did.
    written: u64,
    /// The newest revision of etcd.
    newest: u64,
}

impl Offset {
    async fn read(client: &Client, mount: &KeyMount) -> Result<Self, OpenError> {
        let key = mount.own(own_keys::REVISION_OFFSET);
        let range = Range::new(listwatch_etcd::KeyRange::one(key));
        let answer = client.range(range).await?;
        let newest = answer.header.revision;
        let Some(found) = answer.key_values.into_iter().next() else {
            let (value, written) = (0, 0);
            return Ok(Self {
                value,
                written,
                newest,
            });
        };
        let text = String::from_utf8_lossy(&found.value);
        let value = text.parse().map_err(|_| OpenError::Unreadable {
            key: String::from_utf8_lossy(&found.key).into_owned(),
            value: text.clone().into_owned(),
        })?;
        Ok(Self {
            value,
            written: found.mod_revision,
            newest,
        })
    }

    /// Makes it so large that all revisions come after one.
    async fn raise(client: &Client, mount: &KeyMount, after: Revision) -> Result<(), OpenError> {
        let offset = Self::read(client, mount).await?;
        let newest = Revision::new(offset.value + offset.newest);
        if newest > after {
            return Ok(());
        }
        let all = mount.stored_range(&listwatch_store::KeyRange::all());
        let all = all.expect("the range of every key is not empty");
        let count = Range {
            content: Content::Count,
            ..Range::new(all)
        };
        let keys = client.range(count).await?.count;
        if keys > 0 {
            return Err(OpenError::NotEmpty {
                keys,
                newest,
                wanted: after,
            });
        }
        let key = mount.own(own_keys::REVISION_OFFSET);
        let put = Put::new(key.clone(), after.get().to_string());
        let raise = Transaction {
            when: vec![EtcdCondition::unchanged(key, offset.written)],
            then: vec![Operation::Put(put)],
            otherwise: Vec::new(),
        };
        match client.transact(raise).await?.outcome {
            Outcome::Held => Ok(()),
            Outcome::Failed => Err(OpenError::Etcd(Error::Refused {
                message: "somebody else has just begun to use this prefix".to_owned(),
            })),
        }
    }
}

#[cfg(test)]
mod tests;
