//! Servers that are killed, paused, emptied or replaced.

use std::time::Duration;

use listwatch::{
    RawEvent, SourceError,
    etcd::{
        Client, Settings,
        testing::{Cluster, Program},
    },
    lister_watcher::Freshness,
    source::EtcdSource,
};

use super::{PREFIX, current, end, events, everything, list, put, told, watch_after};

#[tokio::test]
async fn a_watch_is_resumed_after_a_crash_with_nothing_lost() {
    for program in Program::all_or_skip() {
        let mut etcd = Cluster::single(&program).await.unwrap();
        let client = etcd.client();
        let source = EtcdSource::new(etcd.client(), PREFIX);
        let start = client.revision().await.unwrap();
        let mut watch = watch_after(&source, start).await.unwrap();
        let first = put(&client, "a", "1").await;
        assert_eq!(events(&mut *watch, 1).await.len(), 1);
        etcd.members()[0].kill().unwrap();
        let ended = end(&mut *watch).await;
        assert!(
            matches!(ended, Some(SourceError::Disconnected { .. })),
            "{ended:?}"
        );
        let nobody = watch_after(&source, first).await.err();
        assert!(
            matches!(nobody, Some(SourceError::ConnectionRefused { .. })),
            "{nobody:?}"
        );
        etcd.members()[0].restart().await.unwrap();
        let missed = put(&client, "b", "2").await;
        let mut watch = watch_after(&source, first).await.unwrap();
        let later = put(&client, "a", "3").await;
        let seen = events(&mut *watch, 2).await;
        let [RawEvent::Added(second), RawEvent::Modified(third)] = &seen[..] else {
            panic!("{seen:?}");
        };
        assert_eq!(told(second), ("b".into(), missed, "2".into()));
        assert_eq!(told(third), ("a".into(), later, "3".into()));
    }
}

#[tokio::test]
async fn a_paused_server_is_noticed_by_its_silence() {
    let Some(mut etcd) = current().await else {
        return;
    };
    let source = EtcdSource::new(etcd.client(), PREFIX);
    let source = source.with_progress_interval(Duration::from_millis(200));
    let mut watch = watch_after(&source, 1).await.unwrap();
    etcd.members()[0].pause().unwrap();
    let ended = end(&mut *watch).await;
    assert!(
        matches!(ended, Some(SourceError::Disconnected { .. })),
        "{ended:?}"
    );
    etcd.members()[0].resume().unwrap();
}

#[tokio::test]
async fn a_paused_server_that_is_not_asked_is_noticed_by_its_connection() {
    for program in Program::all_or_skip() {
        let mut etcd = Cluster::single(&program).await.unwrap();
        let settings = Settings {
            keep_alive_interval: Duration::from_secs(1),
            keep_alive_timeout: Duration::from_secs(1),
            ..etcd.settings()
        };
        let source = EtcdSource::new(Client::new(settings).unwrap(), PREFIX);
        let source = source.with_progress_interval(Duration::from_secs(3600));
        let mut watch = watch_after(&source, 1).await.unwrap();
        etcd.members()[0].pause().unwrap();
        let ended = end(&mut *watch).await;
        assert!(
            matches!(ended, Some(SourceError::Disconnected { .. })),
            "{ended:?}"
        );
        etcd.members()[0].resume().unwrap();
    }
}

#[tokio::test]
async fn a_server_that_has_forgotten_the_version_is_not_watched_in_silence() {
    let Some(mut etcd) = current().await else {
        return;
    };
    let source = EtcdSource::new(etcd.client(), PREFIX);
    let client = etcd.client();
    put(&client, "a", "1").await;
    let known = put(&client, "a", "2").await;
    etcd.members()[0].wipe().unwrap();
    etcd.members()[0].restart().await.unwrap();
    let answer = watch_after(&source, known).await.err();
    assert!(
        matches!(answer, Some(SourceError::TooLarge { .. })),
        "{answer:?}"
    );
}

#[tokio::test]
async fn another_cluster_at_the_same_addresses_asks_for_a_list() {
    let (Some(mut first), Some(second)) = (current().await, current().await) else {
        return;
    };
    let endpoints = [first.settings(), second.settings()];
    let endpoints = endpoints
        .into_iter()
        .flat_map(|settings| settings.endpoints);
    let source = EtcdSource::new(Client::new(Settings::new(endpoints)).unwrap(), PREFIX);
    let version = put(&first.client(), "a", "1").await;
    list(&source, &everything(Freshness::MostRecent))
        .await
        .unwrap();
    first.members()[0].kill().unwrap();
    put(&second.client(), "a", "other").await;
    let answer = watch_after(&source, version).await.err();
    assert!(
        matches!(answer, Some(SourceError::Expired { .. })),
        "{answer:?}"
    );
    list(&source, &everything(Freshness::MostRecent))
        .await
        .unwrap();
    assert!(watch_after(&source, version).await.is_ok());
}
