//! Our shared informer as a program that a benchmark can drive; see `bench/client_go`.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Config};
use listwatch::{
    Bound, Cache, Decoder, HandlerOptions, KubernetesSource, Notification, Object, Raw,
    SharedInformer,
};
use listwatch_bench::{answer, say};

/// The allocator of the `listwatch` command.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Changes that may wait for the handler, as long as client-go's batches.
const WAITING_MAX: usize = 1000;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().context("give the URL of the API")?;
    let client = Client::try_from(Config::new(server.parse()?))?;
    match arguments.next().as_deref() {
        Some("raw") => run(client, Decoder::raw(), node_of_raw).await,
        Some("packed") => {
            let decoder = Decoder::packed_beside(&["spec", "nodeName"]);
            run(client, decoder, |pod| pod.hot.clone().map(String::from)).await
        }
        Some("typed") => run(client, Decoder::json(), node_of_pod).await,
        other => bail!("raw, packed or typed, not {other:?}"),
    }
}

fn node_of_raw(pod: &Object<Raw>) -> Option<String> {
    pod.text_at(&["spec", "nodeName"]).map(Into::into)
}

fn node_of_pod(pod: &Object<Pod>) -> Option<String> {
    pod.spec.as_ref()?.node_name.clone()
}

async fn run<T: Send + Sync + 'static>(
    client: Client,
    decoder: Decoder<T>,
    node: fn(&Object<T>) -> Option<String>,
) -> Result<()> {
    let source = KubernetesSource::all::<Pod>(client);
    let informer = SharedInformer::new(Arc::new(source), decoder);
    informer.cache().add_index("node", node)?;
    let application = |pod: &Object<T>| pod.labels.get("app").map(str::to_owned);
    informer.cache().add_index("app", application)?;
    let updates = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&updates);
    let options = HandlerOptions {
        bound: Bound::Block(WAITING_MAX),
        ..HandlerOptions::default()
    };
    let count = move |notification| {
        if matches!(notification, Notification::Updated { .. }) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    let registration = informer.add_handler_with(count, options)?;
    informer.start()?;
    registration.synced().await?;
    let cache = informer.cache().clone();
    say(&format!("synced {}", cache.snapshot().len()))?;
    let read_from_cache = move |line: &str| match line.strip_prefix("reads ") {
        Some(count) => read(&cache, count.parse()?),
        None => Ok(()),
    };
    tokio::task::spawn_blocking(move || answer(&updates, read_from_cache)).await?
}

/// Reads objects one by one, each from the newest state.
fn read<T>(cache: &Cache<T>, count: usize) -> Result<()> {
    let names: Vec<_> = cache.snapshot().iter().map(|pod| pod.key.clone()).collect();
    for turn in 0..count {
        let key = &names[turn * 7919 % names.len()];
        let snapshot = cache.snapshot();
        snapshot.get(key.as_str()).context("a pod is missing")?;
    }
    Ok(())
}
