//! A Kubernetes API server for each test, in the test's own process.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, api::PostParams};
//! use listwatch_testing::TestServer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TestServer::start().await?;
//! let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("color".to_owned());
//! maps.create(&PostParams::default(), &map).await?;
//! assert!(maps.get("color").await?.metadata.uid.is_some());
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! A package of its own, since it needs both the server and the informers that the controllers are
//! built on, and `listwatch` is one of the two.

use std::sync::Arc;

use kube::Client;
use listwatch_controllers::Controllers;
use listwatch_server::{RunningServer, StartError};
use listwatch_store::MemoryStore;
use thiserror::Error;
use tokio::net::TcpListener;

pub use listwatch_controllers::{Choice, Name as Controller};
pub use listwatch_server::Settings;

/// A server with a store of its own in memory. Any number of them run beside each other.
///
/// If it is dropped, it ends at once; [`stop`](Self::stop) ends it in order.
pub struct TestServer {
    parts: Option<Parts>,
    url: String,
    client: Client,
}

struct Parts {
    server: RunningServer,
    controllers: Controllers,
}

/// What a server for a test may be told.
#[derive(Clone, Default)]
pub struct Options {
    /// The controllers that run beside it: by default those that `listwatch serve` runs.
    pub controllers: Choice,
    /// How many nodes are simulated, on which pods are placed and live.
    pub simulated_nodes: u32,
    /// Everything else: limits, intervals, clock and chance.
    pub settings: Settings,
}

/// Why no server could be started.
#[derive(Debug, Error)]
pub enum TestServerError {
    /// There is no free port on the loopback address.
    #[error("no socket: {0}")]
    Socket(#[from] std::io::Error),
    /// The server did not start.
    #[error(transparent)]
    Server(#[from] StartError),
}

impl TestServer {
    /// Starts a server with controllers. Must be called on a Tokio runtime.
    pub async fn start() -> Result<Self, TestServerError> {
        Self::start_with(Options::default()).await
    }

    /// Starts a server that does only what it is asked: nothing comes or goes by itself.
    pub async fn without_controllers() -> Result<Self, TestServerError> {
        Self::start_with(Options {
            controllers: Choice::none(),
            ..Options::default()
        })
        .await
    }

    /// Starts a server as the options say.
    pub async fn start_with(options: Options) -> Result<Self, TestServerError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let store = Arc::new(MemoryStore::new());
        let server = RunningServer::start(listener, store, options.settings).await?;
        let settings = listwatch_controllers::Settings {
            choice: options.controllers,
            simulated_nodes: options.simulated_nodes,
            ..Default::default()
        };
        Ok(Self {
            url: format!("http://{}", server.address()),
            client: listwatch_in_process::client_named(server.handle(), "test"),
            parts: Some(Parts {
                controllers: Controllers::start(server.handle(), settings),
                server,
            }),
        })
    }

    /// A client of it that needs no socket. It is of no use once the server has ended.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Where other processes, and clients that want WebSockets, find it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A kubeconfig that points at it, for programs that take none but files.
    pub fn kubeconfig(&self) -> String {
        let url = &self.url;
        format!(
            "apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: {url}
users:
- name: test
  user: {{}}
contexts:
- name: test
  context:
    cluster: test
    user: test
    namespace: default
current-context: test
"
        )
    }

    /// Ends it: controllers first, then what is in flight.
    pub async fn stop(mut self) {
        if let Some(Parts {
            server,
            controllers,
        }) = self.parts.take()
        {
            controllers.stop().await;
            server.shutdown().await;
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take() {
            drop(parts.controllers);
            parts.server.abort();
        }
    }
}
