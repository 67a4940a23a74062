//! What a store still knows when it is opened again.

use super::*;
use crate::{KeyRange, Put, contract::script};

#[tokio::test(start_paused = true)]
async fn a_follower_goes_on_across_a_restart() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    for number in 0..50 {
        script::put(&store, &format!("{}", number % 7), &"x".repeat(number)).await;
    }
    let last = script::delete(&store, "3").await;
    let before = script::follow(&store, Revision::ZERO, last).await;
    drop(store);
    let store = open(&disk).await;
    for after in [0, 1, 25, 50] {
        let after = Revision::new(after);
        let expected = before.iter().filter(|change| change.revision > after);
        let expected: Vec<_> = expected.cloned().collect();
        assert_eq!(script::follow(&store, after, last).await, expected);
    }
    let next = script::put(&store, "a", "new").await;
    assert_eq!(next, last.next());
}

#[tokio::test(start_paused = true)]
async fn old_states_are_read_across_a_restart() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    script::put_together(&store, &[("a", "1"), ("b", "1")]).await;
    let floor = script::put(&store, "a", "2").await;
    let middle = script::delete(&store, "b").await;
    script::put_together(&store, &[("a", "3"), ("b", "3")]).await;
    store.compact(floor).await.unwrap();
    let states = [
        script::read_at(&store, floor).await.unwrap(),
        script::read_at(&store, middle).await.unwrap(),
    ];
    drop(store);
    let store = open(&disk).await;
    for state in states {
        assert_eq!(script::read_at(&store, state.revision).await, Ok(state));
    }
    assert!(script::read_at(&store, Revision::new(1)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_lifetime_goes_on_while_the_store_is_closed() {
    let (disk, clock) = (SimulatedDisk::new(1), test_clock());
    let reopen = async || {
        let disk = Arc::new(disk.clone());
        let opened = EmbeddedStore::open(disk, clock.clone(), small_options()).await;
        opened.unwrap()
    };
    let begun = Instant::now();
    let store = reopen().await;
    for (key, seconds) in [("short", 60), ("long", 600)] {
        let write = Write::Put(Put {
            value: "x".into(),
            lifetime: Some(Duration::from_secs(seconds)),
        });
        let commit = Commit::one(key.into(), Condition::Any, write);
        store.commit(commit).await.unwrap();
    }
    store.compact(Revision::new(1)).await.unwrap();
    drop(store);
    tokio::time::advance(Duration::from_secs(300)).await;
    let store = reopen().await;
    let ends = script::follow(&store, Revision::new(2), Revision::new(3)).await;
    assert_eq!(script::shown_changes(&ends), ["short gone@3"]);
    assert!(
        begun.elapsed() < Duration::from_secs(305),
        "{:?}",
        begun.elapsed()
    );
    let ends = script::follow(&store, Revision::new(3), Revision::new(4)).await;
    assert_eq!(script::shown_changes(&ends), ["long gone@4"]);
    assert!(begun.elapsed() >= Duration::from_secs(600));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_store_writes_what_waits() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    let inner = Arc::clone(&store.inner);
    let commit = Commit::one("a".into(), Condition::Any, script::put_of("x"));
    let answer = inner.submit(commit).await.unwrap();
    drop(store);
    assert_eq!(answer.await.unwrap(), Ok(Revision::new(1)));
    let late = Commit::one("a".into(), Condition::Any, script::put_of("y"));
    let refused = inner.commit(late).await;
    assert!(matches!(refused, Err(CommitError::Unavailable { .. })));
    assert_eq!(script::newest(&open(&disk).await).await, Revision::new(1));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_learns_that_the_store_was_closed() {
    let store = open(&SimulatedDisk::new(1)).await;
    let mut cursor = script::cursor(&store, KeyRange::all(), Revision::ZERO).await;
    drop(store);
    let ended = cursor.next().await;
    assert!(matches!(ended, Err(ChangesError::Unavailable { .. })));
}

#[tokio::test(start_paused = true)]
async fn restarts_without_commits_leave_no_files_behind() {
    let disk = SimulatedDisk::new(1);
    script::put(&open(&disk).await, "a", "x").await;
    drop(open(&disk).await);
    let names = disk.names();
    for _ in 0..5 {
        drop(open(&disk).await);
    }
    assert_eq!(disk.names(), names);
}

#[tokio::test]
async fn a_second_opening_is_refused_and_names_the_directory() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("data");
    let options = EmbeddedOptions::default();
    let store = EmbeddedStore::open_directory(&directory, options.clone()).await;
    let store = store.unwrap();
    let refused = EmbeddedStore::open_directory(&directory, options.clone()).await;
    let refused = refused.err().unwrap();
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains(directory.to_str().unwrap()));
    script::put(&store, "a", "x").await;
    drop(store);
    let store = EmbeddedStore::open_directory(&directory, options).await;
    assert_eq!(script::newest(&store.unwrap()).await, Revision::new(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_from_many_threads_are_all_there_after_a_restart() {
    let place = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions::default();
    let store = EmbeddedStore::open_directory(place.path(), options.clone()).await;
    let store = Arc::new(store.unwrap());
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..16 {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            for number in 0..25 {
                script::put(&*store, &format!("{writer}/{number}"), "x").await;
            }
        });
    }
    writers.join_all().await;
    drop(store);
    let store = EmbeddedStore::open_directory(place.path(), options).await;
    let page = script::read_newest(&store.unwrap()).await;
    assert_eq!((page.entries.len(), page.revision.get()), (400, 400));
}

#[test]
fn a_store_outlives_the_runtime_that_opened_it() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap()
    };
    let place = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions::default();
    let store = runtime().block_on(async {
        let store = EmbeddedStore::open_directory(place.path(), options.clone()).await;
        let store = store.unwrap();
        script::put(&store, "a", "x").await;
        store
    });
    let again = runtime().block_on(script::put(&store, "a", "y"));
    assert_eq!(again, Revision::new(2));
    drop(store);
    let store = runtime().block_on(EmbeddedStore::open_directory(place.path(), options));
    assert_eq!(runtime().block_on(script::newest(&store.unwrap())), again);
}
