//! One request, from the bytes of its head to those of its answer, on the embedded store.

use anyhow::Result;

use super::FURTHER_TURNS;
use crate::{
    counter::Allocated,
    objects,
    stage::{Stage, Storage},
};

/// Pods that are read and changed in turn.
const POOL: u64 = 16;

/// A pod is created.
pub(super) fn create(times: u64) -> Result<Allocated> {
    Stage::new(Storage::Embedded)?.answer(times, |number| {
        let body = objects::pod(number, 0);
        objects::request("POST", objects::PODS, ("application/json", &body))
    })
}

/// One annotation of a pod is changed.
pub(super) fn merge_patch(times: u64) -> Result<Allocated> {
    filled()?.answer(times, |number| {
        let patch =
            format!(r#"{{"metadata":{{"annotations":{{"bench/sequence":"seq@{number:08}"}}}}}}"#);
        let content = ("application/merge-patch+json", &*patch);
        objects::request("PATCH", &objects::path(number % POOL), content)
    })
}

/// A pod is written anew, with one annotation changed.
pub(super) fn update(times: u64) -> Result<Allocated> {
    filled()?.answer(times, |number| {
        let body = objects::pod(number % POOL, number);
        let path = objects::path(number % POOL);
        objects::request("PUT", &path, ("application/json", &body))
    })
}

/// A pod is read.
pub(super) fn get(times: u64) -> Result<Allocated> {
    filled()?.answer(times, |number| objects::get(&objects::path(number % POOL)))
}

/// So many pods are listed.
pub(super) fn list(items: u64) -> Result<Allocated> {
    let mut stage = Stage::new(Storage::Embedded)?;
    stage.fill(items)?;
    stage.answer(FURTHER_TURNS, |_| objects::get(objects::PODS))
}

fn filled() -> Result<Stage> {
    let mut stage = Stage::new(Storage::Embedded)?;
    stage.fill(POOL)?;
    Ok(stage)
}
