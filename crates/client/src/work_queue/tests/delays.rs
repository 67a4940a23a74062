//! Keys whose time has not come.

use tokio::time::{Instant, advance};

use super::{super::Added, *};

#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_once_when_its_time_has_come() {
    let queue = queue();
    queue.add_after("foo", milliseconds(50));
    assert_eq!(queue.len(), 0);
    assert!(would_wait(&queue));
    advance(milliseconds(60)).await;
    assert_eq!(queue.len(), 1);
    assert_eq!(drain(&queue), ["foo"]);
    advance(10 * SECOND).await;
    assert_eq!(queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_earlier_of_two_times_counts() {
    let queue = queue();
    queue.add_after("foo", milliseconds(50));
    assert_eq!(queue.add_after("foo", milliseconds(70)), Added::Merged);
    advance(milliseconds(60)).await;
    assert_eq!(drain(&queue), ["foo"]);
    advance(milliseconds(20)).await;
    assert_eq!(queue.len(), 0);

    queue.add_after("foo", milliseconds(50));
    queue.add_after("foo", milliseconds(30));
    advance(milliseconds(40)).await;
    assert_eq!(drain(&queue), ["foo"]);
    advance(milliseconds(20)).await;
    assert_eq!(queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn keys_added_with_different_delays_come_as_their_times_come() {
    let queue = queue();
    queue.add_after("foo", SECOND);
    queue.add_after("bar", milliseconds(50));
    assert_eq!(queue.len(), 0);
    advance(milliseconds(60)).await;
    assert_eq!(drain(&queue), ["bar"]);
    queue.add_after("baz", 2 * SECOND);
    advance(SECOND).await;
    assert_eq!(drain(&queue), ["foo"]);
    advance(2 * SECOND).await;
    assert_eq!(drain(&queue), ["baz"]);
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_due_together_come_in_the_order_of_their_times() {
    let queue = queue();
    queue.add_after("foo", SECOND);
    queue.add_after("bar", milliseconds(500));
    queue.add_after("baz", milliseconds(250));
    advance(2 * SECOND).await;
    queue.add("now");
    assert_eq!(queue.len(), 4);
    assert_eq!(drain(&queue), ["baz", "bar", "foo", "now"]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_of_nothing_is_none_and_the_longest_is_bounded() {
    let queue = queue();
    queue.add_after("foo", Duration::ZERO);
    queue.add_after("bar", Duration::MAX);
    assert_eq!(drain(&queue), ["foo"]);
    advance(Duration::from_secs(366 * 24 * 60 * 60)).await;
    assert_eq!(drain(&queue), ["bar"]);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_get_a_key_at_its_time_even_if_it_was_added_after_they_came() {
    let queue = queue();
    let begun = Instant::now();
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let permit = queue.get().await.unwrap();
                (*permit, begun.elapsed().as_millis())
            })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.add_after("foo", SECOND);
    queue.add_after("bar", milliseconds(200));
    let mut got = Vec::new();
    for waiter in waiters {
        got.push(waiter.await.unwrap());
    }
    got.sort();
    assert_eq!(got, [("bar", 200), ("foo", 1000)]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_comes_again_later_and_later_until_it_is_forgotten() {
    let queue = queue_with_quick_retries();
    for expected in [1, 2, 4] {
        queue.add_rate_limited("one");
        let before = Instant::now();
        queue.get().await.unwrap().done();
        assert_eq!(before.elapsed(), milliseconds(expected));
    }
    assert_eq!(queue.requeues(&"one"), 3);
    assert_eq!(queue.requeues(&"two"), 0);
    queue.forget(&"one");
    assert_eq!(queue.requeues(&"one"), 0);
    queue.add_rate_limited("one");
    let before = Instant::now();
    queue.get().await.unwrap().done();
    assert_eq!(before.elapsed(), milliseconds(1));
}

#[tokio::test(start_paused = true)]
async fn the_failures_of_one_key_do_not_delay_another() {
    let queue = queue_with_quick_retries();
    for _ in 0..7 {
        queue.add_rate_limited("bar");
        queue.get().await.unwrap().done();
    }
    let before = Instant::now();
    queue.add_rate_limited("foo");
    queue.add_rate_limited("bar");
    assert!(would_wait(&queue));
    assert_eq!(key_of(queue.get().await), Some("foo"));
    assert_eq!(before.elapsed(), milliseconds(1));
    assert_eq!(key_of(queue.get().await), Some("bar"));
    assert_eq!(before.elapsed(), milliseconds(128));
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_ends_while_the_key_is_worked_on_brings_it_again_afterwards() {
    let queue = queue();
    queue.add("foo");
    let permit = take(&queue).unwrap();
    queue.add_after("foo", SECOND);
    assert_eq!(queue.len(), 0);
    advance(2 * SECOND).await;
    assert_eq!(queue.len(), 1);
    assert!(would_wait(&queue));
    permit.done();
    assert_eq!(key_of(take(&queue)), Some("foo"));
}
