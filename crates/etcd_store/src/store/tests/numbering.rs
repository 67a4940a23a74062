//! Revisions that come after those of another store.

use listwatch_etcd::KeyRange as EtcdRange;

use super::*;

#[tokio::test]
async fn revisions_can_begin_after_those_of_another_store() {
    let Some(etcd) = current().await else { return };
    let before = Revision::new(1_000_000);
    let store = EtcdStore::begin_after(options(&etcd, "/a/"), before)
        .await
        .unwrap();
    let start = script::newest(&store).await;
    assert!(start > before, "{start}");
    let written = script::put(&store, "x", "1").await;
    assert_eq!(written, start.next());
    let changed = script::put_if(&store, "x", Condition::Unchanged(written), "2").await;
    assert_eq!(changed, Ok(written.next()));

    let other = open(&etcd, "/a/").await;
    assert_eq!(
        script::shown(&script::read_newest(&other).await),
        ["x=2@1000004"]
    );
    let changes = script::follow(&other, start, written.next()).await;
    assert_eq!(changes.len(), 2);
}

#[tokio::test]
async fn what_was_before_these_keys_counts_as_compacted() {
    let Some(etcd) = current().await else { return };
    let before = Revision::new(1_000);
    let store = EtcdStore::begin_after(options(&etcd, "/a/"), before)
        .await
        .unwrap();
    let start = script::newest(&store).await;
    script::put(&store, "x", "1").await;
    let last = Revision::new(start.get() - 1);
    for requested in [Revision::ZERO, Revision::new(7), before, last] {
        let refused = script::read_at(&store, requested).await;
        assert!(
            matches!(refused, Err(ReadError::Compacted { .. })),
            "{refused:?}"
        );
        let follow = Follow::new(KeyRange::all(), requested);
        let refused = store.changes(follow).await.err();
        assert!(
            matches!(refused, Some(ChangesError::Compacted { .. })),
            "{refused:?}"
        );
        let condition = Condition::Unchanged(requested);
        let refused = script::put_if(&store, "x", condition, "2").await;
        assert!(
            matches!(refused, Err(CommitError::Conflict { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn revisions_are_raised_only_where_nothing_is() {
    let Some(etcd) = current().await else { return };
    let store = open(&etcd, "/a/").await;
    let newest = script::put(&store, "x", "1").await;
    let raised = EtcdStore::begin_after(options(&etcd, "/a/"), Revision::new(99)).await;
    assert!(matches!(raised, Err(OpenError::NotEmpty { keys: 1, .. })));
    let lower = Revision::new(newest.get() - 1);
    let kept = EtcdStore::begin_after(options(&etcd, "/a/"), lower)
        .await
        .unwrap();
    assert_eq!(script::newest(&kept).await, newest);
}

#[tokio::test]
async fn a_store_whose_revisions_are_renumbered_ends() {
    let Some(etcd) = current().await else { return };
    let store = open(&etcd, "/a/").await;
    let start = script::newest(&store).await;
    let mut cursor = script::cursor(&store, KeyRange::all(), start).await;
    EtcdStore::begin_after(options(&etcd, "/a/"), Revision::new(99))
        .await
        .unwrap();
    while cursor.next().await.is_ok() {}
    assert!(store.lost().await.contains("renumbered"));
    let refused = store.read(Read::revision_only()).await;
    assert!(
        matches!(refused, Err(ReadError::Unavailable { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_offset_that_is_no_number_is_an_error() {
    let Some(etcd) = current().await else { return };
    let key = "/a/.listwatch/revision-offset";
    etcd.client().put(Put::new(key, "many")).await.unwrap();
    let refused = EtcdStore::open(options(&etcd, "/a/")).await.err();
    let message = refused.unwrap().to_string();
    assert!(
        message.contains(key) && message.contains("many"),
        "{message}"
    );
    let answer = etcd
        .client()
        .range(Range::new(EtcdRange::one(key)))
        .await
        .unwrap();
    assert_eq!(answer.count, 1, "it is left for a person to look at");
}
