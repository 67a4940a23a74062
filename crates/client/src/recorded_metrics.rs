//! A metrics recorder for tests.

use std::{collections::BTreeMap, sync::Arc};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use parking_lot::Mutex;

/// The last value of each counter and gauge, and every value of each histogram, under names such
/// as `reconciles_total{widgets,success}`.
#[derive(Clone, Default)]
pub(crate) struct RecordedMetrics(Arc<Mutex<BTreeMap<String, Vec<f64>>>>);

struct Metric {
    recorded: RecordedMetrics,
    name: String,
}

impl RecordedMetrics {
    pub(crate) fn all(&self, name: &str) -> Vec<f64> {
        self.0.lock().get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn value(&self, name: &str) -> f64 {
        self.all(name).last().copied().unwrap_or(0.0)
    }

    fn metric(&self, key: &Key) -> Arc<Metric> {
        let labels: Vec<_> = key.labels().map(metrics::Label::value).collect();
        Arc::new(Metric {
            recorded: self.clone(),
            name: format!("{}{{{}}}", key.name(), labels.join(",")),
        })
    }
}

impl Metric {
    fn change(&self, change: impl FnOnce(f64) -> f64) {
        let mut recorded = self.recorded.0.lock();
        let values = recorded.entry(self.name.clone()).or_default();
        let last = values.pop().unwrap_or(0.0);
        values.push(change(last));
    }
}

impl CounterFn for Metric {
    fn increment(&self, value: u64) {
        self.change(|last| last + value as f64);
    }

    fn absolute(&self, value: u64) {
        self.change(|_| value as f64);
    }
}

impl GaugeFn for Metric {
    fn increment(&self, value: f64) {
        self.change(|last| last + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|last| last - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for Metric {
    fn record(&self, value: f64) {
        let mut recorded = self.recorded.0.lock();
        recorded.entry(self.name.clone()).or_default().push(value);
    }
}

impl Recorder for RecordedMetrics {
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
