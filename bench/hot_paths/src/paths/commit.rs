//! One object committed to a store.

use anyhow::Result;
use listwatch_store::{Commit, Condition, Key, Write};

use crate::{
    counter::Allocated,
    objects,
    stage::{OpenStore, Storage, repeat, runtime},
};

/// To the store in memory.
pub(super) fn memory(times: u64) -> Result<Allocated> {
    commit(Storage::Memory, times)
}

/// To the store on the disk.
pub(super) fn embedded(times: u64) -> Result<Allocated> {
    commit(Storage::Embedded, times)
}

fn commit(storage: Storage, times: u64) -> Result<Allocated> {
    let runtime = runtime()?;
    let open = runtime.block_on(OpenStore::new(storage))?;
    repeat(times, |counter, number| {
        let key = Key::from(&*objects::path(number));
        let write = Write::put(objects::pod(number, 0));
        let commit = Commit::one(key, Condition::Absent, write);
        counter.section(|| runtime.block_on(open.store.commit(commit)))?;
        Ok(())
    })
}
