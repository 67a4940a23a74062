//! Latencies in buckets of at most 3 % width, filled from many tasks at once.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Buckets to each power of two.
const STEPS: u64 = 32;
/// Enough for 2^40 ns, which is 18 minutes; what takes longer counts as that.
const BUCKETS: usize = (STEPS * 36) as usize;

/// How long things took.
#[derive(Debug)]
pub(crate) struct Histogram {
    buckets: Vec<AtomicU64>,
    longest: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            longest: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    /// Counts one.
    pub(crate) fn record(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanoseconds)].fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(nanoseconds, Ordering::Relaxed);
    }

    /// What was counted so far; goes on from nothing.
    pub(crate) fn take(&self) -> Self {
        let take = |bucket: &AtomicU64| AtomicU64::new(bucket.swap(0, Ordering::Relaxed));
        Self {
            buckets: self.buckets.iter().map(take).collect(),
            longest: take(&self.longest),
        }
    }

    /// The time that this part of all (0 to 1) did not exceed, to 3 %.
    pub(crate) fn quantile(&self, part: f64) -> Duration {
        let counts = || self.buckets.iter().map(|it| it.load(Ordering::Relaxed));
        let wanted = (counts().sum::<u64>() as f64 * part).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in counts().enumerate() {
            seen += count;
            if seen >= wanted {
                return self.longest().min(Duration::from_nanos(upper(index)));
            }
        }
        Duration::ZERO
    }

    /// The longest of all, exactly.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.load(Ordering::Relaxed))
    }
}

/// Below 32 ns a bucket each; above, 32 buckets to each power of two.
fn bucket(nanoseconds: u64) -> usize {
    if nanoseconds < STEPS {
        return nanoseconds as usize;
    }
    let power = u64::from(nanoseconds.ilog2());
    let shift = power - 5;
    let index = STEPS * (shift + 1) + ((nanoseconds >> shift) - STEPS);
    (index as usize).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn upper(index: usize) -> u64 {
    let index = index as u64;
    if index < STEPS {
        return index;
    }
    let shift = index / STEPS - 1;
    ((STEPS + index % STEPS + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_the_bucket_is_narrow() {
        for value in [0, 1, 31, 32, 33, 63, 64, 1_000, 123_456_789, 9_876_543_210] {
            let highest = upper(bucket(value));
            assert!(highest >= value, "{value} above {highest}");
            assert!(highest <= value + value / 32, "{value} far below {highest}");
        }
    }

    #[test]
    fn quantiles_are_right_to_three_percent_and_the_longest_exactly() {
        let histogram = Histogram::default();
        for microseconds in 1..=1_000 {
            histogram.record(Duration::from_micros(microseconds));
        }
        let median = histogram.quantile(0.5).as_micros();
        let slow = histogram.quantile(0.99).as_micros();
        assert!((500..=516).contains(&median), "{median}");
        assert!((990..=1_000).contains(&slow), "{slow}");
        assert_eq!(histogram.longest(), Duration::from_millis(1));
    }

    #[test]
    fn what_was_taken_is_counted_no_more() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_millis(7));
        assert_eq!(histogram.take().longest(), Duration::from_millis(7));
        assert_eq!(histogram.quantile(1.0), Duration::ZERO);
    }

    #[test]
    fn without_values_everything_is_zero() {
        assert_eq!(Histogram::default().quantile(0.99), Duration::ZERO);
    }

    #[test]
    fn what_takes_forever_lies_in_the_last_bucket() {
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}
