//! Keys that go before others.

use tokio::time::advance;

use super::{
    super::{Priority, When},
    *,
};

fn add(queue: &WorkQueue<&'static str>, key: &'static str, priority: i32) {
    queue.add_with(key, Priority(priority), When::Now);
}

fn next(queue: &WorkQueue<&'static str>) -> Option<(&'static str, i32)> {
    take(queue).map(|permit| (*permit, permit.priority().0))
}

#[tokio::test]
async fn keys_of_one_priority_come_in_their_order() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    assert_eq!(next(&queue), Some(("foo", 0)));
    assert_eq!(next(&queue), Some(("bar", 0)));
}

#[tokio::test]
async fn a_key_in_work_is_passed_over() {
    let queue = queue();
    queue.add("foo");
    let _permit = take(&queue).unwrap();
    add(&queue, "foo", 10);
    queue.add("bar");
    assert_eq!(next(&queue), Some(("bar", 0)));
    assert_eq!(queue.len(), 1);
    assert!(would_wait(&queue));
}

#[tokio::test]
async fn a_key_that_was_in_work_has_kept_its_place() {
    let queue = queue();
    queue.add("foo");
    let permit = take(&queue).unwrap();
    queue.add("foo");
    queue.add("bar");
    assert_eq!(next(&queue), Some(("bar", 0)));
    queue.add("baz");
    permit.done();
    assert_eq!(next(&queue), Some(("foo", 0)));
    assert_eq!(next(&queue), Some(("baz", 0)));
}

#[tokio::test]
async fn the_higher_of_two_priorities_counts() {
    for priorities in [[1, 2], [2, 1]] {
        let queue = queue();
        for priority in priorities {
            add(&queue, "foo", priority);
        }
        assert_eq!(next(&queue), Some(("foo", 2)));
        assert_eq!(queue.len(), 0);
    }
}

#[tokio::test]
async fn a_raised_key_passes_those_of_lower_priority() {
    let queue = queue();
    queue.add("foo");
    queue.add("bar");
    queue.add("baz");
    add(&queue, "baz", 1);
    assert_eq!(next(&queue), Some(("baz", 1)));
    assert_eq!(drain(&queue), ["foo", "bar"]);
}

#[tokio::test]
async fn a_raised_key_goes_to_the_end_of_its_new_class() {
    let queue = queue();
    add(&queue, "foo", 0);
    add(&queue, "bar", 1);
    add(&queue, "foo", 1);
    assert_eq!(queue.len(), 2);
    assert_eq!(next(&queue), Some(("bar", 1)));
    assert_eq!(next(&queue), Some(("foo", 1)));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_due_stays_so_when_it_is_added_with_a_delay() {
    let queue = queue();
    queue.add("foo");
    queue.add_after("foo", 3600 * SECOND);
    assert_eq!(next(&queue), Some(("foo", 0)));
    assert_eq!(queue.len(), 0);
    advance(3600 * SECOND).await;
    assert_eq!(queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_that_is_added_without_delay_comes_once_and_at_once() {
    let queue = queue();
    queue.add_after("foo", 3600 * SECOND);
    let mut waiting = pin!(queue.get());
    assert!(waiting.as_mut().now_or_never().is_none());
    add(&queue, "foo", 1);
    assert_eq!(key_of(waiting.await), Some("foo"));
    advance(3600 * SECOND).await;
    assert_eq!(queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_of_high_priority_passes_those_that_were_due_before() {
    let queue = queue();
    queue.add_with("start", Priority::LOW, When::Now);
    queue.add_after("change", SECOND);
    advance(SECOND).await;
    assert_eq!(next(&queue), Some(("change", 0)));
    assert_eq!(next(&queue), Some(("start", -100)));
}

#[tokio::test(start_paused = true)]
async fn a_raised_key_that_waits_keeps_its_time() {
    let queue = queue();
    queue.add_after("foo", SECOND);
    queue.add_with("foo", Priority(5), When::After(2 * SECOND));
    advance(SECOND).await;
    assert_eq!(next(&queue), Some(("foo", 5)));
}

#[tokio::test(start_paused = true)]
async fn high_keys_come_before_low_ones_however_they_were_added() {
    const EACH: usize = 1000;
    let classes = [-10, -5, 0, 5, 10];
    for delay in [Duration::ZERO, SECOND] {
        let queue = WorkQueue::new("test");
        for number in 0..EACH {
            for class in classes {
                let when = When::After(delay);
                queue.add_with((class, number), Priority(class), when);
            }
        }
        advance(delay).await;
        let expected = classes.iter().rev();
        let expected = expected.flat_map(|class| (0..EACH).map(|number| (*class, number)));
        assert!(drain(&queue).into_iter().eq(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_count_from_when_they_are_due_and_each_time_anew() {
    let queue = queue();
    for _ in 0..2 {
        queue.add_after("foo", milliseconds(500));
        queue.add("baz");
        queue.add_after("bar", milliseconds(500));
        queue.add("bal");
        assert_eq!(queue.len(), 2);
        advance(SECOND).await;
        assert_eq!(queue.len(), 4);
        assert_eq!(drain(&queue), ["baz", "bal", "foo", "bar"]);
        assert_eq!(queue.len(), 0);
    }
}
