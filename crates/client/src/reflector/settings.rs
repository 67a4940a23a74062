//! What can be chosen about a reflector.

use std::time::Duration;

/// How a reflector behaves. The defaults are right for a Kubernetes API.
#[derive(Clone, Debug)]
pub struct ReflectorSettings {
    /// Names the source in logs and metrics.
    pub name: String,
    /// How the whole state is fetched.
    pub fill: Fill,
    /// Objects per page. Without a choice: 500, and everything at once where a page would make the
    /// source read more than memory.
    pub page_size: Option<u32>,
    /// A watch is asked to last between this and twice this, by chance.
    pub watch_timeout_min: Duration,
    /// How long to wait after an error.
    pub backoff: BackoffSettings,
    /// For how long internal errors of a watch are met with another watch instead of a list.
    pub internal_error_patience: Duration,
    /// A watch that tells nothing for this long is replaced. Without a choice: three times the
    /// longest time between two bookmarks, at least [`SILENCE_MIN`], once a bookmark has come.
    pub bookmark_deadline: Option<Duration>,
    /// Whether a streamed state is compared with a list.
    pub consistency_check: ConsistencyCheck,
    /// Chance, for jitter.
    pub random: fastrand::Rng,
}

/// How the whole state is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// As the beginning of a watch, where the source offers it. After a refusal as a list, and the
    /// question is not asked again for [`REFUSAL_REMEMBERED`].
    Stream,
    /// As a list.
    List,
}

/// Whether a streamed state is compared with a list of exactly its version before it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsistencyCheck {
    /// It is trusted.
    Off,
    /// Keys and versions are compared. After a difference a list is told instead.
    Compare,
}

/// How long to wait after an error: from `first`, times `factor` each time, up to `cap`, and then
/// up to `jitter` times longer by chance.
#[derive(Clone, Debug)]
pub struct BackoffSettings {
    /// The first wait.
    pub first: Duration,
    /// How much longer each further wait is.
    pub factor: u32,
    /// The share of each wait that is added at most, by chance.
    pub jitter: f64,
    /// The longest wait, before chance adds to it.
    pub cap: Duration,
    /// After so long without an error the next wait is the first again.
    pub reset_after: Duration,
}

/// The shortest time without any word after which a watch counts as dead: Kubernetes sends a
/// bookmark about once a minute, so that three are missing.
pub const SILENCE_MIN: Duration = Duration::from_secs(180);

/// How long a source's refusal to begin a watch with the state is remembered. Then it is asked
/// again, since it may have been upgraded.
pub const REFUSAL_REMEMBERED: Duration = Duration::from_secs(600);

impl Default for ReflectorSettings {
    fn default() -> Self {
        Self {
            name: "unnamed".to_owned(),
            fill: Fill::Stream,
            page_size: None,
            watch_timeout_min: Duration::from_secs(300),
            backoff: BackoffSettings::default(),
            internal_error_patience: Duration::ZERO,
            bookmark_deadline: None,
            consistency_check: ConsistencyCheck::Off,
            random: fastrand::Rng::new(),
        }
    }
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(800),
            factor: 2,
            jitter: 1.0,
            cap: Duration::from_secs(30),
            reset_after: Duration::from_secs(120),
        }
    }
}

impl ReflectorSettings {
    pub(super) fn watch_timeout(&mut self) -> Duration {
        self.watch_timeout_min.mul_f64(1.0 + self.random.f64())
    }
}
