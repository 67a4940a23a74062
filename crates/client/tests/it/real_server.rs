//! An API server in this process, and clients of it.

use std::{net::SocketAddr, sync::Arc};

use kube::{Client, Config};
use listwatch_server::{RunningServer, Settings};
use listwatch_store::{MemoryStore, Store};
use tokio::net::TcpListener;

/// An empty server. It ends with the test.
pub(crate) struct RealServer {
    server: RunningServer,
}

impl RealServer {
    pub(crate) async fn start() -> Self {
        Self::start_on(Arc::new(MemoryStore::new()), Settings::default()).await
    }

    pub(crate) async fn start_on(store: Arc<dyn Store>, settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = RunningServer::start(listener, store, settings)
            .await
            .unwrap();
        Self { server }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Stops at once, as a crash would.
    pub(crate) fn kill(self) {
        self.server.abort();
    }

    /// Stops in good order.
    pub(crate) async fn shut_down(self) {
        self.server.shutdown().await;
    }

    pub(crate) fn client(&self) -> Client {
        client_of(self.address())
    }
}

/// A client of whatever listens there.
pub(crate) fn client_of(address: SocketAddr) -> Client {
    let url = format!("http://{address}").parse().unwrap();
    Client::try_from(Config::new(url)).unwrap()
}
