//! What whoever starts a server may choose.

use std::time::Duration;

use crate::{
    admission::{PortRange, ServiceAddresses},
    clock::Clock,
    random::Random,
    watch_cache::CacheLimits,
};

/// The account of pods that name none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodAccounts {
    /// They have none.
    None,
    /// The `default` one of their namespace, whether it exists yet or not.
    Default,
    /// Likewise, and every account must exist: pods get its secrets for images and, unless either
    /// says otherwise, a volume with a token of it. As kube-apiserver's plugin `ServiceAccount`.
    Mounted,
}

/// The server's settings. The defaults suit one machine.
#[derive(Clone)]
pub struct Settings {
    /// How often a watch that allows bookmarks gets one while nothing happens.
    pub bookmark_interval: Duration,
    /// How long events live after their last change.
    pub event_lifetime: Duration,
    /// How long a list may be continued, or asked for as it was; `None` for as long as that is
    /// remembered.
    pub list_lifetime: Option<Duration>,
    /// The shortest life of a watch that named none; each gets up to twice as long.
    pub watch_lifetime_min: Duration,
    /// Reads answered at one time. At the bound they wait.
    pub reads_in_flight_max: usize,
    /// Writes answered at one time. At the bound they wait.
    pub writes_in_flight_max: usize,
    /// Reads that wait at one time, and as many writes. At the bound the answer is 429 with
    /// Retry-After, to the client that has most of them waiting.
    pub requests_waiting_max: usize,
    /// Watches open at one time. At the bound the answer is 429 with Retry-After.
    pub watches_max: usize,
    /// Watches of one client address open at one time. At the bound the answer is 429.
    pub watches_per_client_max: usize,
    /// The addresses that services get.
    pub service_addresses: ServiceAddresses,
    /// The ports on nodes that services get.
    pub node_ports: PortRange,
    /// Who issues the tokens of service accounts, as a URL.
    pub service_account_issuer: String,
    /// The account of pods that name none.
    pub pod_accounts: PodAccounts,
    /// What the watch cache may hold.
    pub cache: CacheLimits,
    /// Wall time.
    pub clock: Clock,
    /// Chance.
    pub random: Random,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bookmark_interval: Duration::from_secs(5),
            event_lifetime: Duration::from_secs(60 * 60),
            list_lifetime: None,
            watch_lifetime_min: Duration::from_secs(30 * 60),
            reads_in_flight_max: 400,
            writes_in_flight_max: 200,
            requests_waiting_max: 6_400,
            watches_max: 100_000,
            watches_per_client_max: 50_000,
            service_addresses: ServiceAddresses::DEFAULT,
            node_ports: PortRange::DEFAULT,
            service_account_issuer: "https://kubernetes.default.svc".to_owned(),
            pod_accounts: PodAccounts::Default,
            cache: CacheLimits::default(),
            clock: Clock::system(),
            random: Random::system(),
        }
    }
}
