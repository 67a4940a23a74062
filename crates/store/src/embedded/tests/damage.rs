//! Files that are not as they were written: the store says so, and never begins empty.

use super::*;
use crate::{contract::script, random::Random};

/// A store with several segments and a base, closed; and its newest state.
async fn make_store(disk: &SimulatedDisk) -> crate::Page {
    let store = open(disk).await;
    for number in 0..60 {
        script::put(&store, &format!("{}", number % 7), &"x".repeat(number * 10)).await;
    }
    store.compact(Revision::new(40)).await.unwrap();
    script::read_newest(&store).await
}

async fn refusal(disk: &SimulatedDisk) -> OpenError {
    match try_open(disk).await {
        Err(error) => error,
        Ok(store) => panic!("opened at {}", script::newest(&store).await),
    }
}

#[tokio::test(start_paused = true)]
async fn a_flipped_bit_is_refused_or_harmless_but_never_believed() {
    let mut refused = 0;
    let mut random = Random::new(1);
    for round in 0..600 {
        let disk = SimulatedDisk::new(1);
        let state = make_store(&disk).await;
        let last = segments(&disk).pop().unwrap();
        let names = disk.names();
        let name = &names[random.below(names.len() as u64) as usize];
        let length = disk.contents(name).unwrap().len();
        let byte = random.below(length as u64) as usize;
        disk.flip_bit(name, byte, random.next() as u32);
        match try_open(&disk).await {
            Err(OpenError::Corrupt { file, .. } | OpenError::Foreign { file, .. }) => {
                assert_eq!(file, disk.path(name), "round {round}");
                refused += 1;
            }
            Err(other) => panic!("round {round}, {name}: {other}"),
            Ok(store) => {
                let found = script::read_newest(&store).await;
                // The last record of all may be taken for one that was never finished.
                let lost = name == &last && found.revision.next() == state.revision;
                assert!(found == state || lost, "round {round}, {name}, byte {byte}");
            }
        }
    }
    assert!(refused > 400, "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_bad_record_before_durable_ones_is_no_torn_write() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    script::put(&store, "a", "precious").await;
    script::put(&store, "b", "x").await;
    disk.end_process();
    drop(store);
    let name = segments(&disk).pop().unwrap();
    disk.flip_bit(&name, 100, 1);
    let error = refusal(&disk).await;
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains(disk.path(&name).to_str().unwrap())
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_file_is_refused_by_name() {
    let make = async || {
        let disk = SimulatedDisk::new(1);
        make_store(&disk).await;
        disk
    };
    let names = make().await.names();
    let last = segments(&make().await).pop().unwrap();
    assert!(names.len() >= 4, "{names:?}");
    for name in names.iter().filter(|name| **name != last) {
        let disk = make().await;
        disk.remove(name).unwrap();
        let error = refusal(&disk).await;
        assert!(
            matches!(error, OpenError::Missing { .. }),
            "{name}: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_of_another_store_is_refused() {
    let (disk, other) = (SimulatedDisk::new(1), SimulatedDisk::new(2));
    make_store(&disk).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let later = WallClock::new(|| UNIX_EPOCH + Duration::from_secs(2_000_000_000));
    let store = EmbeddedStore::open(Arc::new(other.clone()), later, small_options()).await;
    let store = store.unwrap();
    for number in 0..60 {
        script::put(&store, "a", &"x".repeat(number * 10)).await;
    }
    drop(store);
    let name = segments(&disk)[0].clone();
    disk.replace(&name, other.contents(&name).unwrap());
    let error = refusal(&disk).await;
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    disk.replace(
        &name,
        b"#!/bin/sh\necho not a log, and long enough to have a header of one".into(),
    );
    let error = refusal(&disk).await;
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_directory_of_other_things_is_not_made_a_store() {
    let disk = SimulatedDisk::new(1);
    disk.replace("letter.txt", b"Dear".to_vec());
    let error = refusal(&disk).await;
    assert!(error.to_string().contains("letter.txt"), "{error}");
    assert_eq!(disk.names(), ["letter.txt"]);
    disk.remove("letter.txt").unwrap();
    disk.replace("lost+found", Vec::new());
    open(&disk).await;
}

#[tokio::test(start_paused = true)]
async fn mangled_files_are_read_without_a_panic() {
    let mut random = Random::new(7);
    for _ in 0..300 {
        let disk = SimulatedDisk::new(1);
        make_store(&disk).await;
        let names = disk.names();
        let name = &names[random.below(names.len() as u64) as usize];
        let mut bytes = disk.contents(name).unwrap();
        match random.below(4) {
            0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
            1 => bytes.extend((0..random.below(5000)).map(|_| random.next() as u8)),
            2 => {
                let from = random.below(bytes.len() as u64) as usize;
                bytes[from..]
                    .iter_mut()
                    .for_each(|byte| *byte = random.next() as u8);
            }
            _ => {
                let from = random.below(bytes.len() as u64) as usize;
                bytes.drain(from..(from + 8).min(bytes.len()));
            }
        }
        disk.replace(name, bytes);
        if let Ok(store) = try_open(&disk).await {
            script::put(&store, "a", "x").await;
        }
    }
}

/// Damages all records of every segment but the last, while the store is open.
fn rot_the_past(disk: &SimulatedDisk) {
    let mut names = segments(disk);
    names.pop();
    for name in names {
        let length = disk.contents(&name).unwrap().len();
        for byte in (80..length).step_by(200) {
            disk.flip_bit(&name, byte, 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn damage_to_the_past_is_told_and_the_present_goes_on() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    let first = script::put(&store, "a", &"x".repeat(500)).await;
    for _ in 0..20 {
        script::put(&store, "a", &"y".repeat(500)).await;
    }
    rot_the_past(&disk);
    let error = script::read_at(&store, first).await.unwrap_err();
    assert!(error.to_string().contains("log-0000000002"), "{error}");
    let last = script::put(&store, "a", "now").await;
    assert_eq!(script::read_newest(&store).await.revision, last);
}

#[tokio::test(start_paused = true)]
async fn a_compaction_that_failed_is_not_tried_again_at_once() {
    let disk = SimulatedDisk::new(1);
    let options = EmbeddedOptions {
        history_changes: 100,
        ..small_options()
    };
    let store = EmbeddedStore::open(Arc::new(disk.clone()), test_clock(), options).await;
    let store = store.unwrap();
    let write = async |count: u64| {
        for _ in 0..count {
            script::put(&store, "a", &"y".repeat(500)).await;
        }
    };
    write(95).await;
    rot_the_past(&disk);
    write(10).await;
    let put_off = store.inner.compact_after.load(Ordering::Relaxed);
    assert!(put_off > 0 && floor(&store) == Revision::ZERO);
    tokio::time::advance(Duration::from_secs(30)).await;
    write(10).await;
    assert_eq!(store.inner.compact_after.load(Ordering::Relaxed), put_off);
    tokio::time::advance(Duration::from_secs(31)).await;
    write(10).await;
    assert!(store.inner.compact_after.load(Ordering::Relaxed) > put_off);
}
