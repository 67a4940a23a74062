//! Everybody at once: full lists, and watches that come back after a restart.

use anyhow::{Result, ensure};
use tokio::time::Instant;

use super::{
    drive::{Limit, Load, drive, drive_metered},
    measure::{Bar, Unit},
    meter::Meter,
    objects::{self, PODS},
    stage::Stage,
    watch::{Tally, Watches, reserve_marks},
};

/// Changes that the watches missed.
const MISSED: u64 = 100;
/// Connections over which watches that got 410 list again.
const RELISTING: usize = 32;

/// Lists at once.
pub(crate) async fn measure_lists(stage: &mut Stage<'_>) -> Result<()> {
    let objects = stage.sizes.objects_least();
    stage.fill(objects).await?;
    let request = stage.running.endpoint.get(PODS);
    for count in stage.sizes.storms.clone() {
        let idle = match stage.sees_processes() {
            true => stage.resident().await?,
            false => 0,
        };
        let resources = stage.running.resources();
        resources.forget_peak()?;
        let load = Load::closed(count, Limit::Turns(count as u64));
        let each = request.clone();
        let driven = drive_metered(&stage.running, load, move |_, request| {
            request.clone_from(&each);
        });
        let (driven, meter) = driven.await?;
        let (driven, spent) = (driven.clean()?, meter.stop()?);
        let shown = Unit::Count.text(objects as f64);
        let name = format!("{count} lists of {shown} at once");
        stage
            .findings
            .time(format!("{name}: until the last"), driven.elapsed);
        stage.cpu(format!("{name}: CPU each"), spent, count as u64);
        if stage.sees_processes() {
            let above = resources.peak()?.saturating_sub(idle) as f64;
            let found = stage
                .findings
                .bytes(format!("{name}: peak above idle"), above);
            if count == 16 {
                found.bar(Bar::Better(20.0));
            }
        }
    }
    Ok(())
}

/// Watches that come back at once, from where they were before the server was restarted.
pub(crate) async fn measure_resumes(stage: &mut Stage<'_>) -> Result<()> {
    let pods = stage.fill(MISSED).await?;
    let version = objects::resource_version(&stage.running.endpoint, PODS).await?;
    let (patch, first_mark) = (pods.patch(), reserve_marks(MISSED));
    let load = Load::closed(8, Limit::Turns(MISSED));
    let patched = drive(&stage.running.endpoint, load, move |turn, request| {
        patch.fill(turn.number, first_mark + turn.number, request);
    });
    patched.await?.clean()?;
    stage.running.restart().await?;
    let watchers = stage.sizes.watches;
    let endpoint = stage.running.endpoint.clone();
    let tally = Tally::new(0);
    let mut open = Watches::new();
    let meter = Meter::start(&stage.running)?;
    let begun = Instant::now();
    let path = format!("{PODS}?watch=1&resourceVersion={version}");
    let paths = (0..watchers).map(|_| path.clone());
    open.open(&endpoint, &tally, paths).await?;
    let settled = |tally: &Tally| tally.events() + tally.refused() * MISSED;
    let reached = tally.wait(watchers * MISSED, settled).await;
    ensure!(reached >= watchers * MISSED, "{reached} events came");
    let refused = tally.refused();
    if refused > 0 {
        let list = endpoint.get(&format!("{PODS}?resourceVersion=0"));
        let load = Load::closed(RELISTING, Limit::Turns(refused));
        let listed = drive(&endpoint, load, move |_, request| request.clone_from(&list));
        listed.await?.clean()?;
    }
    let (elapsed, spent) = (begun.elapsed(), meter.stop()?);
    let shown = Unit::Count.text(watchers as f64);
    let name = format!("{shown} watches resume after a restart");
    stage
        .findings
        .time(format!("{name}: until all are at the present"), elapsed);
    stage.cpu(format!("{name}: CPU each"), spent, watchers);
    let relists = format!("{name}: had to list again");
    stage.findings.add(relists, refused as f64, Unit::Count);
    Ok(())
}
