//! How much of everything is done.

use std::time::Duration;

use clap::Args;

/// The size of each scenario.
#[derive(Args, Clone, Debug)]
pub(crate) struct Sizes {
    /// Pods that are listed; a tenth of the first for the drawing of how cost grows
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000])]
    pub(crate) objects: Vec<u64>,
    /// Bytes of a pod as it is sent; a server adds as many of its own
    #[arg(long, default_value_t = 2_000)]
    pub(crate) object_bytes: usize,
    /// ConfigMaps of which a selector matches none
    #[arg(long, default_value_t = 300_000)]
    pub(crate) small_objects: u64,
    /// Bytes of such a ConfigMap as it is sent
    #[arg(long, default_value_t = 1_000)]
    pub(crate) small_object_bytes: usize,
    /// Seconds for which a load goes on
    #[arg(long, default_value_t = 2.0)]
    pub(crate) seconds: f64,
    /// Rounds of a load, of which the one in the middle counts
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Connections that write
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64, 256])]
    pub(crate) connections: Vec<usize>,
    /// Watches that events are sent to
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100, 1_000, 10_000])]
    pub(crate) watchers: Vec<u64>,
    /// Watches that idle, that share connections, and that come back at once
    #[arg(long, default_value_t = 1_000)]
    pub(crate) watches: u64,
    /// Events that are sent in a round, over all watches together
    #[arg(long, default_value_t = 100_000)]
    pub(crate) events: u64,
    /// Updates in a second, or fewer where there are many watches, when latency is measured
    #[arg(long, default_value_t = 200.0)]
    pub(crate) rate: f64,
    /// ConfigMaps that come and go while 25 watches look on
    #[arg(long, default_value_t = 10_000)]
    pub(crate) churn: u64,
    /// Connections over which they do
    #[arg(long, value_delimiter = ',', default_values_t = [50, 1_000])]
    pub(crate) churn_connections: Vec<usize>,
    /// Full lists at one time
    #[arg(long, value_delimiter = ',', default_values_t = [16, 100])]
    pub(crate) storms: Vec<usize>,
    /// Watches that are not read, beside those that are
    #[arg(long, value_delimiter = ',', default_values_t = [0, 10, 100])]
    pub(crate) stalled: Vec<usize>,
    /// Rounds with each number of them, turn about, of which the one in the middle counts
    #[arg(long, default_value_t = 5)]
    pub(crate) stalled_rounds: usize,
    /// Starts, of which the median counts
    #[arg(long, default_value_t = 3)]
    pub(crate) starts: usize,
    /// Seconds in which a server comes to rest before its memory is read
    #[arg(long, default_value_t = 5.0)]
    pub(crate) settle: f64,
}

impl Sizes {
    /// Just enough to see that everything works.
    pub(crate) fn quick() -> Self {
        Self {
            objects: vec![200, 400],
            object_bytes: 2_000,
            small_objects: 200,
            small_object_bytes: 1_000,
            seconds: 0.1,
            rounds: 1,
            connections: vec![1, 8],
            watchers: vec![1, 20],
            watches: 20,
            events: 200,
            rate: 200.0,
            churn: 40,
            churn_connections: vec![8],
            storms: vec![4],
            stalled: vec![0, 2],
            stalled_rounds: 1,
            starts: 1,
            settle: 0.1,
        }
    }

    /// The fewest pods that are listed.
    pub(crate) fn objects_least(&self) -> u64 {
        self.objects.iter().copied().min().unwrap_or(1)
    }

    /// Whether these are the fewest pods that are listed, and whether they are the most.
    pub(crate) fn place(&self, objects: u64) -> (bool, bool) {
        let most = self.objects.iter().max();
        (objects == self.objects_least(), Some(&objects) == most)
    }

    /// For how long a load goes on.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// The most watches of a scenario.
    pub(crate) fn watchers_max(&self) -> u64 {
        self.watchers.iter().copied().max().unwrap_or(1)
    }
}
