//! The numbers that a queue publishes.

use metrics::set_default_local_recorder;
use tokio::time::advance;

use super::{
    super::{Priority, When},
    *,
};
use crate::recorded_metrics::RecordedMetrics;

/// What the queue named test publishes.
struct Recorded(RecordedMetrics);

impl Recorded {
    fn all(&self, name: &str) -> Vec<f64> {
        self.0.all(&format!("listwatch_work_queue_{name}{{test}}"))
    }

    fn value(&self, name: &str) -> f64 {
        self.all(name).last().copied().unwrap_or(0.0)
    }
}

fn recorded_queue() -> (WorkQueue<&'static str>, Recorded) {
    let metrics = RecordedMetrics::default();
    let installed = set_default_local_recorder(&metrics);
    let queue = queue();
    drop(installed);
    (queue, Recorded(metrics))
}

#[tokio::test(start_paused = true)]
async fn a_queue_tells_how_deep_it_is_and_how_long_keys_wait_and_work() {
    let (queue, recorded) = recorded_queue();
    queue.add("foo");
    assert_eq!(recorded.value("adds_total"), 1.0);
    assert_eq!(recorded.value("depth"), 1.0);
    advance(milliseconds(50)).await;
    let permit = take(&queue).unwrap();
    assert_eq!(recorded.all("latency_seconds"), [0.05]);
    assert_eq!(recorded.value("depth"), 0.0);

    for _ in 0..5 {
        queue.add("foo");
    }
    assert_eq!(recorded.value("adds_total"), 2.0);
    assert_eq!(recorded.value("depth"), 1.0);
    advance(milliseconds(25)).await;
    permit.done();
    assert_eq!(recorded.all("work_seconds"), [0.025]);
    assert_eq!(recorded.value("depth"), 1.0);

    let permit = take(&queue).unwrap();
    assert_eq!(recorded.all("latency_seconds"), [0.05, 0.025]);
    advance(milliseconds(1)).await;
    permit.done();
    assert_eq!(recorded.all("work_seconds"), [0.025, 0.001]);
    assert_eq!(recorded.value("retries_total"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn unfinished_work_is_reported_until_the_shutdown() {
    let (queue, recorded) = recorded_queue();
    let reporter = tokio::spawn({
        let queue = queue.clone();
        async move { queue.report_unfinished_work().await }
    });
    tokio::task::yield_now().await;
    queue.add("foo");
    queue.add("bar");
    let _foo = take(&queue).unwrap();
    advance(milliseconds(200)).await;
    let _bar = take(&queue).unwrap();
    advance(milliseconds(300)).await;
    tokio::task::yield_now().await;
    assert_eq!(recorded.value("unfinished_work_seconds"), 0.8);
    assert_eq!(recorded.value("longest_running_seconds"), 0.5);
    queue.shut_down();
    reporter.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_counts_as_added_once_when_it_is_due() {
    let (queue, recorded) = recorded_queue();
    queue.add_after("foo", milliseconds(50));
    assert_eq!(recorded.value("adds_total"), 0.0);
    assert_eq!(recorded.value("retries_total"), 1.0);
    advance(milliseconds(50)).await;
    assert_eq!(queue.len(), 1);
    assert_eq!(recorded.value("depth"), 1.0);
    queue.add("foo");
    assert_eq!(recorded.value("depth"), 1.0);
    assert_eq!(recorded.value("adds_total"), 1.0);
    take(&queue).unwrap().done();
    assert_eq!(recorded.value("depth"), 0.0);
    assert_eq!(recorded.value("adds_total"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_that_is_added_without_delay_counts_once() {
    for priority in [Priority::NORMAL, Priority(1)] {
        let (queue, recorded) = recorded_queue();
        queue.add_after("foo", 3600 * SECOND);
        assert_eq!(recorded.value("depth"), 0.0);
        queue.add_with("foo", priority, When::Now);
        assert_eq!(recorded.value("depth"), 1.0);
        assert_eq!(take(&queue).unwrap().priority(), priority);
        assert_eq!(recorded.value("depth"), 0.0);
        assert_eq!(recorded.value("adds_total"), 1.0);
    }
}
