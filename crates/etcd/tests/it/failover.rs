//! A cluster of which a part is gone.

use std::time::Duration;

use listwatch_etcd::{
    Client, Error, KeyRange, Put, Settings, WatchRequest, WatchUpdate,
    testing::{Cluster, Program, Release},
};

#[tokio::test]
async fn a_cluster_without_one_member_is_used_on() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let mut etcd = Cluster::start(&program, 3).await.unwrap();
    let client = etcd.client();
    client.put(Put::new("a", "1")).await.unwrap();
    for gone in 0..3 {
        etcd.members()[gone].kill().unwrap();
        // The leader may be the one that is gone: until there is another, nothing is promised.
        let mut answer = client.put(Put::new("a", "2")).await;
        while let Err(Error::Interrupted { .. }) = answer {
            answer = client.put(Put::new("a", "2")).await;
        }
        answer.unwrap();
        let request = WatchRequest::from_revision(KeyRange::one("a"), 1);
        let mut watch = client.watch(request).await.unwrap();
        let update = watch.next().await.unwrap();
        assert!(matches!(update, WatchUpdate::Events(_)), "{update:?}");
        let statuses = client.statuses().await;
        let silent = statuses.iter().position(Result::is_err);
        assert_eq!(silent, Some(gone), "{statuses:?}");
        etcd.members()[gone].restart().await.unwrap();
    }
}

#[tokio::test]
async fn a_paused_member_is_passed_over_by_reads() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let mut etcd = Cluster::start(&program, 3).await.unwrap();
    let settings = Settings {
        request_timeout: Duration::from_millis(1500),
        ..etcd.settings()
    };
    let client = Client::new(settings).unwrap();
    client.put(Put::new("a", "1")).await.unwrap();
    etcd.members()[0].pause().unwrap();
    let mut found = client.get("a").await;
    while let Err(Error::Interrupted { .. }) = found {
        found = client.get("a").await;
    }
    assert_eq!(found.unwrap().unwrap().value, "1");
    etcd.members()[0].resume().unwrap();
}

#[tokio::test]
async fn a_watch_on_a_member_without_a_leader_ends() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let mut etcd = Cluster::start(&program, 3).await.unwrap();
    let settings = Settings::new([etcd.members()[0].address()]);
    let client = Client::new(settings).unwrap();
    let request = WatchRequest::from_revision(KeyRange::one("a"), 1);
    let mut watch = client.watch(request).await.unwrap();
    for gone in [1, 2] {
        etcd.members()[gone].kill().unwrap();
    }
    let ended = watch.next().await;
    assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    let written = client.put(Put::new("a", "1")).await;
    assert!(
        matches!(written, Err(Error::Interrupted { .. })),
        "{written:?}"
    );
}

#[tokio::test]
async fn nobody_there_means_that_nothing_was_sent() {
    let client = Client::new(Settings::new(["http://127.0.0.1:1"])).unwrap();
    let answer = client.put(Put::new("a", "1")).await;
    assert!(
        matches!(answer, Err(Error::Unreachable { .. })),
        "{answer:?}"
    );
}
