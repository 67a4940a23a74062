mod beginning;
mod crash;
mod damage;
mod format;
mod limits;
mod restart;

use std::{
    task::Poll,
    time::{Duration, UNIX_EPOCH},
};

use tokio::time::Instant;

use super::*;
use crate::{contract, disk::simulated::SimulatedDisk};

/// A time of day that goes with tokio's, which a test may pause.
fn test_clock() -> WallClock {
    let begun = Instant::now();
    WallClock::new(move || UNIX_EPOCH + Duration::from_secs(1_000_000_000) + begun.elapsed())
}

/// Files so small that few commits fill them.
fn small_options() -> EmbeddedOptions {
    EmbeddedOptions {
        segment_bytes: 8 * 1024,
        disk_work: DiskWork::Tasks,
        ..EmbeddedOptions::default()
    }
}

async fn try_open(disk: &SimulatedDisk) -> Result<EmbeddedStore, OpenError> {
    EmbeddedStore::open(Arc::new(disk.clone()), test_clock(), small_options()).await
}

async fn open(disk: &SimulatedDisk) -> EmbeddedStore {
    try_open(disk).await.unwrap()
}

/// The oldest revision that can be read.
fn floor(store: &EmbeddedStore) -> Revision {
    store.inner.snapshot().floor()
}

/// The segments on the disk, in order.
fn segments(disk: &SimulatedDisk) -> Vec<String> {
    let names = disk.names().into_iter();
    names.filter(|name| name.starts_with("log-")).collect()
}

/// Lets all commits wait before the first is written.
async fn commit_together(
    store: &EmbeddedStore,
    commits: Vec<Commit>,
) -> Vec<Result<Revision, CommitError>> {
    let mut waiting: Vec<_> = commits.into_iter().map(|one| store.commit(one)).collect();
    let mut answers: Vec<_> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, answer) in waiting.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *answer = Some(ready);
            }
        }
        match answers.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}

#[tokio::test(start_paused = true)]
async fn a_simulated_disk_keeps_the_contract() {
    contract::run(contract::Terms::paused(), async || {
        open(&SimulatedDisk::new(1)).await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn followers_that_read_the_disk_keep_the_contract() {
    contract::run(contract::Terms::paused(), async || {
        let disk = Arc::new(SimulatedDisk::new(1));
        let options = EmbeddedOptions {
            tail_bytes: 0,
            ..small_options()
        };
        let opened = EmbeddedStore::open(disk, test_clock(), options).await;
        opened.unwrap()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn files_keep_the_contract() {
    let place = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    contract::run(contract::Terms::paused(), async || {
        number.set(number.get() + 1);
        let directory = place.path().join(number.get().to_string());
        let directory = Arc::new(Directory::create(directory).unwrap());
        let options = EmbeddedOptions::default();
        let opened = EmbeddedStore::open(directory, test_clock(), options).await;
        opened.unwrap()
    })
    .await;
}
