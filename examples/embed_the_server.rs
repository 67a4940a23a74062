//! A Kubernetes API server inside a test or a program: no process, no container, no fixed port.
//!
//! `cargo run -p listwatch-examples --example embed_the_server`

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, api::PostParams};
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let store = Arc::new(MemoryStore::new());
    let server = RunningServer::start(listener, store, Settings::default()).await?;

    // From here on any Kubernetes client works. This one is kube's.
    let url = format!("http://{}", server.address());
    let client = Client::try_from(Config::new(url.parse()?))?;
    let configmaps: Api<ConfigMap> = Api::namespaced(client, "default");
    let color = json!({"metadata": {"name": "color"}, "data": {"is": "blue"}});
    let created = configmaps
        .create(&PostParams::default(), &serde_json::from_value(color)?)
        .await?;
    eprintln!("created {:?} at {url}", created.metadata.name);
    assert_eq!(created.data.unwrap_or_default()["is"], "blue");

    server.shutdown().await;
    Ok(())
}
