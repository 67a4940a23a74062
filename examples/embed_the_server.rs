//! A Kubernetes API server inside a test or a program: no process, no container, no fixed port.
//!
//! `cargo run -p listwatch-examples --example embed_the_server`

use std::sync::Arc;

use listwatch::{Client, Collection};
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let store = Arc::new(MemoryStore::new());
    let server = RunningServer::start(listener, store, Settings::default()).await?;

    // From here on any Kubernetes client works. This one is ours.
    let client = Client::new(&format!("http://{}", server.address()))?;
    let configmaps = Collection::core("configmaps").in_namespace("default");
    let color = json!({"metadata": {"name": "color"}, "data": {"is": "blue"}});
    let created = client.create(&configmaps, &color).await?;
    eprintln!(
        "created {} at {}",
        created["metadata"]["name"],
        server.address()
    );
    assert_eq!(created["data"]["is"], "blue");

    server.shutdown().await;
    Ok(())
}
