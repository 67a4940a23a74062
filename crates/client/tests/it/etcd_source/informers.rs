//! The whole pipeline on an etcd: whatever happens, the cache ends equal to the range.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use listwatch::{
    Decoder, FinalState, HandlerOptions, Notification, Raw, SharedInformer, Snapshot, Version,
    etcd::{
        Client, Compaction, KeyRange, Range, Settings,
        testing::{Cluster, Program},
    },
    source::EtcdSource,
};

use super::{PREFIX, current, delete, put};
use crate::proxy::Proxy;

/// Longer than any recovery takes, pauses between attempts included.
const PATIENCE: Duration = Duration::from_secs(60);

/// Versions and values by name.
type State = BTreeMap<String, (Version, Vec<u8>)>;

fn follow(client: Client) -> SharedInformer<Raw> {
    let source = EtcdSource::new(client, PREFIX);
    let source = source.with_progress_interval(Duration::from_millis(200));
    let informer = SharedInformer::new(Arc::new(source), Decoder::raw());
    informer.start().unwrap();
    informer
}

fn cached(snapshot: &Snapshot<Raw>) -> State {
    let objects = snapshot.iter().map(|object| {
        let state = (object.version.clone(), object.as_bytes().to_vec());
        (object.key.to_string(), state)
    });
    objects.collect()
}

async fn stored(client: &Client) -> State {
    let range = Range::new(KeyRange::prefix(PREFIX));
    let stored = client.range(range).await.unwrap().key_values.into_iter();
    let named = stored.map(|stored| {
        let name = String::from_utf8(stored.key[PREFIX.len()..].to_vec()).unwrap();
        (
            name,
            (Version::Number(stored.mod_revision), stored.value.to_vec()),
        )
    });
    named.collect()
}

/// Waits until the informer has seen everything, and compares.
async fn assert_converged(informer: &SharedInformer<Raw>, client: &Client) {
    let last = Version::Number(put(client, "last", "written").await);
    let snapshot = informer.read_at_least(&last, PATIENCE).await.unwrap();
    assert_eq!(cached(&snapshot), stored(client).await);
}

/// Writes and deletes by chance.
async fn churn(client: &Client, random: &mut fastrand::Rng, changes: usize) {
    for _ in 0..changes {
        let name = format!("{}/{}", random.alphabetic(), random.u8(..8));
        match random.u8(..4) {
            0 => delete(client, &name).await,
            _ => put(client, &name, &random.u32(..).to_string()).await,
        };
    }
}

#[tokio::test]
async fn an_informer_ends_equal_to_the_range_over_a_crash_and_without_a_second_list() {
    for program in Program::all_or_skip() {
        let mut etcd = Cluster::single(&program).await.unwrap();
        let client = etcd.client();
        let mut random = fastrand::Rng::with_seed(7);
        churn(&client, &mut random, 100).await;
        let informer = follow(etcd.client());
        informer.wait_until_synced().await.unwrap();
        churn(&client, &mut random, 100).await;
        etcd.crash_and_restart().await.unwrap();
        churn(&client, &mut random, 100).await;
        assert_converged(&informer, &client).await;
        let counts = informer.reflector_status().unwrap().counts;
        assert_eq!((counts.lists, counts.relists), (1, 0), "{counts:?}");
        assert!(counts.watches >= 2, "{counts:?}");
        informer.shut_down().await;
    }
}

#[tokio::test]
async fn an_informer_that_missed_what_is_compacted_finds_it_by_a_list() {
    let Some(etcd) = current().await else {
        return;
    };
    let client = etcd.client();
    let address = etcd.settings().endpoints[0].replace("http://", "");
    let network = Proxy::start(address.parse().unwrap()).await;
    put(&client, "gone", "1").await;
    put(&client, "kept", "1").await;
    let endpoint = format!("http://{}", network.address());
    let informer = follow(Client::new(Settings::new([endpoint])).unwrap());
    let mut changes = informer.subscribe(&HandlerOptions::default()).unwrap();
    informer.wait_until_synced().await.unwrap();
    network.fall_silent();
    delete(&client, "gone").await;
    put(&client, "kept", "2").await;
    let present = put(&client, "new", "1").await;
    client.compact(present, Compaction::Done).await.unwrap();
    network.cut();
    network.resume();
    assert_converged(&informer, &client).await;
    let counts = informer.reflector_status().unwrap().counts;
    assert_eq!(counts.relists, 1, "{counts:?}");
    let deleted = loop {
        if let Notification::Deleted(deleted) = changes.next().await.unwrap() {
            break deleted;
        }
    };
    assert_eq!(deleted.key.as_str(), "gone");
    assert_eq!(deleted.final_state, FinalState::Unknown);
    assert_eq!(deleted.last.unwrap().as_bytes(), b"1");
}

#[tokio::test]
async fn a_deletion_is_told_with_the_last_value() {
    let Some(etcd) = current().await else {
        return;
    };
    let client = etcd.client();
    put(&client, "a", "1").await;
    let informer = follow(etcd.client());
    let mut changes = informer.subscribe(&HandlerOptions::default()).unwrap();
    informer.wait_until_synced().await.unwrap();
    put(&client, "a", "2").await;
    delete(&client, "a").await;
    let deleted = loop {
        if let Notification::Deleted(deleted) = changes.next().await.unwrap() {
            break deleted;
        }
    };
    assert_eq!(deleted.final_state, FinalState::Known);
    assert_eq!(deleted.last.unwrap().as_bytes(), b"2");
}
