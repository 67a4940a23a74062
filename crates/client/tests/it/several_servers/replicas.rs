//! Everything that is built on a client, over servers of one store.

use std::sync::Arc;

use listwatch::{
    Bound, Decoder, HandlerOptions, KubernetesSource, RawEvent, RetryWatcher, RetryWatcherSettings,
    SharedInformer, Subscription, Version, source::kubernetes::Transport,
};
use listwatch_server::Settings;
use listwatch_store::{MemoryStore, Store};
use serde_json::Value;

use super::{
    made_up::{BEHIND, Server},
    *,
};
use crate::{proxy::Proxy, real_server::RealServer};

/// A server and the line to it, which tells who is asked.
struct Replica {
    server: RealServer,
    line: Proxy,
}

struct Replicas {
    alive: Vec<Replica>,
}

impl Replicas {
    async fn start(count: usize) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut alive = Vec::new();
        for _ in 0..count {
            let server = RealServer::start_on(Arc::clone(&store), Settings::default()).await;
            let line = Proxy::start(server.address()).await;
            alive.push(Replica { server, line });
        }
        Self { alive }
    }

    /// A client of all of them.
    fn client(&self, seed: u64) -> Client {
        let lines = self.alive.iter().map(|replica| replica.line.address());
        let servers = servers(&lines.collect::<Vec<_>>());
        servers
            .random(fastrand::Rng::with_seed(seed))
            .client()
            .unwrap()
    }

    /// A client of one of them, past its line.
    fn witness(&self) -> Client {
        self.alive[0].server.client()
    }

    /// Takes away the one that was asked for config maps.
    fn the_one_in_use(&mut self) -> Replica {
        let path = "GET /api/v1/namespaces/default/configmaps";
        let in_use = |replica: &Replica| replica.line.requests().iter().any(|asked| asked == path);
        let index = self.alive.iter().position(in_use);
        self.alive.swap_remove(index.expect("somebody is asked"))
    }
}

fn source(client: &Client) -> KubernetesSource {
    KubernetesSource::namespaced::<ConfigMap>(client.clone(), "default")
}

fn follow(source: KubernetesSource) -> (SharedInformer<Value>, Subscription<Value>) {
    let informer = SharedInformer::new(Arc::new(source), Decoder::json());
    let every_change = HandlerOptions {
        bound: Bound::Block(100),
        ..HandlerOptions::default()
    };
    let changes = informer.subscribe(&every_change).unwrap();
    informer.start().unwrap();
    (informer, changes)
}

async fn next(changes: &mut Subscription<Value>) -> String {
    let change = within(changes.next()).await.unwrap().to_string();
    change.split_once(" @").unwrap().0.trim_end().to_owned()
}

#[tokio::test]
async fn an_informer_whose_server_is_killed_goes_on_elsewhere_without_gap_repetition_or_list() {
    for transport in [Transport::HttpStream, Transport::WebSocket] {
        let mut replicas = Replicas::start(3).await;
        create(&replicas.witness(), "object-0").await.unwrap();
        let client = replicas.client(7);
        let (informer, mut changes) = follow(source(&client).transport(transport));
        assert_eq!(next(&mut changes).await, "ADDED     default/object-0");
        for round in 1..=2 {
            let killed = replicas.the_one_in_use();
            drop(killed.line);
            killed.server.kill();
            for name in [format!("object-{round}"), format!("other-{round}")] {
                create(&replicas.witness(), &name).await.unwrap();
                let told = next(&mut changes).await;
                assert_eq!(told, format!("ADDED     default/{name}"));
            }
        }
        let counts = informer.reflector_status().unwrap().counts;
        assert_eq!((counts.lists, counts.relists), (0, 0), "{counts:?}");
        assert_eq!(counts.watches, 3, "{counts:?}");
        informer.shut_down().await;
    }
}

#[tokio::test]
async fn an_informer_whose_server_ends_in_good_order_goes_on_elsewhere_without_a_list() {
    let mut replicas = Replicas::start(2).await;
    create(&replicas.witness(), "before").await.unwrap();
    let (informer, mut changes) = follow(source(&replicas.client(7)));
    assert_eq!(next(&mut changes).await, "ADDED     default/before");
    let ended = replicas.the_one_in_use();
    within(ended.server.shut_down()).await;
    create(&replicas.witness(), "after").await.unwrap();
    assert_eq!(next(&mut changes).await, "ADDED     default/after");
    let counts = informer.reflector_status().unwrap().counts;
    assert_eq!((counts.lists, counts.relists), (0, 0), "{counts:?}");
}

#[tokio::test]
async fn a_server_that_is_behind_is_passed_over_and_nothing_is_listed_again() {
    let mut replicas = Replicas::start(2).await;
    let behind = Server::start(BEHIND).await;
    create(&replicas.witness(), "before").await.unwrap();
    let [first, last] = [0, 1].map(|index| replicas.alive[index].line.address());
    let client = in_order([first, behind.address, last]).client().unwrap();
    let (informer, mut changes) = follow(source(&client));
    assert_eq!(next(&mut changes).await, "ADDED     default/before");
    drop(replicas.the_one_in_use());
    create(&replicas.witness(), "after").await.unwrap();
    assert_eq!(next(&mut changes).await, "ADDED     default/after");
    assert_eq!(behind.requests(), 1);
    let counts = informer.reflector_status().unwrap().counts;
    assert_eq!((counts.lists, counts.relists), (0, 0), "{counts:?}");
}

#[tokio::test]
async fn a_retrying_watch_goes_on_at_the_next_server_after_its_last_event() {
    let mut replicas = Replicas::start(3).await;
    let client = replicas.client(7);
    let start = create(&client, "before").await.unwrap();
    let start = Version::parse(&start.metadata.resource_version.unwrap()).unwrap();
    let settings = RetryWatcherSettings {
        restart_interval: Duration::from_millis(10),
        ..RetryWatcherSettings::default()
    };
    let mut watcher = RetryWatcher::new(Arc::new(source(&client)), start, settings);
    for round in 0..3 {
        for name in [format!("x{round}"), format!("y{round}")] {
            create(&replicas.witness(), &name).await.unwrap();
            match within(watcher.next()).await {
                Some(Ok(RawEvent::Added(object))) => assert_eq!(object.key.name(), name),
                other => panic!("{other:?}"),
            }
        }
        if replicas.alive.len() > 1 {
            drop(replicas.the_one_in_use());
        }
    }
}

#[tokio::test]
async fn writes_go_on_when_their_server_is_gone() {
    let mut replicas = Replicas::start(2).await;
    let client = replicas.client(7);
    create(&client, "a").await.unwrap();
    within(config_maps(&client).list(&Default::default()))
        .await
        .unwrap();
    let killed = replicas.the_one_in_use();
    drop(killed.line);
    killed.server.kill();
    let mut names = Vec::new();
    while !names.contains(&"b".to_owned()) {
        // The first may be lost on the way, and is then not repeated.
        let _ = create(&client, "b").await;
        let list = within(config_maps(&client).list(&Default::default()))
            .await
            .unwrap();
        names = list
            .items
            .into_iter()
            .map(|map| map.metadata.name.unwrap())
            .collect();
    }
    assert_eq!(names, ["a", "b"]);
}
