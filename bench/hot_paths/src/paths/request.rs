//! One request, from the bytes of its head to those of its answer, on the embedded store.

use anyhow::Result;

use super::FURTHER_TURNS;
use crate::{
    counter::Allocated,
    objects::{self, Form},
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
    get_as(times, Form::Json)
}

/// A pod is read as protobuf, to which it was converted before.
pub(super) fn get_protobuf(times: u64) -> Result<Allocated> {
    get_as(times, Form::Protobuf)
}

/// So many pods are listed.
pub(super) fn list(items: u64) -> Result<Allocated> {
    list_as(items, Form::Json)
}

/// So many pods are listed as protobuf, to which they were converted before.
pub(super) fn list_protobuf(items: u64) -> Result<Allocated> {
    list_as(items, Form::Protobuf)
}

fn get_as(times: u64, form: Form) -> Result<Allocated> {
    filled()?.answer(times, |number| {
        objects::get(&objects::path(number % POOL), form)
    })
}

fn list_as(items: u64, form: Form) -> Result<Allocated> {
    let mut stage = Stage::new(Storage::Embedded)?;
    stage.fill(items)?;
    stage.answer(FURTHER_TURNS, |_| objects::get(objects::PODS, form))
}

fn filled() -> Result<Stage> {
    let mut stage = Stage::new(Storage::Embedded)?;
    stage.fill(POOL)?;
    Ok(stage)
}
