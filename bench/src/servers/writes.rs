//! Creates, merge patches and updates, over few and many connections.

use anyhow::Result;

use super::{
    drive::{Limit, Load, drive},
    measure::{Bar, Unit},
    meter::Meter,
    stage::{Stage, expect},
    template::Template,
    watch::reserve_marks,
};

/// Pods that are patched and updated, in turn, if there are to be as many.
const POOL_MAX: u64 = 1_000;
/// Writes that one load may make.
const WRITES_MAX: u64 = 1_000_000;

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    let pool = stage.sizes.objects.min(POOL_MAX);
    let pods = stage.fill(pool).await?;
    for (load, connections) in stage.sizes.connections.clone().into_iter().enumerate() {
        let first = pool + load as u64 * WRITES_MAX;
        let numbers = move |turn| first + turn;
        write(stage, "create", connections, (pods.create(), numbers)).await?;
    }
    let numbers = move |turn| turn % pool;
    for connections in stage.sizes.connections.clone() {
        write(stage, "merge patch", connections, (pods.patch(), numbers)).await?;
    }
    for connections in stage.sizes.connections.clone() {
        write(stage, "update", connections, (pods.update(), numbers)).await?;
    }
    Ok(())
}

async fn write(
    stage: &mut Stage<'_>,
    verb: &str,
    connections: usize,
    (template, numbers): (Template, impl Fn(u64) -> u64 + Send + Sync + 'static),
) -> Result<()> {
    let first_mark = reserve_marks(WRITES_MAX);
    let load = Load::closed(connections, Limit::Time(stage.sizes.time()));
    let meter = Meter::start(&stage.running)?;
    let driven = drive(&stage.running.endpoint, load, move |turn, request| {
        template.fill(numbers(turn.number), first_mark + turn.number, request);
    });
    let driven = driven.await?.clean()?;
    let spent = meter.stop()?;
    let name = match connections {
        1 => format!("{verb}, 1 connection"),
        _ => format!("{verb}, {connections} connections"),
    };
    let found = stage.findings.add(&*name, driven.rate(), Unit::PerSecond);
    if (verb, connections) == ("create", 64) {
        found.bar(Bar::Better(8.0));
    }
    let found = stage.cpu(format!("{name}: CPU each"), spent, driven.granted);
    match (verb, connections) {
        ("create", 64) => expect(found, Bar::Better(10.0)),
        ("merge patch", _) => expect(found, Bar::Better(15.0)),
        (_, _) => {}
    }
    let slow = driven.latency.quantile(0.99);
    stage.findings.time(format!("{name}: p99"), slow);
    Ok(())
}
