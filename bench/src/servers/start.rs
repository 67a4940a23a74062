//! Start to first watch event, and memory: idle, per object, per watch, per kind.

use std::time::Duration;

use anyhow::Result;

use super::{
    measure::{Bar, Unit},
    objects::{self, PODS},
    stage::Stage,
    watch::{Tally, Watches},
};

/// Kinds that are watched to see what a kind takes.
const KINDS: [&str; 20] = [
    "/api/v1/configmaps",
    "/api/v1/endpoints",
    "/api/v1/events",
    "/api/v1/limitranges",
    "/api/v1/nodes",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/api/v1/podtemplates",
    "/api/v1/replicationcontrollers",
    "/api/v1/resourcequotas",
    "/api/v1/secrets",
    "/api/v1/serviceaccounts",
    "/api/v1/services",
    "/apis/apps/v1/controllerrevisions",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
    "/apis/batch/v1/cronjobs",
    "/apis/batch/v1/jobs",
];

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    if !stage.contender.is_given() {
        starts(stage).await?;
    }
    if stage.sees_processes() {
        memory(stage).await?;
    }
    Ok(())
}

async fn starts(stage: &mut Stage<'_>) -> Result<()> {
    let mut times: Vec<Duration> = vec![stage.running.started_in];
    while times.len() < stage.sizes.starts {
        let again = stage.contender.start().await?;
        times.push(again.started_in);
        again.stop().await?;
    }
    times.sort();
    let median = times[times.len() / 2];
    let found = stage.findings.time("start to first watch event", median);
    found.bar(Bar::Better(40.0));
    Ok(())
}

async fn memory(stage: &mut Stage<'_>) -> Result<()> {
    let idle = stage.resident().await?;
    let found = stage.findings.bytes("idle memory", idle as f64);
    found.bar(Bar::Better(12.0));
    kinds(stage, idle).await?;
    watches(stage).await?;
    let before = stage.resident().await?;
    let objects = stage.sizes.objects;
    let pods = stage.fill(objects).await?;
    let filled = stage.resident().await?;
    let each = (filled as f64 - before as f64) / objects as f64;
    let stored = pods.stored_bytes().await? as f64;
    stage
        .findings
        .bytes("an object as it is given back", stored);
    stage.findings.bytes("memory per object", each);
    let relation = stage
        .findings
        .add("memory per byte of an object", each / stored, Unit::Times);
    relation.bar(Bar::Below(1.3));
    Ok(())
}

/// One watch of each kind that nobody has asked for before.
async fn kinds(stage: &mut Stage<'_>, before: u64) -> Result<()> {
    let mut open = Watches::new();
    let tally = Tally::new(0);
    let paths = KINDS.iter().map(|path| format!("{path}?watch=1"));
    open.open(&stage.running.endpoint, &tally, paths).await?;
    let each = (stage.resident().await? as f64 - before as f64) / KINDS.len() as f64;
    stage
        .findings
        .bytes("memory per kind, with its first watch", each);
    Ok(())
}

/// Watches of one kind in which nothing happens.
async fn watches(stage: &mut Stage<'_>) -> Result<()> {
    let before = stage.resident().await?;
    let count = stage.sizes.watchers_max();
    let endpoint = stage.running.endpoint.clone();
    let version = objects::resource_version(&endpoint, PODS).await?;
    let tally = Tally::new(0);
    let mut open = Watches::new();
    let path = format!("{PODS}?watch=1&resourceVersion={version}");
    let paths = (0..count).map(|_| path.clone());
    open.open(&endpoint, &tally, paths).await?;
    let each = (stage.resident().await? as f64 - before as f64) / count as f64;
    let found = stage
        .findings
        .bytes(format!("memory per idle watch, of {count}"), each);
    found.bar(Bar::Better(10.0));
    Ok(())
}
