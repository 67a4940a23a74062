//! One change taken in by the watch cache, and told to watchers of the same process.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Result;
use listwatch_server::watch_cache::{Area, Interest, Watcher};
use tokio::task::yield_now;

use super::FURTHER_TURNS;
use crate::{
    counter::Allocated,
    objects,
    stage::{Stage, Storage, repeat},
};

/// Bytes of events that a watcher takes at once, as in a watch over HTTP.
const BUDGET_BYTES: usize = 64 * 1024;

/// Nobody watches.
pub(super) fn apply(times: u64) -> Result<Allocated> {
    let mut stage = Stage::new(Storage::Memory)?;
    let stored = stage.fill(1)?;
    let cache = stage.pods()?;
    repeat(times, |counter, number| {
        let revision = stage.put(0, objects::repeated(&stored, number))?;
        counter.section(|| stage.runtime.block_on(cache.at_least(revision)))?;
        Ok(())
    })
}

/// So many watchers want everything.
pub(super) fn watchers(count: u64) -> Result<Allocated> {
    let mut stage = Stage::new(Storage::Memory)?;
    let stored = stage.fill(1)?;
    let (cache, after) = (stage.pods()?, stage.revision()?);
    let told = Arc::new(AtomicU64::new(0));
    for _ in 0..count {
        let watcher = cache.watch(&Interest::everything_in(Area::Everywhere), after);
        stage.runtime.spawn(follow(watcher, Arc::clone(&told)));
    }
    repeat(FURTHER_TURNS, |counter, number| {
        stage.put(0, objects::repeated(&stored, number))?;
        let wanted = told.load(Ordering::Relaxed) + count;
        let all_told = async {
            while told.load(Ordering::Relaxed) < wanted {
                yield_now().await;
            }
        };
        counter.section(|| stage.runtime.block_on(all_told));
        Ok(())
    })
}

async fn follow(mut watcher: Watcher, told: Arc<AtomicU64>) {
    while let Ok(batch) = watcher.next(BUDGET_BYTES).await {
        for one in &batch.events {
            black_box(one.event.json_frame(one.event_type));
        }
        told.fetch_add(batch.events.len() as u64, Ordering::Relaxed);
    }
}
