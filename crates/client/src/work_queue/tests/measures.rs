//! The numbers that a queue publishes.

use std::{collections::BTreeMap, sync::Arc};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit, set_default_local_recorder,
};
use parking_lot::Mutex;
use tokio::time::advance;

use super::*;

/// Keeps of each metric its value, and of a histogram what was recorded.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<BTreeMap<String, Vec<f64>>>>);

struct Metric {
    recorded: Recorded,
    name: String,
}

impl Recorded {
    fn metric(&self, key: &Key) -> Arc<Metric> {
        let queue = key.labels().find(|label| label.key() == "queue");
        assert_eq!(queue.unwrap().value(), "test");
        let recorded = self.clone();
        let name = key.name().trim_start_matches("listwatch_work_queue_");
        let name = name.to_owned();
        Arc::new(Metric { recorded, name })
    }

    fn all(&self, name: &str) -> Vec<f64> {
        self.0.lock().get(name).cloned().unwrap_or_default()
    }

    fn value(&self, name: &str) -> f64 {
        self.all(name).last().copied().unwrap_or(0.0)
    }
}

impl Metric {
    fn set(&self, change: impl FnOnce(f64) -> f64) {
        let mut recorded = self.recorded.0.lock();
        let values = recorded.entry(self.name.clone()).or_default();
        let last = values.pop().unwrap_or(0.0);
        values.push(change(last));
    }
}

impl CounterFn for Metric {
    fn increment(&self, value: u64) {
        self.set(|last| last + value as f64);
    }

    fn absolute(&self, value: u64) {
        self.set(|_| value as f64);
    }
}

impl GaugeFn for Metric {
    fn increment(&self, value: f64) {
        self.set(|last| last + value);
    }

    fn decrement(&self, value: f64) {
        self.set(|last| last - value);
    }

    fn set(&self, value: f64) {
        self.set(|_| value);
    }
}

impl HistogramFn for Metric {
    fn record(&self, value: f64) {
        let mut recorded = self.recorded.0.lock();
        recorded.entry(self.name.clone()).or_default().push(value);
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.metric(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.metric(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.metric(key))
    }
}

fn recorded_queue() -> (WorkQueue<&'static str>, Recorded) {
    let recorded = Recorded::default();
    let installed = set_default_local_recorder(&recorded);
    let queue = queue();
    drop(installed);
    (queue, recorded)
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
    let (queue, recorded) = recorded_queue();
    queue.add_after("foo", 3600 * SECOND);
    assert_eq!(recorded.value("depth"), 0.0);
    queue.add("foo");
    assert_eq!(recorded.value("depth"), 1.0);
    take(&queue).unwrap().done();
    assert_eq!(recorded.value("depth"), 0.0);
    assert_eq!(recorded.value("adds_total"), 1.0);
}
