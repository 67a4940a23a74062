//! Whose requests count together.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::IpAddr,
};

use http::HeaderValue;

/// The requests of one client, as far as it can be told: those from one address that name the same
/// program. Two that are taken for one share their turns, which is no worse than a plain queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Flow {
    address: IpAddr,
    program: u64,
}

impl Flow {
    /// The flow of a request from this address, with this `User-Agent`.
    pub(crate) fn new(address: IpAddr, user_agent: Option<&HeaderValue>) -> Self {
        let mut hasher = DefaultHasher::new();
        user_agent.map(HeaderValue::as_bytes).hash(&mut hasher);
        let program = hasher.finish();
        Self { address, program }
    }
}
