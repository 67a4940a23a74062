//! What happens at the bounds: a full disk, and more history than is to be kept.

use super::*;
use crate::contract::script;

#[tokio::test(start_paused = true)]
async fn a_full_disk_refuses_writes_and_goes_on_when_there_is_room() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    let mut acknowledged = script::put(&store, "first", "x").await;
    disk.set_capacity(disk.used() + 4000);
    let value = "x".repeat(300);
    let full = loop {
        match script::put_if(&store, "a", Condition::Any, &value).await {
            Ok(revision) => acknowledged = revision,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, CommitError::Full { .. }), "{full}");
    assert_eq!(script::newest(&store).await, acknowledged);
    let again = script::put_if(&store, "a", Condition::Any, &value).await;
    assert!(matches!(again, Err(CommitError::Full { .. })));

    disk.set_capacity(u64::MAX);
    let next = script::put(&store, "a", "room").await;
    assert_eq!(next, acknowledged.next());
    let changes = script::follow(&store, Revision::ZERO, next).await;
    drop(store);
    disk.restart();
    let store = open(&disk).await;
    assert_eq!(script::follow(&store, Revision::ZERO, next).await, changes);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_for_want_of_room_never_comes_back() {
    for more in (0..9000).step_by(611) {
        let disk = SimulatedDisk::new(more);
        let store = open(&disk).await;
        disk.set_capacity(disk.used() + more);
        let mut written = Vec::new();
        for number in 0..40 {
            let key = number.to_string();
            let put = script::put_if(&store, &key, Condition::Any, &"x".repeat(250)).await;
            if put.is_ok() {
                written.push(key);
            }
        }
        disk.end_process();
        drop(store);
        disk.set_capacity(u64::MAX);
        let page = script::read_newest(&open(&disk).await).await;
        let found: std::collections::BTreeSet<_> = page
            .entries
            .iter()
            .map(|entry| String::from_utf8_lossy(entry.key.as_bytes()).into_owned())
            .collect();
        assert_eq!(found, written.into_iter().collect());
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_in_the_middle_is_taken_back() {
    for seed in 0..30 {
        let disk = SimulatedDisk::new(seed);
        let store = open(&disk).await;
        script::put(&store, "a", &"x".repeat(1000)).await;
        let first = script::put(&store, "a", "in a file with room").await;
        disk.refuse_writes();
        let together = ["b", "c", "d", "e"].map(|key| {
            let write = script::put_of(&"x".repeat(40));
            Commit::one(key.into(), Condition::Any, write)
        });
        for full in commit_together(&store, together.into()).await {
            assert!(matches!(full, Err(CommitError::Full { .. })), "{full:?}");
        }
        assert_eq!(script::newest(&store).await, first);
        disk.set_capacity(u64::MAX);
        if seed % 2 == 0 {
            assert_eq!(script::put(&store, "f", "x").await, first.next());
        }
        let newest = script::read_newest(&store).await;
        disk.end_process();
        drop(store);
        assert_eq!(script::read_newest(&open(&disk).await).await, newest);
    }
}

/// Many changes of a few keys; returns the last revision.
async fn write_much(store: &EmbeddedStore) -> Revision {
    for number in 0..400 {
        script::put(store, &format!("{}", number % 5), &"x".repeat(200)).await;
    }
    let last = script::put(store, "last", "x").await;
    // A compaction that was started is a task; it runs before this one goes on.
    tokio::task::yield_now().await;
    last
}

async fn open_with(disk: &SimulatedDisk, options: EmbeddedOptions) -> EmbeddedStore {
    let opened = EmbeddedStore::open(Arc::new(disk.clone()), test_clock(), options).await;
    opened.unwrap()
}

#[tokio::test(start_paused = true)]
async fn history_beyond_its_bytes_is_forgotten() {
    let disk = SimulatedDisk::new(1);
    let options = EmbeddedOptions {
        history_bytes: 20_000,
        ..small_options()
    };
    let store = open_with(&disk, options).await;
    let last = write_much(&store).await;
    assert!(floor(&store) > Revision::new(200), "{}", floor(&store));
    assert!(disk.used() < 60_000, "{}", disk.used());
    let changes = script::follow(&store, floor(&store), last).await;
    assert_eq!(changes.len() as u64, last.get() - floor(&store).get());
    assert_eq!(script::read_newest(&store).await.entries.len(), 6);
    drop(store);
    assert_eq!(script::newest(&open(&disk).await).await, last);
}

#[tokio::test(start_paused = true)]
async fn history_beyond_its_changes_is_forgotten() {
    let options = EmbeddedOptions {
        history_changes: 100,
        ..small_options()
    };
    let store = open_with(&SimulatedDisk::new(1), options).await;
    write_much(&store).await;
    assert!(floor(&store) > Revision::new(200), "{}", floor(&store));
    let kept = store.inner.writer.lock().superseded.len();
    assert!(kept <= 150, "{kept}");
}

#[tokio::test(start_paused = true)]
async fn history_beyond_its_age_is_forgotten_and_younger_is_kept() {
    let store = open_with(&SimulatedDisk::new(1), small_options()).await;
    let old = write_much(&store).await;
    assert_eq!(floor(&store), Revision::ZERO);
    tokio::time::advance(Duration::from_secs(601)).await;
    write_much(&store).await;
    let floor = floor(&store);
    assert!(floor > Revision::new(300) && floor <= old, "{floor}");
}

#[tokio::test(start_paused = true)]
async fn old_files_are_removed_by_a_compaction() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    let last = write_much(&store).await;
    let before = segments(&disk).len();
    assert!(before > 5, "{before}");
    store.compact(last).await.unwrap();
    assert_eq!(segments(&disk).len(), 1);
    assert_eq!(script::read_newest(&store).await.entries.len(), 6);
    assert_eq!(script::put(&store, "a", "x").await, last.next());
}

#[tokio::test(start_paused = true)]
async fn a_compaction_without_room_changes_nothing() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    let last = write_much(&store).await;
    let names = disk.names();
    disk.set_capacity(disk.used() + 100);
    let refused = store.compact(last).await;
    assert!(
        matches!(refused, Err(CommitError::Full { .. })),
        "{refused:?}"
    );
    assert_eq!((disk.names(), floor(&store)), (names, Revision::ZERO));
    disk.set_capacity(u64::MAX);
    store.compact(last).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn old_values_that_were_written_together_are_read_together() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    let keys: Vec<_> = (0..100).map(|number| format!("{number:03}")).collect();
    let value = "x".repeat(1000);
    let pairs: Vec<_> = keys.iter().map(|key| (&**key, &*value)).collect();
    let old = script::put_together(&store, &pairs).await;
    let pairs: Vec<_> = keys.iter().map(|key| (&**key, "new")).collect();
    let new = script::put_together(&store, &pairs).await;
    let record_bytes = (100 * value.len()) as u64;

    let before = disk.bytes_read();
    let page = script::read_at(&store, old).await.unwrap();
    assert!(page.entries.iter().all(|entry| entry.value == value));
    assert!(disk.bytes_read() - before < 2 * record_bytes);

    let before = disk.bytes_read();
    store.compact(old).await.unwrap();
    assert!(disk.bytes_read() - before < 2 * record_bytes);
    assert_eq!(script::follow(&store, old, new).await.len(), 100);
}
