//! Values that end by themselves, with and without those who wrote them.

use std::time::Duration;

use listwatch_store::{Put as StorePut, Write};
use tokio::time::timeout;

use super::*;

async fn put_for(store: &EtcdStore, key: &str, lifetime: Duration) -> Revision {
    let write = Write::Put(StorePut {
        value: "x".into(),
        lifetime: Some(lifetime),
    });
    let commit = Commit::one(key.into(), Condition::Any, write);
    store.commit(commit).await.unwrap()
}

#[tokio::test]
async fn values_written_together_share_a_lease() {
    let Some(etcd) = current().await else { return };
    let store = open(&etcd, "/a/").await;
    for number in 0..50 {
        put_for(&store, &format!("{number}"), Duration::from_secs(600)).await;
    }
    let range = store.cluster.mount.everything();
    let found = etcd
        .client()
        .range(Range::new(range))
        .await
        .unwrap()
        .key_values;
    let leases: std::collections::BTreeSet<i64> = found.iter().map(|one| one.lease).collect();
    assert_eq!((found.len(), leases.len()), (50, 1));
    assert!(!leases.contains(&0));
}

#[tokio::test]
async fn a_lease_that_was_revoked_is_replaced() {
    let Some(etcd) = current().await else { return };
    let store = open(&etcd, "/a/").await;
    let lifetime = Duration::from_secs(600);
    put_for(&store, "x", lifetime).await;
    let lease = store.leases.lease(lifetime).await.unwrap();
    etcd.client().revoke_lease(lease).await.unwrap();
    put_for(&store, "y", lifetime).await;
    let page = script::read_newest(&store).await;
    assert_eq!(page.entries.len(), 1, "x went with its lease: {page:?}");
}

#[tokio::test]
async fn values_end_even_if_their_writer_is_gone() {
    let Some(etcd) = current().await else { return };
    let writer = open(&etcd, "/a/").await;
    let written = put_for(&writer, "x", Duration::from_millis(100)).await;
    drop(writer);
    let other = open(&etcd, "/a/").await;
    let mut cursor = script::cursor(&other, KeyRange::all(), written).await;
    let gone = timeout(Duration::from_secs(40), cursor.next()).await;
    let gone = gone.expect("etcd ends it").unwrap();
    assert_eq!(gone.changes.len(), 1);
    assert_eq!(gone.changes[0].value, None);
}
