//! An etcd that goes away, comes back, or is not what it was.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::*;

const SOON: Duration = Duration::from_secs(30);

async fn answers_again(store: &EtcdStore) {
    let back = async {
        while store.read(Read::revision_only()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, back).await.expect("etcd is back");
}

/// Puts a value, again and again until it is acknowledged. It may have been written before that.
async fn put_until_acknowledged(store: &EtcdStore, value: &str) -> Revision {
    let written = async {
        loop {
            match script::put_if(store, "x", Condition::Any, value).await {
                Ok(revision) => return revision,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(SOON, written).await.expect("etcd takes writes")
}

#[tokio::test]
async fn after_a_crash_of_etcd_a_cursor_goes_on_where_it_was() {
    for mut etcd in servers().await {
        let store = open(&etcd, "/a/").await;
        let start = script::newest(&store).await;
        let mut cursor = script::cursor(&store, KeyRange::all(), start).await;
        let first = script::put(&store, "x", "1").await;
        let told = script::follow_cursor(cursor.as_mut(), first).await;
        script::put(&store, "x", "2").await;
        etcd.crash_and_restart().await.unwrap();
        let last = put_until_acknowledged(&store, "3").await;
        // The cursor ends, sooner or later; what it did not tell comes from the next.
        let mut all = told;
        while let Ok(batch) = cursor.next().await {
            all.extend(batch.changes);
        }
        let after = all.last().expect("something was told").revision;
        all.extend(script::follow(&store, after, last).await);
        let values = all.iter().filter_map(|change| change.value.as_deref());
        let mut values: Vec<_> = values.collect();
        values.dedup();
        assert_eq!(values, [b"1", b"2", b"3"]);
    }
}

#[tokio::test]
async fn while_etcd_is_gone_requests_are_refused_at_once() {
    let Some(mut etcd) = current().await else {
        return;
    };
    let store = open(&etcd, "/a/").await;
    script::put(&store, "x", "1").await;
    etcd.members()[0].kill().unwrap();
    for _ in 0..3 {
        let refused = store.read(Read::revision_only()).await;
        assert!(
            matches!(refused, Err(ReadError::Unavailable { .. })),
            "{refused:?}"
        );
    }
    let begun = Instant::now();
    for _ in 0..100 {
        let commit = script::put_if(&store, "x", Condition::Any, "2").await;
        assert!(
            matches!(commit, Err(CommitError::Unavailable { .. })),
            "{commit:?}"
        );
    }
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    etcd.members()[0].restart().await.unwrap();
    answers_again(&store).await;
    script::put(&store, "x", "2").await;
}

#[tokio::test]
async fn a_write_without_an_answer_is_not_called_failed() {
    let Some(mut etcd) = current().await else {
        return;
    };
    let mut options = options(&etcd, "/a/");
    options.connection.request_timeout = Duration::from_millis(200);
    let store = EtcdStore::open(options).await.unwrap();
    script::put(&store, "x", "1").await;
    etcd.members()[0].pause().unwrap();
    let unsure = script::put_if(&store, "x", Condition::Any, "2").await;
    assert!(
        matches!(unsure, Err(CommitError::Unknown { .. })),
        "{unsure:?}"
    );
    etcd.members()[0].resume().unwrap();
    answers_again(&store).await;
}

#[tokio::test]
async fn an_etcd_that_went_back_in_time_ends_the_store() {
    let Some(mut etcd) = current().await else {
        return;
    };
    let store = open(&etcd, "/a/").await;
    for _ in 0..5 {
        script::put(&store, "x", "1").await;
    }
    etcd.members()[0].wipe().unwrap();
    etcd.members()[0].restart().await.unwrap();
    must_notice(&store).await;
}

#[tokio::test]
async fn who_only_follows_notices_that_etcd_went_back() {
    let Some(mut etcd) = current().await else {
        return;
    };
    let (writer, follower) = (open(&etcd, "/a/").await, open(&etcd, "/a/").await);
    let start = script::newest(&follower).await;
    let mut cursor = script::cursor(&follower, KeyRange::all(), start).await;
    let mut last = start;
    for _ in 0..5 {
        last = script::put(&writer, "x", "1").await;
    }
    script::follow_cursor(cursor.as_mut(), last).await;
    etcd.members()[0].wipe().unwrap();
    etcd.members()[0].restart().await.unwrap();
    must_notice(&follower).await;
}

async fn must_notice(store: &EtcdStore) {
    let reason = async {
        while store.read(Read::revision_only()).await.is_err() {
            tokio::select! {
                reason = store.lost() => return reason,
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
        panic!("it went on with an etcd that lost its past");
    };
    let reason = timeout(SOON, reason).await.expect("it is noticed");
    assert!(reason.contains("went back from revision"), "{reason}");
}

#[tokio::test]
async fn a_watch_whose_member_stands_still_ends_while_the_others_go_on() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let mut etcd = Servers::start(&program, 3).await.unwrap();
    let store = open(&etcd, "/a/").await;
    let start = script::newest(&store).await;
    let mut cursor = script::cursor(&store, KeyRange::all(), start).await;
    etcd.members()[0].pause().unwrap();
    let mut others = options(&etcd, "/a/");
    others.connection.endpoints.remove(0);
    let other = EtcdStore::open(others).await.unwrap();
    let last = put_until_acknowledged(&other, "1").await;
    let followed = async {
        // Who waits for the revision has to ask for it.
        while store.read(Read::revision_only()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while cursor.next().await.is_ok() {}
        script::follow(&store, start, last).await
    };
    let changes = timeout(SOON, followed).await.expect("another member tells");
    assert!(!changes.is_empty());
    etcd.members()[0].resume().unwrap();
}

#[tokio::test]
async fn of_three_members_one_may_be_gone() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let mut etcd = Servers::start(&program, 3).await.unwrap();
    let store = open(&etcd, "/a/").await;
    let start = script::newest(&store).await;
    for gone in 0..3 {
        etcd.members()[gone].kill().unwrap();
        put_until_acknowledged(&store, "1").await;
        etcd.members()[gone].restart().await.unwrap();
    }
    answers_again(&store).await;
    let newest = script::newest(&store).await;
    let changes = script::follow(&store, start, newest).await;
    assert!(changes.len() >= 3, "{changes:?}");
}
