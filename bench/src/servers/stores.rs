//! Ours on each of its stores: what the store should change, and what it should not.

use anyhow::Result;

use super::{
    fanout::{self, Audience, Seats},
    measure::{Bar, Measure, Unit},
    reads,
    stage::Stage,
    template::GROUPS,
    writes::{self, Pool, Verb},
};

/// Connections that write.
const CONNECTIONS: usize = 64;
/// How much dearer a read or an event may be when the objects lie in etcd.
const DEARER_MAX: f64 = 1.2;

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    if stage.sees_processes() {
        let idle = stage.resident().await? as f64;
        stage.findings.bytes("idle memory", idle);
    }
    let objects = stage.sizes.objects_least().max(GROUPS);
    let pods = stage.fill(objects).await?;
    let first = stage.findings.measures.len();
    reads::gets(stage, &pods, objects).await?;
    reads::lists(stage, objects).await?;
    let watchers = stage.sizes.watches.min(objects);
    let mut audience = Audience::gather(stage, Seats::all(watchers)).await?;
    fanout::fast(stage, &pods, &mut audience).await?;
    for measure in &mut stage.findings.measures[first..] {
        measure.bar = is_cpu(measure).then_some(Bar::Within(DEARER_MAX));
    }
    let last = stage.findings.measures.len();
    fanout::paced(stage, &pods, &mut audience).await?;
    drop(audience);
    let mut pool = Pool::of(pods, objects);
    for verb in [Verb::Create, Verb::MergePatch] {
        writes::write(stage, &mut pool, (verb, CONNECTIONS)).await?;
    }
    for measure in &mut stage.findings.measures[last..] {
        measure.bar = None;
    }
    // These lines would be drawn beside those of the other groups.
    stage.findings.points.clear();
    Ok(())
}

fn is_cpu(measure: &Measure) -> bool {
    measure.unit == Unit::Seconds && measure.scenario.contains(": CPU ")
}
