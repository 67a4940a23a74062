//! Start to first watch event, and memory: idle, per object, per watch, per kind.

use std::time::Duration;

use anyhow::Result;

use super::{
    fanout::{Audience, Seats},
    measure::{Bar, Measure, Unit},
    objects::{self, PODS, Pods},
    rounds,
    stage::Stage,
    watch::{Tally, Watches},
};

/// Objects whose size is asked for.
const STORED_LOOKED_AT: u64 = 1_000;

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
    if !stage.sees_processes() {
        return Ok(());
    }
    let idle = stage.resident().await?;
    let found = stage.findings.bytes("idle memory", idle as f64);
    found.bar(Bar::Better(12.0));
    kinds(stage, idle).await?;
    watches(stage).await?;
    // What the watches have left behind would be taken for objects again.
    stage.restart_empty().await?;
    let bytes = stage.sizes.object_bytes;
    let pods = Pods::of_many_sizes(&stage.running.endpoint, bytes);
    let found = objects(stage, &pods, "many sizes").await?;
    found.bar(Bar::Below(1.3));
    if stage.contender.is_given() {
        return Ok(());
    }
    restarts(stage).await?;
    stage.restart_empty().await?;
    let pods = Pods::new(&stage.running.endpoint, bytes);
    objects(stage, &pods, "one size").await.map(drop)
}

/// Starts on an empty store.
async fn starts(stage: &mut Stage<'_>) -> Result<()> {
    let mut times: Vec<Duration> = vec![stage.running.started_in];
    while times.len() < stage.sizes.starts {
        let again = stage.contender.start().await?;
        times.push(again.started_in);
        again.stop().await?;
    }
    let found = stage
        .findings
        .time("start to first watch event", median(times));
    found.bar(Bar::Better(40.0));
    Ok(())
}

/// Starts on the store as it is now.
async fn restarts(stage: &mut Stage<'_>) -> Result<()> {
    if !stage.contender.keeps_objects() {
        return Ok(());
    }
    let mut times = Vec::new();
    while times.len() < stage.sizes.starts {
        times.push(stage.running.restart_all(PODS).await?);
    }
    let count = Unit::Count.text(2.0 * stage.sizes.objects_least() as f64);
    let name = format!("start to first watch event, {count} objects there");
    stage.findings.time(name, median(times));
    Ok(())
}

fn median(times: Vec<Duration>) -> Duration {
    rounds::middle(times, Duration::as_secs_f64).unwrap_or_default()
}

/// What each of many further pods takes when as many are there. Nothing has been changed or
/// deleted, so that history holds no object that is not there.
async fn objects<'stage>(
    stage: &'stage mut Stage<'_>,
    pods: &Pods,
    sizes: &str,
) -> Result<&'stage mut Measure> {
    objects::make_namespaces(&stage.running.endpoint).await?;
    let count = stage.sizes.objects_least();
    pods.fill(0..count).await?;
    let before = stage.resident().await?;
    pods.fill(count..2 * count).await?;
    let filled = stage.resident().await?;
    let each = (filled as f64 - before as f64) / count as f64;
    let bytes = pods.stored_bytes(0..count.min(STORED_LOOKED_AT)).await?;
    let mean = bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
    let range = |bytes: Option<&u64>| *bytes.unwrap_or(&0) as f64;
    let (least, most) = (range(bytes.iter().min()), range(bytes.iter().max()));
    stage.note(format!(
        "pods of {sizes} are given back as {} to {}, {} in the mean",
        Unit::Bytes.text(least),
        Unit::Bytes.text(most),
        Unit::Bytes.text(mean)
    ));
    let found = &mut stage.findings;
    found.bytes(format!("memory per object, {sizes}"), each);
    let name = format!("memory per byte of an object, {sizes}");
    Ok(found.add(name, each / mean, Unit::Times))
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
    let audience = Audience::gather(stage, Seats::all(stage.sizes.watches)).await?;
    let count = stage.sizes.watches as f64;
    let each = (stage.resident().await? as f64 - before as f64) / count;
    drop(audience);
    let name = format!("memory per idle watch, of {}", Unit::Count.text(count));
    let found = stage.findings.bytes(name, each);
    found.bar(Bar::Better(10.0));
    Ok(())
}
