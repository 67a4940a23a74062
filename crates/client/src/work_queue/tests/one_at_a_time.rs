//! A key is queued once and worked on by one.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{super::Added, *};

#[derive(Clone, Copy)]
enum Ending {
    Plain,
    Drained,
}

async fn end(queue: &WorkQueue<u32>, ending: Ending) {
    match ending {
        Ending::Plain => queue.shut_down(),
        Ending::Drained => queue.shut_down_with_drain().await,
    }
}

#[tokio::test(start_paused = true)]
async fn many_producers_and_consumers_share_a_queue() {
    for ending in [Ending::Plain, Ending::Drained] {
        let queue = WorkQueue::new("test");
        let working = Arc::new(Mutex::new(HashSet::new()));
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let mut producers = JoinSet::new();
        for producer in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move {
                for _ in 0..50 {
                    queue.add(producer);
                    sleep(milliseconds(1)).await;
                }
            });
        }
        let mut consumers = JoinSet::new();
        for _ in 0..10 {
            let (queue, working, seen) = (queue.clone(), Arc::clone(&working), Arc::clone(&seen));
            consumers.spawn(async move {
                while let Some(permit) = queue.get().await {
                    assert!(working.lock().insert(*permit), "two work on {}", *permit);
                    sleep(milliseconds(3)).await;
                    working.lock().remove(&*permit);
                    *seen.lock().entry(*permit).or_insert(0_u32) += 1;
                }
            });
        }
        producers.join_all().await;
        end(&queue, ending).await;
        assert_eq!(queue.add(1000), Added::ShutDown);
        consumers.join_all().await;
        assert_eq!(queue.len(), 0);
        assert!(seen.lock().keys().copied().eq(0..50));
    }
}

#[tokio::test(start_paused = true)]
async fn keys_that_workers_add_again_are_all_worked_on() {
    for ending in [Ending::Plain, Ending::Drained] {
        let queue = WorkQueue::new("test");
        let runs = Arc::new(Mutex::new(BTreeMap::new()));
        let mut consumers = JoinSet::new();
        for _ in 0..10 {
            let (queue, runs) = (queue.clone(), Arc::clone(&runs));
            consumers.spawn(async move {
                while let Some(permit) = queue.get().await {
                    let run = {
                        let mut runs = runs.lock();
                        let run = runs.entry(*permit).or_insert(0_u32);
                        *run += 1;
                        *run
                    };
                    if run < 3 {
                        queue.add(*permit);
                    }
                }
            });
        }
        for producer in 0..50 {
            queue.add(producer);
        }
        while runs.lock().values().sum::<u32>() < 150 {
            tokio::task::yield_now().await;
        }
        end(&queue, ending).await;
        consumers.join_all().await;
        assert_eq!(queue.len(), 0);
        assert!(runs.lock().values().all(|runs| *runs == 3));
    }
}

#[tokio::test]
async fn the_length_counts_different_keys() {
    let queue = queue();
    assert_eq!(queue.add("foo"), Added::Queued);
    assert_eq!(queue.len(), 1);
    queue.add("bar");
    assert_eq!(queue.len(), 2);
    assert_eq!(queue.add("foo"), Added::Merged);
    assert_eq!(queue.len(), 2);
}

#[tokio::test]
async fn a_key_added_while_it_is_worked_on_comes_again() {
    let queue = queue();
    queue.add("foo");
    let permit = take(&queue).unwrap();
    queue.add(*permit);
    permit.done();
    assert_eq!(key_of(take(&queue)), Some("foo"));
    assert!(would_wait(&queue));
    assert_eq!(queue.len(), 0);
}

#[tokio::test]
async fn a_key_added_twice_comes_once() {
    let queue = queue();
    queue.add("bar");
    assert_eq!(queue.add("bar"), Added::Merged);
    assert_eq!(drain(&queue), ["bar"]);
    assert_eq!(queue.len(), 0);
}

#[tokio::test]
async fn a_key_added_twice_while_it_is_worked_on_comes_once_and_only_afterwards() {
    let queue = queue();
    queue.add("foo");
    let permit = take(&queue).unwrap();
    queue.add("foo");
    queue.add("foo");
    let mut other_worker = pin!(queue.get());
    assert!(other_worker.as_mut().now_or_never().is_none());
    permit.done();
    let again = other_worker.await;
    assert_eq!(key_of(again), Some("foo"));
    assert!(would_wait(&queue));
}

#[tokio::test]
async fn a_key_that_left_the_queue_is_not_kept() {
    let queue = WorkQueue::new("test");
    let big = Arc::new(vec![0_u8; 1000]);
    let watched = Arc::downgrade(&big);
    queue.add(big);
    take(&queue).unwrap().done();
    assert!(watched.upgrade().is_none());
}

#[tokio::test]
async fn a_panic_does_not_keep_a_key_from_others() {
    let queue = queue();
    queue.add("foo");
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let permit = queue.get().await.unwrap();
            std::panic::panic_any(*permit);
        }
    });
    assert!(worker.await.unwrap_err().is_panic());
    queue.add("foo");
    assert_eq!(key_of(take(&queue)), Some("foo"));
}

#[tokio::test]
async fn a_caller_that_goes_away_while_it_waits_loses_no_key() {
    let queue = queue();
    let mut first = Box::pin(queue.get());
    assert!(first.as_mut().now_or_never().is_none());
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { key_of(queue.get().await) }
    });
    tokio::task::yield_now().await;
    queue.add("foo");
    drop(first);
    assert_eq!(second.await.unwrap(), Some("foo"));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_look_keeps_no_key_from_others() {
    let queue = queue();
    let mut idle = Box::pin(queue.get());
    assert!(idle.as_mut().now_or_never().is_none());
    let mut others = JoinSet::new();
    for _ in 0..2 {
        let queue = queue.clone();
        others.spawn(async move { timeout(SECOND, queue.get()).await.unwrap() });
    }
    tokio::task::yield_now().await;
    queue.add("foo");
    queue.add("bar");
    let permits = others.join_all().await;
    let mut keys: Vec<_> = permits.iter().flatten().map(|permit| **permit).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["bar", "foo"]);
    drop(idle);
}

#[tokio::test]
async fn a_full_queue_refuses_new_keys_and_takes_those_it_knows() {
    let settings = WorkQueueSettings {
        keys_max: Some(2),
        ..WorkQueueSettings::default()
    };
    let queue = WorkQueue::with_settings("test", settings);
    queue.add("foo");
    queue.add_after("bar", SECOND);
    assert_eq!(queue.add("baz"), Added::Full);
    assert_eq!(queue.add("bar"), Added::Merged);
    let foo = take(&queue).unwrap();
    assert_eq!(queue.add("baz"), Added::Queued);
    assert_eq!(queue.add("new"), Added::Full);
    assert_eq!(queue.add_rate_limited(*foo), Added::Queued);
}
