use std::time::{Duration, UNIX_EPOCH};

use tokio::time::Instant;

use super::*;
use crate::{contract, disk::simulated::SimulatedDisk};

/// A time of day that goes with tokio's, which a test may pause.
fn test_clock() -> WallClock {
    let begun = Instant::now();
    WallClock::new(move || UNIX_EPOCH + Duration::from_secs(1_000_000_000) + begun.elapsed())
}

fn small_options() -> EmbeddedOptions {
    EmbeddedOptions {
        segment_bytes: 32 * 1024,
        disk_work: DiskWork::Tasks,
        ..EmbeddedOptions::default()
    }
}

async fn open_simulated(disk: &SimulatedDisk) -> EmbeddedStore {
    let opened = EmbeddedStore::open(Arc::new(disk.clone()), test_clock(), small_options()).await;
    opened.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_simulated_disk_keeps_the_contract() {
    contract::run(async || open_simulated(&SimulatedDisk::new(1)).await).await;
}

#[tokio::test(start_paused = true)]
async fn files_keep_the_contract() {
    let place = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    contract::run(async || {
        number.set(number.get() + 1);
        let directory = place.path().join(number.get().to_string());
        let directory = Arc::new(Directory::create(directory).unwrap());
        let options = EmbeddedOptions::default();
        EmbeddedStore::open(directory, test_clock(), options)
            .await
            .unwrap()
    })
    .await;
}
