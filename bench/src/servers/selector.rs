//! A selector that matches nothing of many small objects.

use std::time::Duration;

use anyhow::Result;

use super::{
    drive::{Driven, Limit, Load, Pace, drive, drive_metered},
    endpoint::Content,
    measure::Unit,
    objects::{self, COLLECTION},
    reads,
    stage::Stage,
};

/// Connections that fill the server.
const FILLING: usize = 64;
/// Lists that are made, one a second as others have measured it, if there is time for as many.
const LISTS_MAX: f64 = 10.0;

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    objects::make_namespaces(&stage.running.endpoint).await?;
    let endpoint = stage.running.endpoint.clone();
    let count = stage.sizes.small_objects;
    let body = objects::config_map(stage.sizes.small_object_bytes);
    let create = endpoint.request("POST", COLLECTION, Content::Object(&body));
    let load = Load::closed(FILLING, Limit::Turns(count));
    let filled = drive_metered(&stage.running, load, move |turn, request| {
        create.fill(turn.number, 0, request);
    });
    let (filled, meter) = filled.await?;
    let filled = filled.clean()?;
    let shown = Unit::Count.text(count as f64);
    let created = format!("create of {shown} ConfigMaps, {FILLING} connections");
    stage
        .findings
        .add(&*created, filled.rate(), Unit::PerSecond);
    stage.cpu(format!("{created}: CPU each"), meter.stop()?, count);
    let name = format!("list of {shown} by a label that none has");
    let path = "/api/v1/configmaps?labelSelector=group%3Dnone";
    let driven = one_by_one(stage, path).await?;
    let found = &mut stage.findings;
    found.time(format!("{name}: p50"), driven.latency.quantile(0.5));
    found.time(format!("{name}: p99"), driven.latency.quantile(0.99));
    let listed = reads::list(stage, path).await?;
    let name = format!("{name}: CPU each");
    stage.cpu(name, listed.spent, listed.lists);
    Ok(())
}

/// A list each second; the first one may have to make what the others find and does not count.
async fn one_by_one(stage: &Stage<'_>, path: &str) -> Result<Driven> {
    let endpoint = &stage.running.endpoint;
    let request = endpoint.get(path);
    let first = request.clone();
    let load = Load::closed(1, Limit::Turns(1));
    let driven = drive(endpoint, load, move |_, output| output.clone_from(&first));
    driven.await?.clean()?;
    let seconds = (stage.sizes.seconds * 5.0).clamp(1.0, LISTS_MAX);
    let load = Load {
        pace: Pace::PerSecond(LISTS_MAX / seconds),
        ..Load::closed(1, Limit::Time(Duration::from_secs_f64(seconds)))
    };
    let driven = drive(endpoint, load, move |_, output| output.clone_from(&request));
    driven.await?.clean()
}
