//! Two handlers, one watch: one is told every change in order; the other is slow, holds up nobody,
//! and goes on with the latest state.
//!
//! `cargo run -p listwatch-examples --example two_handlers_one_watch`

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use listwatch::{
    Bound, Decoder, HandlerOptions, KubernetesSource, Notification, SharedInformer, Subscription,
};
use listwatch_examples::connect;
use serde_json::json;
use tokio::time::timeout;

const CHANGES: usize = 50;
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (client, server) = connect(None).await?;
    let configmaps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let counter = json!({"metadata": {"name": "counter"}, "data": {"count": "0"}});
    let counter = serde_json::from_value(counter)?;
    configmaps.create(&PostParams::default(), &counter).await?;

    let source = Arc::new(KubernetesSource::from(configmaps.clone()));
    let informer = SharedInformer::<ConfigMap>::new(source, Decoder::json());
    let mut in_order = informer.subscribe(&bounded(Bound::Block(10)))?;
    let mut slow = informer.subscribe(&bounded(Bound::Drop(10)))?;
    informer.start()?;
    ensure!(next_count(&mut in_order).await? == Told::Count(0));
    ensure!(next_count(&mut slow).await? == Told::Count(0));

    for count in 1..=CHANGES {
        let patch = Patch::Merge(json!({"data": {"count": count.to_string()}}));
        configmaps
            .patch("counter", &PatchParams::default(), &patch)
            .await?;
        ensure!(next_count(&mut in_order).await? == Told::Count(count));
    }
    eprintln!("in order: every count from 1 to {CHANGES}");

    // All that time the slow one did not ask.
    let missed = next_count(&mut slow).await?;
    let latest = next_count(&mut slow).await?;
    eprintln!("slow: {missed:?}, then {latest:?}");
    ensure!(missed == Told::Lagged && latest == Told::Count(CHANGES));

    let watches = watches_begun(&client).await?;
    eprintln!("the server counts {watches} watch for both");
    ensure!(watches == 1, "there were {watches} watches");
    informer.shut_down().await;
    server.context("it was started above")?.shutdown().await;
    Ok(())
}

fn bounded(bound: Bound) -> HandlerOptions {
    HandlerOptions {
        bound,
        ..HandlerOptions::default()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Told {
    Count(usize),
    Lagged,
}

async fn next_count(subscription: &mut Subscription<ConfigMap>) -> anyhow::Result<Told> {
    let told = timeout(PATIENCE, subscription.next()).await?;
    let object = match told.context("the informer has stopped")? {
        Notification::Added { object, .. } | Notification::Updated { new: object, .. } => object,
        Notification::Lagged { .. } => return Ok(Told::Lagged),
        Notification::Deleted(deleted) => anyhow::bail!("{} is gone", deleted.key),
    };
    let count = object.data.as_ref().and_then(|data| data.get("count"));
    Ok(Told::Count(
        count.context("the counter has a count")?.parse()?,
    ))
}

/// How many watches of ConfigMaps the server has answered since it began.
async fn watches_begun(client: &Client) -> anyhow::Result<u64> {
    let metrics = client.request_text(http::Request::get("/metrics").body(Vec::new())?);
    let metrics = metrics.await?;
    let of_watches = |line: &&str| {
        let name = line.starts_with("apiserver_request_total{");
        name && line.contains("verb=\"WATCH\"") && line.contains("resource=\"configmaps\"")
    };
    let counts = metrics.lines().filter(of_watches);
    let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    Ok(counts.sum())
}
