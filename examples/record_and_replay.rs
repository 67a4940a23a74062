//! Records what a server says to an informer, and says it again to another one, without the server.
//!
//! `cargo run -p listwatch-examples --example record_and_replay [URL | KUBECONFIG]`

use std::{
    fs::File,
    io::{BufReader, BufWriter},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use listwatch::{
    Decoder, HandlerOptions, KubernetesSource, ListerWatcher, Notification, SharedInformer,
    source::{
        Recorder, Replay,
        recording::{RecordingState, Speed},
    },
};
use listwatch_examples::connect;
use serde_json::json;
use tokio::time::timeout;

const NAME: &str = "record-and-replay";
const RECORDING_BYTES_MAX: u64 = 100 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (client, server) = connect(std::env::args().nth(1)).await?;
    let configmaps: Api<ConfigMap> = Api::namespaced(client, "default");
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("configmaps.recording");

    let source = KubernetesSource::from(configmaps.clone()).fields(format!("metadata.name={NAME}"));
    let file = BufWriter::new(File::create(&path)?);
    let recorder = Arc::new(Recorder::new(Arc::new(source), file, RECORDING_BYTES_MAX));
    create(&configmaps).await?;
    let live = notifications(Arc::clone(&recorder) as _, make_changes(&configmaps)).await?;
    let recorded = recorder.finish();
    if let Some(server) = server {
        server.shutdown().await;
    }
    eprintln!("{recorded:?}, replayed:");
    ensure!(matches!(recorded, RecordingState::Complete { .. }));

    let replay = Replay::read(BufReader::new(File::open(&path)?))?;
    let replay = Arc::new(replay.speed(Speed::AtOnce));
    let replayed = notifications(replay, async { Ok(()) }).await?;
    ensure!(live.len() == 4, "{live:?}");
    ensure!(replayed == live, "{replayed:?} instead of {live:?}");
    Ok(())
}

/// What an informer tells, up to a deletion, while changes are made.
async fn notifications(
    source: Arc<dyn ListerWatcher>,
    changes: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Vec<String>> {
    let informer = SharedInformer::<ConfigMap>::new(source, Decoder::json());
    let mut subscription = informer.subscribe(&HandlerOptions::default())?;
    informer.start()?;
    timeout(PATIENCE, informer.wait_until_synced()).await??;
    changes.await?;
    let mut told = Vec::new();
    loop {
        let notification = timeout(PATIENCE, subscription.next()).await?;
        let notification = notification.context("the informer has stopped")?;
        eprintln!("  {notification}");
        told.push(notification.to_string());
        if let Notification::Deleted(_) = notification {
            informer.shut_down().await;
            return Ok(told);
        }
    }
}

async fn create(configmaps: &Api<ConfigMap>) -> anyhow::Result<()> {
    let color = json!({"metadata": {"name": NAME}, "data": {"color": "blue"}});
    let color = serde_json::from_value(color)?;
    configmaps.create(&PostParams::default(), &color).await?;
    Ok(())
}

async fn make_changes(configmaps: &Api<ConfigMap>) -> anyhow::Result<()> {
    for color in ["green", "red"] {
        let patch = Patch::Merge(json!({"data": {"color": color}}));
        configmaps
            .patch(NAME, &PatchParams::default(), &patch)
            .await?;
    }
    configmaps.delete(NAME, &DeleteParams::default()).await?;
    Ok(())
}
