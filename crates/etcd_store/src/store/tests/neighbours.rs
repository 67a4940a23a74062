//! Others in the same etcd, and other stores on the same keys.

use std::time::Duration;

use listwatch_etcd::Compaction as When;
use listwatch_store::{Operation, Write};
use tokio::time::timeout;

use super::*;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_write_through_one_is_seen_through_all() {
    for etcd in servers().await {
        let (one, other) = (open(&etcd, "/a/").await, open(&etcd, "/a/").await);
        let start = script::newest(&one).await;
        let mut cursor = script::cursor(&other, KeyRange::all(), start).await;
        let revision = script::put(&one, "x", "1").await;
        assert_eq!(script::newest(&other).await, revision);
        let changes = script::follow_cursor(cursor.as_mut(), revision).await;
        assert_eq!(script::shown_changes(&changes), [format!("x=1@{revision}")]);
        let stale = script::put_if(&other, "x", Condition::Absent, "2").await;
        assert!(matches!(stale, Err(CommitError::Conflict { .. })));
    }
}

#[tokio::test]
async fn a_cursor_passes_revisions_that_others_wrote_elsewhere() {
    for etcd in servers().await {
        let store = open(&etcd, "/a/").await;
        let start = script::newest(&store).await;
        let mut cursor = script::cursor(&store, KeyRange::all(), start).await;
        for number in 0..3 {
            let elsewhere = Put::new(format!("/b/{number}"), "x");
            etcd.client().put(elsewhere).await.unwrap();
            let newest = script::newest(&store).await;
            let changes = script::follow_cursor(cursor.as_mut(), newest);
            let changes = timeout(SOON, changes).await.unwrap();
            assert!(changes.is_empty(), "{changes:?}");
        }
        let revision = script::put(&store, "x", "1").await;
        let changes = script::follow_cursor(cursor.as_mut(), revision).await;
        assert_eq!(script::shown_changes(&changes), [format!("x=1@{revision}")]);
    }
}

#[tokio::test]
async fn neither_neighbours_nor_its_own_keys_are_read() {
    let Some(etcd) = current().await else { return };
    let client = etcd.client();
    for key in ["/a", "/a-", "/a0", "/b/x", "/a/.listwatch/compactor"] {
        client.put(Put::new(key, "foreign")).await.unwrap();
    }
    let store = open(&etcd, "/a/").await;
    script::put(&store, "x", "ours").await;
    let page = script::read_newest(&store).await;
    assert_eq!(page.entries.len(), 1, "{page:?}");
    assert_eq!(page.remaining, 0);
}

#[tokio::test]
async fn many_large_values_come_in_pages_and_are_one_state() {
    let Some(etcd) = current().await else { return };
    let store = open(&etcd, "/a/").await;
    let value = "x".repeat(10_000);
    for part in 0..26 {
        let keys: Vec<String> = (0..100).map(|one| format!("{part:02}/{one:02}")).collect();
        let pairs: Vec<_> = keys
            .iter()
            .map(|key| (key.as_str(), value.as_str()))
            .collect();
        script::put_together(&store, &pairs).await;
    }
    let page = script::read_newest(&store).await;
    assert_eq!((page.entries.len(), page.remaining), (2_600, 0));
    assert!(
        page.entries
            .is_sorted_by(|left, right| left.key < right.key)
    );
    let cut = store
        .read(Read::newest(KeyRange::all()).limit(1_234))
        .await
        .unwrap();
    assert_eq!((cut.entries.len(), cut.remaining), (1_234, 2_600 - 1_234));
    assert_eq!(cut.entries, page.entries[..1_234]);
}

#[tokio::test]
async fn what_is_too_much_for_etcd_is_refused_and_nothing_is_written() {
    let Some(etcd) = current().await else { return };
    let store = open(&etcd, "/a/").await;
    let operations = (0..200).map(|number| Operation {
        key: format!("{number}").as_str().into(),
        condition: Condition::Any,
        write: script::put_of("x"),
    });
    let many = Commit::together(operations.collect());
    let large = Write::put(vec![b'x'; 3 << 20]);
    let large = Commit::one("large".into(), Condition::Any, large);
    let nowhere = Commit::one(".x".into(), Condition::Any, script::put_of("x"));
    for refused in [many, large, nowhere] {
        let refused = store.commit(refused).await;
        assert!(
            matches!(refused, Err(CommitError::Invalid { .. })),
            "{refused:?}"
        );
    }
    assert!(script::read_newest(&store).await.entries.is_empty());
}

#[tokio::test]
async fn revisions_beyond_etcds_numbers_are_in_the_future() {
    let Some(etcd) = current().await else { return };
    let store = open(&etcd, "/a/").await;
    script::put(&store, "x", "1").await;
    for requested in [u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 40] {
        let requested = Revision::new(requested);
        let refused = script::read_at(&store, requested).await;
        assert!(
            matches!(refused, Err(ReadError::Future { .. })),
            "{refused:?}"
        );
        let condition = Condition::Unchanged(requested);
        let refused = script::put_if(&store, "x", condition, "2").await;
        assert!(
            matches!(refused, Err(CommitError::Conflict { .. })),
            "{refused:?}"
        );
        store
            .changes(Follow::new(KeyRange::all(), requested))
            .await
            .expect("it waits");
        store
            .compact(requested)
            .await
            .expect("it compacts up to now");
    }
}

#[tokio::test]
async fn somebody_elses_compaction_is_noticed() {
    for etcd in servers().await {
        let store = open(&etcd, "/a/").await;
        let first = script::put(&store, "x", "1").await;
        let second = script::put(&store, "x", "2").await;
        let client = etcd.client();
        client.compact(second.get(), When::Agreed).await.unwrap();
        let refused = script::read_at(&store, first).await;
        let expected = ReadError::Compacted {
            requested: first,
            oldest: second,
        };
        assert_eq!(refused, Err(expected));
        let refused = store
            .changes(Follow::new(KeyRange::all(), first))
            .await
            .err();
        let expected = ChangesError::Compacted {
            requested: first,
            oldest: second,
        };
        assert_eq!(refused, Some(expected));
    }
}

#[tokio::test]
async fn of_several_one_compacts_and_the_past_is_kept_for_an_interval() {
    let Some(etcd) = current().await else { return };
    let interval = Duration::from_millis(300);
    let options = EtcdOptions {
        compaction: Compaction::Every(interval),
        ..options(&etcd, "/a/")
    };
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(EtcdStore::open(options.clone()).await.unwrap());
    }
    let store = &stores[0];
    let first = script::put(store, "x", "1").await;
    let written = tokio::time::Instant::now();
    let compacted = async {
        while script::read_at(store, first).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            script::put(store, "x", "2").await;
        }
    };
    timeout(SOON, compacted)
        .await
        .expect("the past is forgotten");
    assert!(written.elapsed() >= interval);
    drop(stores);
}
