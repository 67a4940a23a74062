//! A store in an etcd of its own.

use std::sync::Arc;

use listwatch_etcd::testing::{Cluster, Program, Release};
use listwatch_etcd_store::{Compaction, EtcdOptions, EtcdStore, KeyMount};
use listwatch_store::{
    Changes, ChangesError, Commit, CommitError, Follow, Page, Read, ReadError, Revision, Store,
    StoreFuture,
};

/// An empty store in a new etcd; `None` where etcd is not installed.
pub(crate) async fn open_or_skip() -> Option<Arc<dyn Store>> {
    let program = Program::find_or_skip(Release::Current)?;
    let etcd = Cluster::single(&program).await.unwrap();
    let store = EtcdStore::open(EtcdOptions {
        connection: etcd.settings(),
        keys: KeyMount::new("/registry/", "/registry/"),
        compaction: Compaction::ByOthers,
    });
    Some(Arc::new(OnEtcd {
        store: store.await.unwrap(),
        _etcd: etcd,
    }))
}

/// A store and the etcd that lives as long.
struct OnEtcd {
    store: EtcdStore,
    _etcd: Cluster,
}

impl Store for OnEtcd {
    fn read(&self, read: Read) -> StoreFuture<'_, Result<Page, ReadError>> {
        self.store.read(read)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Result<Revision, CommitError>> {
        self.store.commit(commit)
    }

    fn changes(&self, follow: Follow) -> StoreFuture<'_, Result<Box<dyn Changes>, ChangesError>> {
        self.store.changes(follow)
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, Result<(), CommitError>> {
        self.store.compact(before)
    }
}
