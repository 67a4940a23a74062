//! Clients of several servers, of which some die.

mod faults;
mod made_up;
mod replicas;

use std::{net::SocketAddr, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, api::PostParams};
use listwatch::source::kubernetes::SeveralServers;
use serde_json::json;
use tokio::net::TcpListener;

/// How long anything may take that a test waits for. Far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("it happens in time")
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

async fn create(client: &Client, name: &str) -> Result<ConfigMap, kube::Error> {
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    within(config_maps(client).create(&PostParams::default(), &object)).await
}

fn servers(addresses: &[SocketAddr]) -> SeveralServers {
    let urls = addresses.iter().map(|address| format!("http://{address}"));
    SeveralServers::new(urls).unwrap()
}

/// With chance such that they are tried in this order.
fn in_order<const N: usize>(addresses: [SocketAddr; N]) -> SeveralServers {
    let keeps_order = |seed: &u64| {
        let mut order = addresses;
        fastrand::Rng::with_seed(*seed).shuffle(&mut order);
        order == addresses
    };
    let seed = (0..).find(keeps_order).unwrap();
    servers(&addresses).random(fastrand::Rng::with_seed(seed))
}
