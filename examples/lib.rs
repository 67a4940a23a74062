//! Small programs that show how listwatch is used: run them with `cargo run --example NAME`.

use std::sync::Arc;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use tokio::net::TcpListener;

/// A client of the server at a URL or of a kubeconfig file, or of a new server in this process.
pub async fn connect(given: Option<String>) -> anyhow::Result<(Client, Option<RunningServer>)> {
    let config = match given {
        Some(url) if url.starts_with("http") => Config::new(url.parse()?),
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(file)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?
        }
        None => {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let store = Arc::new(MemoryStore::new());
            let server = RunningServer::start(listener, store, Settings::default()).await?;
            let url = format!("http://{}", server.address());
            let client = Client::try_from(Config::new(url.parse()?))?;
            return Ok((client, Some(server)));
        }
    };
    Ok((Client::try_from(config)?, None))
}
