//! kube-rs' watcher and store as a program that a benchmark can drive; see `bench/client_go`.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Config,
    runtime::{
        WatchStreamExt, reflector,
        watcher::{self, Event, watcher},
    },
};
use listwatch_bench::{answer, say};

/// The allocator of the `listwatch` command, so that nothing but the libraries differs.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> Result<()> {
    let server = std::env::args().nth(1).context("give the URL of the API")?;
    let client = Client::try_from(Config::new(server.parse()?))?;
    let pods: Api<Pod> = Api::all(client);
    let updates = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&updates);
    let (store, writer) = reflector::store();
    let stream = reflector(writer, watcher(pods, watcher::Config::default()))
        .default_backoff()
        .for_each(move |event| {
            if matches!(event, Ok(Event::Apply(_))) {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            std::future::ready(())
        });
    tokio::spawn(stream);
    store.wait_until_ready().await?;
    say(&format!("synced {}", store.len()))?;
    tokio::task::spawn_blocking(move || answer(&updates, |_| Ok(()))).await?
}
