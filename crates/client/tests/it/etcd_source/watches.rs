//! Watches of a server that is there.

use std::time::Duration;

use listwatch::{
    ListerWatcher, RawEvent, SourceError, Version,
    etcd::{Compaction, ProgressRequests, Put},
    lister_watcher::{Bookmark, Freshness, InitialEvents, WatchOptions, WatchStart},
    source::EtcdSource,
};

use super::{PREFIX, current, delete, end, events, on_every_release, put, told, watch_after};

#[tokio::test]
async fn every_change_after_a_version_comes_once_and_in_order() {
    on_every_release(async |client, source| {
        let listed = put(&client, "a", "0").await;
        let changed = put(&client, "a", "1").await;
        client.put(Put::new("/other/a", "x")).await.unwrap();
        let added = put(&client, "b", "2").await;
        let mut watch = watch_after(&source, listed).await.unwrap();
        let past = events(&mut *watch, 2).await;
        let [RawEvent::Modified(first), RawEvent::Added(second)] = &past[..] else {
            panic!("{past:?}");
        };
        assert_eq!(told(first), ("a".into(), changed, "1".into()));
        assert_eq!(told(second), ("b".into(), added, "2".into()));
        let deleted = delete(&client, "a").await;
        let back = put(&client, "a", "3").await;
        let present = events(&mut *watch, 2).await;
        let [RawEvent::Deleted(gone), RawEvent::Added(again)] = &present[..] else {
            panic!("{present:?}");
        };
        assert_eq!(
            told(gone),
            ("a".into(), deleted, "1".into()),
            "the last value"
        );
        assert_eq!(told(again), ("a".into(), back, "3".into()));
        assert_eq!(gone.uid, first.uid);
        assert_ne!(again.uid, gone.uid, "another object of the same name");
    })
    .await;
}

#[tokio::test]
async fn a_compacted_version_is_expired_for_watches() {
    on_every_release(async |client, source| {
        let old = put(&client, "a", "1").await;
        put(&client, "a", "2").await;
        let present = put(&client, "a", "3").await;
        client.compact(present, Compaction::Done).await.unwrap();
        let told = match watch_after(&source, old).await {
            Ok(mut watch) => end(&mut *watch).await,
            Err(error) => Some(error),
        };
        assert!(
            matches!(told, Some(SourceError::Expired { .. })),
            "{told:?}"
        );
        let mut watch = watch_after(&source, present - 1).await.unwrap();
        assert_eq!(
            events(&mut *watch, 1).await.len(),
            1,
            "the oldest that is kept"
        );
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_event_does_not_hold_the_version_back() {
    on_every_release(async |client, source| {
        let start = client.revision().await.unwrap();
        let mut watch = watch_after(&source, start).await.unwrap();
        let key = [PREFIX.as_bytes(), b"\xff"].concat();
        let written = client
            .put(Put::new(key, "1"))
            .await
            .unwrap()
            .header
            .revision;
        let events = watch.next().await.unwrap().unwrap();
        let [RawEvent::Unreadable(_), RawEvent::Bookmark(bookmark)] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(*bookmark, Bookmark::Progress(Version::Number(written)));
    })
    .await;
}

#[tokio::test]
async fn a_watch_ends_in_good_order_when_its_time_is_over() {
    on_every_release(async |client, source| {
        let options = WatchOptions {
            start: WatchStart::After(Version::Number(client.revision().await.unwrap())),
            timeout: Duration::from_millis(50),
        };
        let mut watch = source.watch(&options).await.unwrap();
        assert_eq!(end(&mut *watch).await, None);
    })
    .await;
}

#[tokio::test]
async fn a_watch_begins_after_a_version_only() {
    on_every_release(async |_client, source| {
        assert_eq!(source.initial_events(), InitialEvents::Unsupported);
        for start in [
            WatchStart::InitialEvents(Freshness::Any),
            WatchStart::After(Version::Text("x".into())),
        ] {
            let timeout = Duration::from_secs(60);
            let answer = source.watch(&WatchOptions { start, timeout }).await;
            assert!(matches!(
                answer.err(),
                Some(SourceError::Refused { code: 400, .. })
            ));
        }
    })
    .await;
}

#[tokio::test]
async fn a_quiet_prefix_learns_of_progress_elsewhere() {
    let Some(etcd) = current().await else {
        return;
    };
    let client = etcd.client();
    let source = EtcdSource::new(etcd.client(), PREFIX);
    let source = source.with_progress_interval(Duration::from_millis(50));
    let start = client.revision().await.unwrap();
    let mut watch = watch_after(&source, start).await.unwrap();
    let elsewhere = client
        .put(Put::new("/other/a", "x"))
        .await
        .unwrap()
        .header
        .revision;
    let reached = RawEvent::Bookmark(Bookmark::Progress(Version::Number(elsewhere)));
    loop {
        let events = watch.next().await.unwrap().unwrap();
        if format!("{:?}", events.last()) == format!("{:?}", Some(&reached)) {
            break;
        }
    }
}

#[tokio::test]
async fn an_etcd_whose_progress_may_be_wrong_is_not_asked() {
    on_every_release(async |client, source| {
        let status = client.status().await.unwrap();
        if status.progress_requests() == ProgressRequests::Reliable {
            return;
        }
        let source = source.with_progress_interval(Duration::from_millis(1));
        let start = client.revision().await.unwrap();
        let options = WatchOptions {
            start: WatchStart::After(Version::Number(start)),
            timeout: Duration::from_millis(300),
        };
        let mut watch = source.watch(&options).await.unwrap();
        assert!(
            watch.next().await.is_none(),
            "neither a bookmark nor impatience"
        );
    })
    .await;
}
