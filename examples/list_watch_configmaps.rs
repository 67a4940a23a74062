//! The classic: list the ConfigMaps of a namespace, then watch them change from there.
//!
//! `cargo run -p listwatch-examples --example list_watch_configmaps [URL | KUBECONFIG [NAMESPACE]]`
//!
//! Watches until Ctrl-C. Without an argument it starts a server of its own, makes a few changes and
//! ends when it has printed them.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use listwatch::{
    KubernetesSource, ListerWatcher, Pager, PagerSettings, RawEvent, RawObject, RetryWatcher,
    RetryWatcherSettings,
};
use listwatch_examples::connect;
use serde_json::json;
use tokio::{signal::ctrl_c, time::timeout};

/// What is printed of the changes that [`make_changes`] makes.
const CHANGES: [&str; 3] = [
    r#"ADDED default/color: {"is": "blue"}"#,
    r#"MODIFIED default/color: {"is": "green"}"#,
    r#"DELETED default/color: {"is": "green"}"#,
];

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (client, server) = connect(arguments.next()).await?;
    let namespace = arguments.next().unwrap_or_else(|| "default".to_owned());
    let configmaps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let source: Arc<dyn ListerWatcher> = Arc::new(KubernetesSource::from(configmaps.clone()));

    if server.is_some() {
        create(&configmaps, "shape", "round").await?;
    }
    let list = Pager::new(Arc::clone(&source), PagerSettings::default());
    let list = list.collect().await?;
    for raw in list.items.iter().flatten() {
        eprintln!("{}", line("LISTED", raw)?);
    }
    // A watch from the version of the list misses nothing and repeats nothing.
    let version = list.version.context("a list has a version")?;
    eprintln!("watching from version {version}");
    // Connections break and watches time out: this goes on where it was.
    let mut watcher = RetryWatcher::new(source, version, RetryWatcherSettings::default());
    let Some(server) = server else {
        loop {
            tokio::select! {
                event = watcher.next() => print(&event.context("the watch has ended")??)?,
                interrupted = ctrl_c() => return Ok(interrupted?),
            };
        }
    };
    ensure!(list.items.len() == 1, "listed {:?}", list.items);
    let changes = tokio::spawn(make_changes(configmaps));
    for expected in CHANGES {
        let event = timeout(PATIENCE, watcher.next()).await?;
        let printed = print(&event.context("the watch has ended")??)?;
        ensure!(printed == expected, "{printed} instead of {expected}");
    }
    changes.await??;
    server.shutdown().await;
    Ok(())
}

fn print(event: &RawEvent) -> anyhow::Result<String> {
    let line = match event {
        RawEvent::Added(raw) => line("ADDED", raw)?,
        RawEvent::Modified(raw) => line("MODIFIED", raw)?,
        RawEvent::Deleted(raw) => line("DELETED", raw)?,
        RawEvent::Bookmark(bookmark) => format!("{bookmark:?}"),
        RawEvent::Unreadable(unreadable) => format!("cannot read: {}", unreadable.reason),
    };
    eprintln!("{line}");
    Ok(line)
}

/// A source hands over bytes. What they mean is ours to say.
fn line(word: &str, raw: &RawObject) -> anyhow::Result<String> {
    let configmap: ConfigMap = serde_json::from_slice(&raw.body)?;
    Ok(format!(
        "{word} {}: {:?}",
        raw.key,
        configmap.data.unwrap_or_default()
    ))
}

async fn make_changes(configmaps: Api<ConfigMap>) -> anyhow::Result<()> {
    create(&configmaps, "color", "blue").await?;
    let green = Patch::Merge(json!({"data": {"is": "green"}}));
    configmaps
        .patch("color", &PatchParams::default(), &green)
        .await?;
    configmaps.delete("color", &DeleteParams::default()).await?;
    Ok(())
}

async fn create(configmaps: &Api<ConfigMap>, name: &str, value: &str) -> anyhow::Result<()> {
    let object = json!({"metadata": {"name": name}, "data": {"is": value}});
    let object = serde_json::from_value(object)?;
    configmaps.create(&PostParams::default(), &object).await?;
    Ok(())
}
