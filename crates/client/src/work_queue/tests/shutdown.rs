//! What is still handed out after the end was asked for.

use super::*;

#[tokio::test]
async fn a_drain_waits_for_the_keys_in_work() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    let (first, second) = (take(&queue).unwrap(), take(&queue).unwrap());
    let mut drained = pin!(queue.shut_down_with_drain());
    assert!(queue.get().await.is_none());
    first.done();
    assert!(drained.as_mut().now_or_never().is_none());
    second.done();
    drained.await;
}

#[tokio::test]
async fn a_plain_shutdown_waits_for_nobody() {
    let queue = queue();
    queue.add("foo");
    let _permit = take(&queue).unwrap();
    queue.shut_down();
    assert!(queue.is_shutting_down());
    assert!(queue.get().await.is_none());
}

#[tokio::test]
async fn a_plain_shutdown_ends_the_wait_of_a_drain() {
    let queue = queue();
    queue.add("foo");
    let _permit = take(&queue).unwrap();
    let mut drained = pin!(queue.shut_down_with_drain());
    assert!(drained.as_mut().now_or_never().is_none());
    queue.shut_down();
    drained.await;
}

#[tokio::test]
async fn a_drain_hands_out_again_what_was_added_while_it_was_worked_on() {
    let queue = queue();
    queue.add("foo");
    let permit = take(&queue).unwrap();
    queue.add("foo");
    let mut drained = pin!(queue.shut_down_with_drain());
    assert!(drained.as_mut().now_or_never().is_none());
    let mut next = pin!(queue.get());
    assert!(next.as_mut().now_or_never().is_none());
    permit.done();
    let again = next.await.unwrap();
    assert_eq!(*again, "foo");
    assert!(drained.as_mut().now_or_never().is_none());
    again.done();
    assert!(queue.get().await.is_none());
    drained.await;
}

#[tokio::test]
async fn what_is_due_is_handed_out_after_a_shutdown_and_nothing_else() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    queue.add_after("later", SECOND);
    queue.shut_down();
    queue.add("new");
    queue.add_after("new", SECOND);
    queue.add_rate_limited("new");
    assert_eq!(queue.requeues(&"new"), 0);
    assert_eq!(drain(&queue), ["foo", "bar"]);
    assert!(queue.get().await.is_none());
    assert!(queue.get().await.is_none());
}

#[tokio::test]
async fn those_who_wait_for_a_key_are_told_of_the_shutdown() {
    let queue = queue();
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    queue.shut_down();
    for waiter in waiters {
        assert!(waiter.await.unwrap());
    }
}

#[tokio::test]
async fn those_who_wait_for_a_key_in_work_are_told_when_another_took_it() {
    let queue = queue();
    queue.add("foo");
    let permit = take(&queue).unwrap();
    queue.add("foo");
    queue.shut_down();
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { key_of(queue.get().await) })
        })
        .collect();
    tokio::task::yield_now().await;
    permit.done();
    let mut keys = Vec::new();
    for waiter in waiters {
        keys.push(waiter.await.unwrap());
    }
    keys.sort();
    assert_eq!(keys, [None, None, Some("foo")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_in_the_midst_of_work_frees_every_worker() {
    for round in 0..50 {
        let queue = WorkQueue::new("test");
        let workers: Vec<_> = (0..20)
            .map(|worker| {
                let queue = queue.clone();
                let mut random = fastrand::Rng::with_seed(round * 20 + worker);
                tokio::spawn(async move {
                    loop {
                        queue.add(random.u32(..1000));
                        if queue.get().await.is_none() {
                            return;
                        }
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        queue.shut_down_with_drain().await;
        for worker in workers {
            worker.await.unwrap();
        }
        assert!(queue.is_empty());
    }
}
