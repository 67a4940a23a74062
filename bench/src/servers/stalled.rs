//! What watches that nobody reads cost those beside them.

use anyhow::{Context, Result};

use super::{
    drive::Pace,
    fanout::{Audience, Fanned, Seats},
    measure::{Bar, Unit},
    rounds,
    stage::Stage,
    template::GROUPS,
};

/// Watches that are read.
const WATCHERS: u64 = 100;
/// Stalled watches at which the tax is held to its bar.
const STALLED_BARRED: usize = 100;

/// Measures. The settings take turns, so that what else happens on the machine meets them all.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    let watchers = stage.sizes.watchers_max().min(WATCHERS);
    let pods = stage.fill(GROUPS).await?;
    let updates = (stage.sizes.rate * stage.sizes.seconds).max(10.0) as u64;
    let pace = Pace::PerSecond(stage.sizes.rate);
    let settings = stage.sizes.stalled.clone();
    let mut heard: Vec<Vec<Fanned>> = settings.iter().map(|_| Vec::new()).collect();
    for _ in 0..stage.sizes.stalled_rounds {
        for (stalled, heard) in settings.iter().zip(&mut heard) {
            let seats = Seats {
                stalled: *stalled,
                ..Seats::all(watchers)
            };
            let mut audience = Audience::gather(stage, seats).await?;
            heard.push(audience.hear(stage, &pods, (updates, pace)).await?);
        }
    }
    let mut alone = None;
    for (stalled, heard) in settings.into_iter().zip(heard) {
        let fanned = rounds::middle(heard, Fanned::slow).context("there was a round")?;
        let name = format!("{watchers} watches beside {stalled} that are stalled");
        fanned.note_losses(stage, &name);
        let slow = fanned.latency.quantile(0.99);
        stage.findings.time(format!("{name}: p99"), slow);
        let before = *alone.get_or_insert(slow);
        if stalled > 0 {
            let tax = slow.as_secs_f64() - before.as_secs_f64();
            let name = format!("{name}: tax on p99");
            let found = stage.findings.add(name, tax, Unit::Difference);
            if stalled == STALLED_BARRED {
                found.bar(Bar::Below(0.001));
            }
        }
    }
    Ok(())
}
