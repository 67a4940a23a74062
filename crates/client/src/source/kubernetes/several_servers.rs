//! Several addresses of one API, for programs that go on when a server dies.
//!
//! Owns the choice of the address, and what may be asked a second time. It never repeats a write
//! that a server may have carried out.

mod fault;
mod router;

use std::time::Duration;

use http::Uri;
use kube::{Client, Config};
use thiserror::Error;

use self::router::{Router, Server};

/// How long a server may take to accept a connection before the next is tried.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// How long a server may take to begin the answer to a read before the next is asked.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Servers that answer for one another, since they share what they keep.
///
/// Its [client](Self::client) stays with one server while that works, and goes to the next when
///
/// - no connection can be made, or it breaks before an answer,
/// - a read is not answered for [a while](Self::answer_within),
/// - the answer is 503, as of a server that ends or has lost its store,
/// - the answer to a read is that the version is from the future: another server may have it.
///
/// The same request then goes to each server once at most; a write, or a command for a container,
/// goes to another only while none was reached. All other answers are handed over as they are:
/// unlike the clients that kube makes, this one leaves it to its caller to ask again after 429.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # use listwatch::source::kubernetes::{KubernetesSource, SeveralServers};
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let servers = SeveralServers::new(["http://10.0.0.1:8080", "http://10.0.0.2:8080"])?;
/// let pods = KubernetesSource::all::<Pod>(servers.client()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SeveralServers {
    addresses: Vec<Uri>,
    config: Config,
    answer_within: Duration,
    random: fastrand::Rng,
}

/// Why there are no servers to ask.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AddressError {
    /// None was given.
    #[error("there is no address of a server")]
    None,
    /// What was given is not where a server could be.
    #[error("{address:?} is not the URL of a server, such as http://127.0.0.1:8080")]
    NotAUrl {
        /// What was given.
        address: String,
    },
}

impl SeveralServers {
    /// The servers at these URLs, asked without credentials.
    pub fn new<A: AsRef<str>>(
        addresses: impl IntoIterator<Item = A>,
    ) -> Result<Self, AddressError> {
        let addresses = addresses.into_iter().map(|address| parse(address.as_ref()));
        let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
        let first = addresses.first().ok_or(AddressError::None)?;
        Ok(Self {
            config: Config::new(first.clone()),
            addresses,
            answer_within: ANSWER_WITHIN,
            random: fastrand::Rng::new(),
        })
    }

    /// Asks with these credentials, and in this default namespace. Its URL is not used.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// How long a server may take to begin the answer to a read. Without a choice: 30 seconds.
    #[must_use]
    pub fn answer_within(mut self, limit: Duration) -> Self {
        self.answer_within = limit;
        self
    }

    /// Decides in which order this client tries the servers, so that many clients spread.
    #[must_use]
    pub fn random(mut self, random: fastrand::Rng) -> Self {
        self.random = random;
        self
    }

    /// The URLs, in the order in which they were given.
    pub fn addresses(&self) -> &[Uri] {
        &self.addresses
    }

    /// A client of whichever server works. It needs tokio's runtime, as all of kube's do.
    pub fn client(mut self) -> Result<Client, kube::Error> {
        self.random.shuffle(&mut self.addresses);
        let servers = self.addresses.into_iter().map(|address| {
            let mut config = self.config.clone();
            config.cluster_url = address.clone();
            config.connect_timeout = config
                .connect_timeout
                .map(|limit| limit.min(CONNECT_WITHIN));
            // It would ask the same server again, for writes as well.
            config.default_retry = false;
            let client = Client::try_from(config)?;
            Ok(Server { address, client })
        });
        let servers = servers.collect::<Result<Vec<_>, kube::Error>>()?;
        let router = Router::new(servers, self.answer_within);
        Ok(Client::new(router, self.config.default_namespace))
    }
}

fn parse(address: &str) -> Result<Uri, AddressError> {
    let address = address.trim();
    let uri = address.parse::<Uri>().ok().filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some()
    });
    uri.ok_or_else(|| AddressError::NotAUrl {
        address: address.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_servers_are_taken() {
        let servers = SeveralServers::new(["http://a:8080", " https://b/base "]).unwrap();
        assert_eq!(servers.addresses(), ["http://a:8080", "https://b/base"]);
        for address in ["", "a:8080", "localhost", "ftp://a", "http://", "http:// a"] {
            let error = SeveralServers::new(["http://a", address]).unwrap_err();
            let address = address.to_owned();
            assert_eq!(error, AddressError::NotAUrl { address });
        }
        let none: [&str; 0] = [];
        assert_eq!(SeveralServers::new(none).unwrap_err(), AddressError::None);
    }
}
