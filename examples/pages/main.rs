//! Runs what the pages for users of the informers show: each step on a server of its own.

#![allow(clippy::print_stdout, reason = "pages print, as their readers do")]

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, api::PostParams};
use listwatch::etcd::{
    self,
    testing::{Cluster, Program, Release},
};
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use serde_json::json;
use tokio::{net::TcpListener, time::timeout};

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Far longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a step on a server that has the one object which the pages create at their beginning.
async fn with_server<S, F>(step: S) -> anyhow::Result<()>
where
    S: FnOnce(Client) -> F,
    F: Future<Output = anyhow::Result<()>>,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let store = Arc::new(MemoryStore::new());
    let server = RunningServer::start(listener, store, Settings::default()).await?;
    let url = format!("http://{}", server.address());
    let client = Client::try_from(Config::new(url.parse()?))?;
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let color = json!({"metadata": {"name": "color"}, "data": {"is": "blue"}});
    let color = serde_json::from_value(color)?;
    config_maps.create(&PostParams::default(), &color).await?;
    timeout(PATIENCE, step(client)).await??;
    server.shutdown().await;
    Ok(())
}

/// Runs a step on an etcd, where there is one to start.
async fn with_etcd<S, F>(step: S) -> anyhow::Result<()>
where
    S: FnOnce(etcd::Client) -> F,
    F: Future<Output = anyhow::Result<()>>,
{
    let Some(program) = Program::find_or_skip(Release::Current) else {
        return Ok(());
    };
    let etcd = Cluster::single(&program).await?;
    timeout(PATIENCE, step(etcd.client())).await?
}
