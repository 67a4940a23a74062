//! The members of a cluster, and which of them to ask first.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::{Error, Settings, Tls};

/// What one connection may hold unread for one request; a list of many large values needs several
/// of these to come at full speed.
const STREAM_WINDOW_BYTES: u32 = 2 << 20;
/// What one connection may hold unread for all its requests.
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;

/// The list, never empty.
#[derive(Debug)]
pub(super) struct Members {
    members: Vec<Member>,
    /// Where in the list the one stands that answered last.
    preferred: AtomicUsize,
}

/// One endpoint.
#[derive(Debug)]
pub(super) struct Member {
    position: usize,
    endpoint: Endpoint,
    shared: Channel,
}

impl Members {
    pub(super) fn new(settings: &Settings) -> Result<Self, Error> {
        if settings.endpoints.is_empty() {
            return Err(refused("no endpoint is given"));
        }
        if Handle::try_current().is_err() {
            return Err(refused("there is no Tokio runtime to connect on"));
        }
        let addresses = settings.endpoints.iter().enumerate();
        let members = addresses.map(|(position, address)| Member::new(position, address, settings));
        Ok(Self {
            members: members.collect::<Result<_, _>>()?,
            preferred: AtomicUsize::new(0),
        })
    }

    /// Each member once, the preferred first.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Member> {
        let first = self.preferred.load(Ordering::Relaxed);
        self.members
            .iter()
            .cycle()
            .skip(first)
            .take(self.members.len())
    }

    /// Each member once, as the settings list them.
    pub(super) fn as_listed(&self) -> impl Iterator<Item = &Member> {
        self.members.iter()
    }

    /// Asks another first from now on, unless somebody has seen to that.
    pub(super) fn avoid(&self, member: &Member) {
        let next = (member.position + 1) % self.members.len();
        let (ours, relaxed) = (member.position, Ordering::Relaxed);
        // Losing this race means that another request has already moved on.
        let _moved = self
            .preferred
            .compare_exchange(ours, next, relaxed, relaxed);
    }
}

impl Member {
    fn new(position: usize, address: &str, settings: &Settings) -> Result<Self, Error> {
        let invalid = |error: tonic::transport::Error| {
            refused(format!("`{address}` is no usable endpoint: {error:?}"))
        };
        let mut endpoint = Endpoint::from_shared(address.to_owned())
            .map_err(invalid)?
            .connect_timeout(settings.connect_timeout)
            .http2_keep_alive_interval(settings.keep_alive_interval)
            .keep_alive_timeout(settings.keep_alive_timeout)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        if let Some(tls) = &settings.tls {
            endpoint = endpoint.tls_config(tls_config(tls)).map_err(invalid)?;
        } else if endpoint.uri().scheme_str() == Some("https") {
            return Err(refused(format!(
                "`{address}` needs TLS, and none is configured"
            )));
        }
        Ok(Self {
            position,
            shared: endpoint.connect_lazy(),
            endpoint,
        })
    }

    /// The address as it was given.
    pub(super) fn address(&self) -> String {
        self.endpoint.uri().to_string()
    }

    /// The connection that all short requests share.
    pub(super) fn shared_connection(&self) -> Channel {
        self.shared.clone()
    }

    /// A connection for one watch, so that one that is not read holds up nothing else.
    pub(super) fn own_connection(&self) -> Channel {
        self.endpoint.connect_lazy()
    }
}

fn tls_config(tls: &Tls) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.authorities));
    if let Some(identity) = &tls.identity {
        config = config.identity(Identity::from_pem(&identity.certificates, &identity.key));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    config
}

fn refused(message: impl Into<String>) -> Error {
    Error::Refused {
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(endpoints: &[&str]) -> Result<Members, Error> {
        Members::new(&Settings::new(endpoints.iter().copied()))
    }

    #[tokio::test]
    async fn a_member_that_failed_is_asked_last() {
        let members = members(&["http://a:1", "http://b:1", "http://c:1"]).unwrap();
        let order = || -> Vec<usize> { members.in_order().map(|member| member.position).collect() };
        assert_eq!(order(), [0, 1, 2]);
        members.avoid(&members.members[0]);
        assert_eq!(order(), [1, 2, 0]);
        members.avoid(&members.members[0]);
        assert_eq!(
            order(),
            [1, 2, 0],
            "only the preferred one is moved away from"
        );
    }

    #[test]
    fn without_a_runtime_there_is_no_client() {
        let answer = members(&["http://a:1"]);
        assert!(matches!(answer, Err(Error::Refused { .. })), "{answer:?}");
    }

    #[tokio::test]
    async fn unusable_endpoints_are_refused_at_once() {
        for endpoints in [&[][..], &["not an address"], &["https://a:1"]] {
            let refused = matches!(members(endpoints), Err(Error::Refused { .. }));
            assert!(refused, "{endpoints:?}");
        }
    }
}
