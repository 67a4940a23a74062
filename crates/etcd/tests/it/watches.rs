//! Changes as they happen.

use std::time::Duration;

use bytes::Bytes;
use listwatch_etcd::{
    Client, Compaction, Delete, Error, Event, KeyRange, Operation, PreviousValues,
    ProgressRequests, Put, Transaction, Watch, WatchRequest, WatchUpdate,
    testing::{Cluster, Program, Release},
};

use crate::on_every_release;

async fn watch_from(client: &Client, first_revision: u64) -> Watch {
    let request = WatchRequest {
        previous: PreviousValues::Included,
        ..WatchRequest::from_revision(KeyRange::prefix("p/"), first_revision)
    };
    client.watch(request).await.unwrap()
}

/// The next events, at least this many, whatever progress comes between.
async fn events(watch: &mut Watch, count: usize) -> Vec<Event> {
    let mut seen = Vec::new();
    while seen.len() < count {
        if let WatchUpdate::Events(events) = watch.next().await.unwrap() {
            seen.extend(events);
        }
    }
    seen
}

async fn put(client: &Client, key: &str, value: &str) -> u64 {
    let put = Put::new(key.to_owned(), value.to_owned());
    client.put(put).await.unwrap().header.revision
}

#[tokio::test]
async fn a_watch_tells_all_changes_from_a_revision_on() {
    on_every_release(async |client| {
        put(&client, "p/a", "0").await;
        let first = put(&client, "p/a", "1").await;
        put(&client, "other", "1").await;
        let deletion = client
            .delete(Delete::new(KeyRange::one("p/a")))
            .await
            .unwrap();
        let mut watch = watch_from(&client, first).await;
        let past = events(&mut watch, 2).await;
        let [Event::Put { current, previous }, delete] = &past[..] else {
            panic!("{past:?}");
        };
        assert_eq!(
            (&current.value[..], current.mod_revision),
            (&b"1"[..], first)
        );
        assert_eq!(previous.as_ref().unwrap().value, "0");
        let expected = Event::Delete {
            key: Bytes::from("p/a"),
            revision: deletion.header.revision,
            previous: Some(current.clone()),
        };
        assert_eq!(*delete, expected);
        let later = put(&client, "p/b", "2").await;
        let present = events(&mut watch, 1).await;
        assert!(
            matches!(&present[..], [Event::Put { current, previous: None }]
                if current.mod_revision == later),
            "{present:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_compacted_start_is_told() {
    on_every_release(async |client| {
        let first = put(&client, "p/a", "1").await;
        let last = put(&client, "p/a", "2").await;
        client.compact(last, Compaction::Done).await.unwrap();
        let request = WatchRequest::from_revision(KeyRange::prefix("p/"), first);
        let told = match client.watch(request).await {
            Ok(mut watch) => watch.next().await.map(drop),
            Err(error) => Err(error),
        };
        assert_eq!(told, Err(Error::Compacted { oldest: Some(last) }));
    })
    .await;
}

#[tokio::test]
async fn a_revision_larger_than_one_message_comes_as_one() {
    on_every_release(async |client| {
        let value = vec![7_u8; 600_000];
        let mut revision = 0;
        for round in 0..6 {
            let key = format!("p/{round}");
            revision = client
                .put(Put::new(key, value.clone()))
                .await
                .unwrap()
                .header
                .revision;
        }
        let delete = Operation::Delete(Delete::new(KeyRange::prefix("p/")));
        let transaction = Transaction {
            then: vec![delete],
            ..Transaction::default()
        };
        client.transact(transaction).await.unwrap();
        let mut watch = watch_from(&client, revision + 1).await;
        let WatchUpdate::Events(deleted) = watch.next().await.unwrap() else {
            panic!("the deletes come before any progress");
        };
        assert_eq!(
            deleted.len(),
            6,
            "3.6 MB of previous values, in several messages"
        );
    })
    .await;
}

#[tokio::test]
async fn progress_is_told_on_request_by_those_who_tell_the_truth() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let etcd = Cluster::single(&program).await.unwrap();
    let client = etcd.client();
    let mut watch = watch_from(&client, 1).await;
    assert_eq!(watch.progress_requests(), ProgressRequests::Reliable);
    let revision = put(&client, "other", "1").await;
    let mut again = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            _ = again.tick() => watch.request_progress(),
            update = watch.next() => {
                assert_eq!(update, Ok(WatchUpdate::Progress { revision }));
                break;
            }
        }
    }
}

#[tokio::test]
async fn whoever_may_lie_about_progress_is_not_asked() {
    on_every_release(async |client| {
        let trusted = client.status().await.unwrap().progress_requests();
        let watch = watch_from(&client, 1).await;
        assert_eq!(watch.progress_requests(), trusted);
    })
    .await;
}

#[tokio::test]
async fn a_watch_goes_on_where_a_killed_server_left_it() {
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return;
    };
    let mut etcd = Cluster::single(&program).await.unwrap();
    let client = etcd.client();
    let first = put(&client, "p/a", "1").await;
    let mut watch = watch_from(&client, first).await;
    assert_eq!(events(&mut watch, 1).await.len(), 1);
    let second = put(&client, "p/a", "2").await;
    etcd.members()[0].kill().unwrap();
    let ended = loop {
        match watch.next().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(ended, Error::Interrupted { .. }), "{ended:?}");
    let nobody = client
        .watch(WatchRequest::from_revision(KeyRange::prefix("p/"), second))
        .await;
    assert!(
        matches!(nobody, Err(Error::Unreachable { .. })),
        "{nobody:?}"
    );
    etcd.members()[0].restart().await.unwrap();
    let third = put(&client, "p/a", "3").await;
    let mut watch = watch_from(&client, second).await;
    let seen: Vec<u64> = events(&mut watch, 2)
        .await
        .into_iter()
        .map(|event| match event {
            Event::Put { current, .. } => current.mod_revision,
            Event::Delete { revision, .. } => revision,
        })
        .collect();
    assert_eq!(seen, [second, third]);
}
