//! How long a key waits before it is tried again.

use std::{collections::HashMap, fmt, hash::Hash, time::Duration};

use tokio::time::Instant;

/// The first wait of the limiter that controllers use unless told otherwise.
const CONTROLLER_DELAY_MIN: Duration = Duration::from_millis(5);
/// Its longest wait.
const CONTROLLER_DELAY_MAX: Duration = Duration::from_secs(1000);
/// Retries of all keys together, each second.
const CONTROLLER_RETRIES_PER_SECOND: f64 = 10.0;
/// Retries of all keys together that may come at once.
const CONTROLLER_RETRIES_BURST: u32 = 100;

/// Decides how long a key waits before it is tried again.
///
/// What it remembers of a key ends with [`RateLimiter::forget`], so its memory is bounded by the
/// keys that fail.
pub trait RateLimiter<K>: Send {
    /// The wait before the next try. Each call counts as one failure more.
    fn next_delay(&mut self, key: &K) -> Duration;

    /// Ends the counting of failures of this key.
    fn forget(&mut self, key: &K);

    /// How often this key has failed since it was last forgotten.
    fn requeues(&self, key: &K) -> u32;
}

/// Doubles the wait of a key with each of its failures, up to a bound.
#[derive(Debug)]
pub struct ItemExponential<K> {
    first: Duration,
    longest: Duration,
    failures: HashMap<K, u32>,
}

impl<K> ItemExponential<K> {
    /// Waits `first`, then twice that, and so on, and never more than `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            failures: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash + Send> RateLimiter<K> for ItemExponential<K> {
    fn next_delay(&mut self, key: &K) -> Duration {
        let before = count_failure(&mut self.failures, key);
        let factor = 1_u32.checked_shl(before);
        let delay = factor.and_then(|factor| self.first.checked_mul(factor));
        delay.unwrap_or(self.longest).min(self.longest)
    }

    fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    fn requeues(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }
}

/// Waits shortly for the first failures of a key and long for all later ones.
#[derive(Debug)]
pub struct FastSlow<K> {
    fast: Duration,
    slow: Duration,
    fast_failures_max: u32,
    failures: HashMap<K, u32>,
}

impl<K> FastSlow<K> {
    /// Waits `fast` for the first `fast_failures_max` failures, then `slow`.
    pub fn new(fast: Duration, slow: Duration, fast_failures_max: u32) -> Self {
        Self {
            fast,
            slow,
            fast_failures_max,
            failures: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash + Send> RateLimiter<K> for FastSlow<K> {
    fn next_delay(&mut self, key: &K) -> Duration {
        if count_failure(&mut self.failures, key) < self.fast_failures_max {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    fn requeues(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }
}

/// Lets all keys together through at one rate. It counts no failures of its own.
#[derive(Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    /// Below zero when tokens of the future are promised already.
    tokens: f64,
    filled_at: Instant,
}

impl TokenBucket {
    /// A full bucket of `burst` tokens, to which `per_second` are added.
    ///
    /// # Panics
    ///
    /// If the rate is not above zero.
    pub fn new(per_second: f64, burst: u32) -> Self {
        assert!(per_second > 0.0, "a bucket must fill");
        Self {
            per_second,
            burst: f64::from(burst),
            tokens: f64::from(burst),
            filled_at: Instant::now(),
        }
    }
}

impl<K> RateLimiter<K> for TokenBucket {
    fn next_delay(&mut self, _key: &K) -> Duration {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.filled_at = now;
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst) - 1.0;
        let missing = (-self.tokens).max(0.0);
        Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(Duration::MAX)
    }

    fn forget(&mut self, _key: &K) {}

    fn requeues(&self, _key: &K) -> u32 {
        0
    }
}

/// Waits as long as the most patient of several limiters.
pub struct MaxOf<K> {
    limiters: Vec<Box<dyn RateLimiter<K>>>,
}

impl<K> MaxOf<K> {
    /// The limiter made of these. Of none, it never waits.
    pub fn new(limiters: Vec<Box<dyn RateLimiter<K>>>) -> Self {
        Self { limiters }
    }
}

impl<K> RateLimiter<K> for MaxOf<K> {
    fn next_delay(&mut self, key: &K) -> Duration {
        let delays = self.limiters.iter_mut();
        let delays = delays.map(|limiter| limiter.next_delay(key));
        delays.max().unwrap_or(Duration::ZERO)
    }

    fn forget(&mut self, key: &K) {
        for limiter in &mut self.limiters {
            limiter.forget(key);
        }
    }

    fn requeues(&self, key: &K) -> u32 {
        let failures = self.limiters.iter();
        failures
            .map(|limiter| limiter.requeues(key))
            .max()
            .unwrap_or(0)
    }
}

impl<K> fmt::Debug for MaxOf<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limiters = self.limiters.len();
        formatter
            .debug_struct("MaxOf")
            .field("limiters", &limiters)
            .finish()
    }
}

/// Cuts the waits of another limiter at a bound.
#[derive(Debug)]
pub struct WithMaxWait<L> {
    limiter: L,
    longest: Duration,
}

impl<L> WithMaxWait<L> {
    /// The limiter that waits as the given one does, but never more than `longest`.
    pub fn new(limiter: L, longest: Duration) -> Self {
        Self { limiter, longest }
    }
}

impl<K, L: RateLimiter<K>> RateLimiter<K> for WithMaxWait<L> {
    fn next_delay(&mut self, key: &K) -> Duration {
        self.limiter.next_delay(key).min(self.longest)
    }

    fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    fn requeues(&self, key: &K) -> u32 {
        self.limiter.requeues(key)
    }
}

/// What controllers use unless told otherwise: 5 ms doubled up to 1000 s for each key, and ten
/// retries a second of all keys together after a burst of a hundred, whichever is longer.
pub fn default_limiter<K: Clone + Eq + Hash + Send + 'static>() -> MaxOf<K> {
    MaxOf::new(vec![
        Box::new(ItemExponential::new(
            CONTROLLER_DELAY_MIN,
            CONTROLLER_DELAY_MAX,
        )),
        Box::new(TokenBucket::new(
            CONTROLLER_RETRIES_PER_SECOND,
            CONTROLLER_RETRIES_BURST,
        )),
    ])
}

/// Counts a failure and returns how many there were before it.
fn count_failure<K: Clone + Eq + Hash>(failures: &mut HashMap<K, u32>, key: &K) -> u32 {
    let Some(count) = failures.get_mut(key) else {
        failures.insert(key.clone(), 1);
        return 0;
    };
    let before = *count;
    *count = before.saturating_add(1);
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn delays(limiter: &mut dyn RateLimiter<&'static str>, key: &'static str) -> Vec<u128> {
        let five = 0..5;
        five.map(|_| limiter.next_delay(&key).as_millis()).collect()
    }

    #[test]
    fn an_exponential_wait_doubles_for_each_key_alone_until_it_is_forgotten() {
        let mut limiter = ItemExponential::new(milliseconds(1), Duration::from_secs(1));
        assert_eq!(delays(&mut limiter, "one"), [1, 2, 4, 8, 16]);
        assert_eq!(limiter.requeues(&"one"), 5);
        assert_eq!(limiter.next_delay(&"two"), milliseconds(1));
        assert_eq!(limiter.next_delay(&"two"), milliseconds(2));
        assert_eq!(limiter.requeues(&"two"), 2);
        limiter.forget(&"one");
        assert_eq!(limiter.requeues(&"one"), 0);
        assert_eq!(limiter.next_delay(&"one"), milliseconds(1));
    }

    #[test]
    fn an_exponential_wait_stays_at_its_bound_however_often_a_key_fails() {
        for (first, longest) in [
            (milliseconds(1), 1_000),
            (Duration::from_secs(60), 3_600_000),
        ] {
            let longest = Duration::from_secs(longest);
            let mut limiter = ItemExponential::new(first, longest);
            for _ in 0..2 {
                limiter.next_delay(&"some");
            }
            assert_eq!(limiter.next_delay(&"some"), first * 4);
            for _ in 0..1000 {
                limiter.next_delay(&"many");
            }
            assert_eq!(limiter.next_delay(&"many"), longest);
        }
    }

    #[test]
    fn a_fast_slow_limiter_turns_slow_after_its_fast_failures() {
        let mut limiter = FastSlow::new(milliseconds(5), Duration::from_secs(10), 3);
        assert_eq!(delays(&mut limiter, "one"), [5, 5, 5, 10_000, 10_000]);
        assert_eq!(limiter.requeues(&"one"), 5);
        assert_eq!(limiter.next_delay(&"two"), milliseconds(5));
        limiter.forget(&"one");
        assert_eq!(limiter.requeues(&"one"), 0);
        assert_eq!(limiter.next_delay(&"one"), milliseconds(5));
    }

    #[test]
    fn the_most_patient_limiter_decides() {
        let mut limiter = MaxOf::new(vec![
            Box::new(FastSlow::new(milliseconds(5), Duration::from_secs(3), 3)),
            Box::new(ItemExponential::new(
                milliseconds(1),
                Duration::from_secs(1),
            )),
        ]);
        assert_eq!(delays(&mut limiter, "one"), [5, 5, 5, 3000, 3000]);
        assert_eq!(limiter.requeues(&"one"), 5);
        assert_eq!(limiter.requeues(&"two"), 0);
        limiter.forget(&"one");
        assert_eq!(limiter.requeues(&"one"), 0);
        assert_eq!(limiter.next_delay(&"one"), milliseconds(5));
    }

    #[test]
    fn a_wait_is_cut_at_its_bound() {
        let patient = FastSlow::new(milliseconds(5), Duration::from_secs(1000), 3);
        let mut limiter = WithMaxWait::new(patient, Duration::from_secs(500));
        assert_eq!(delays(&mut limiter, "one"), [5, 5, 5, 500_000, 500_000]);
        assert_eq!(limiter.requeues(&"one"), 5);
        limiter.forget(&"one");
        assert_eq!(limiter.requeues(&"one"), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_lets_its_burst_through_and_then_its_rate() {
        let mut bucket = TokenBucket::new(10.0, 3);
        assert_eq!(delays(&mut bucket, "any"), [0, 0, 0, 100, 200]);
        tokio::time::advance(milliseconds(300)).await;
        assert_eq!(bucket.next_delay(&"other"), Duration::ZERO);
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(delays(&mut bucket, "any"), [0, 0, 0, 100, 200]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_default_limiter_waits_for_the_key_and_for_all_keys_together() {
        let mut limiter = default_limiter();
        assert_eq!(delays(&mut limiter, "one"), [5, 10, 20, 40, 80]);
        for _ in 5..100 {
            limiter.next_delay(&"many");
        }
        assert_eq!(limiter.next_delay(&"late"), milliseconds(100));
        assert_eq!(limiter.next_delay(&"later"), milliseconds(200));
        assert_eq!(limiter.next_delay(&"many"), CONTROLLER_DELAY_MAX);
    }
}
