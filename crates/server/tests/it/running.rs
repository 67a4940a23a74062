//! A server of its own for each test, on a free port of the loopback interface.

use std::{net::SocketAddr, ops::Deref, sync::Arc, time::Duration};

use listwatch_server::{RunningServer, Settings};
use listwatch_store::{MemoryStore, Store};
use tokio::net::TcpListener;

use crate::client::Client;

/// Where most tests do their work.
pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// How long anything may take that a test waits for. Far more than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for something that must happen.
pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("it happens in time")
}

/// A running server and a client of it; calls go to the client.
pub(crate) struct TestServer {
    running: RunningServer,
    client: Client,
    pub(crate) store: Arc<dyn Store>,
}

/// Starts a server on an empty memory store.
pub(crate) async fn start_server() -> TestServer {
    start_with(Settings::default()).await
}

/// Starts a server on an empty memory store, with settings of the test's own.
pub(crate) async fn start_with(settings: Settings) -> TestServer {
    start_on(Arc::new(MemoryStore::new()), settings).await
}

/// Starts a server on a store that may hold something.
pub(crate) async fn start_on(store: Arc<dyn Store>, settings: Settings) -> TestServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = RunningServer::start(listener, Arc::clone(&store), settings)
        .await
        .unwrap();
    let client = Client::new(running.address());
    TestServer {
        running,
        client,
        store,
    }
}

impl TestServer {
    pub(crate) fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// Stops as on SIGTERM; done when all connections are closed.
    pub(crate) async fn shutdown(self) {
        within(self.running.shutdown()).await;
    }

    /// Stops as a crash would; done when nothing of it is left.
    pub(crate) async fn abort(self) {
        let gone = Arc::downgrade(&self.store);
        self.running.abort();
        drop((self.client, self.store));
        within(async {
            while gone.strong_count() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Waits until reads that take any state show everything that was written before.
    pub(crate) async fn has_settled(&self) {
        // A list of the newest state is answered when memory has come that far.
        self.get(CONFIG_MAPS).await.ok();
    }

    /// Waits until the server counts so many watches as open.
    pub(crate) async fn has_open_watches(&self, count: usize) {
        within(async {
            while self.open_watches().await != count {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    async fn open_watches(&self) -> usize {
        let text = self.get("/metrics").await.text();
        let gauges = text
            .lines()
            .filter(|line| line.starts_with("apiserver_longrunning_requests{"));
        let counts = gauges.map(|line| line.rsplit(' ').next().unwrap());
        counts.map(|count| count.parse::<usize>().unwrap()).sum()
    }

    /// Asserts that the server still does its work: it writes, reads and watches.
    pub(crate) async fn assert_well(&self) {
        let object = serde_json::json!({"metadata": {"generateName": "still-well-"}});
        let created = self.post(CONFIG_MAPS, &object).await.created();
        let name = created["metadata"]["name"].as_str().unwrap();
        let item = format!("{CONFIG_MAPS}/{name}");
        assert_eq!(self.get(&item).await.ok()["metadata"]["name"], name);
        let selected = format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3D{name}");
        let mut events = self.watch(&selected).await;
        events.shows(&[&format!("ADDED {name}")]).await;
        self.delete(&item).await.ok();
        events.shows(&[&format!("DELETED {name}")]).await;
    }
}

impl Deref for TestServer {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}
