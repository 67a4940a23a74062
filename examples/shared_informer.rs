//! One informer: a handler that is told of changes, a lister and an index to look things up, and
//! snapshots that stay as they are.
//!
//! `cargo run -p listwatch-examples --example shared_informer [URL | KUBECONFIG]`

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use listwatch::{Decoder, KubernetesSource, Notification, Object, SharedInformer, Version};
use listwatch_examples::connect;
use serde_json::json;
use tokio::time::timeout;

/// Chooses the objects of this example.
const LABEL: &str = "example=shared-informer";

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (client, server) = connect(std::env::args().nth(1)).await?;
    let configmaps: Api<ConfigMap> = Api::namespaced(client, "default");
    create(&configmaps, "sky", "blue").await?;
    create(&configmaps, "sea", "blue").await?;
    create(&configmaps, "grass", "green").await?;

    let source = KubernetesSource::from(configmaps.clone()).labels(LABEL);
    let informer = SharedInformer::<ConfigMap>::new(Arc::new(source), Decoder::json());
    let by_color = informer.add_index("color", color)?;
    let handler = informer.add_handler(|change: Notification<ConfigMap>| eprintln!("{change}"))?;
    informer.start()?;
    timeout(PATIENCE, handler.synced()).await??;

    // Reading asks nothing of the server: the objects are here.
    let lister = informer.lister();
    eprintln!("{} objects", lister.list().len());
    eprintln!("grass is {:?}", color(&*lister.get("default/grass")?));

    // A snapshot is one moment, and stays it.
    let before = informer.cache().snapshot();
    let green = Patch::Merge(json!({"data": {"color": "green"}}));
    let written = configmaps
        .patch("sea", &PatchParams::default(), &green)
        .await?;

    // Our own write is in the cache as soon as the watch has told it.
    let version = written
        .resource_version()
        .and_then(|text| Version::parse(&text));
    let version = version.context("what was written has a version")?;
    let after = informer.read_at_least(&version, PATIENCE).await?;
    for (moment, snapshot) in [("before", &before), ("after", &after)] {
        eprintln!(
            "green {moment}: {:?}",
            snapshot.index_keys(&by_color, "green")
        );
    }
    let counts = [&before, &after].map(|snapshot| snapshot.by_index(&by_color, "green").len());
    ensure!(counts == [1, 2], "{counts:?} objects were green");
    ensure!(handler.status().delivered >= 3, "{handler:?}");

    informer.shut_down().await;
    let ours = ListParams::default().labels(LABEL);
    configmaps
        .delete_collection(&DeleteParams::default(), &ours)
        .await?;
    if let Some(server) = server {
        server.shutdown().await;
    }
    Ok(())
}

/// The values of an object in the index: one, or none if it has no color.
fn color(object: &Object<ConfigMap>) -> Option<String> {
    object.data.as_ref()?.get("color").cloned()
}

async fn create(configmaps: &Api<ConfigMap>, name: &str, color: &str) -> anyhow::Result<()> {
    let labels = json!({"example": "shared-informer"});
    let object = json!({"metadata": {"name": name, "labels": labels}, "data": {"color": color}});
    let object = serde_json::from_value(object)?;
    configmaps.create(&PostParams::default(), &object).await?;
    Ok(())
}
