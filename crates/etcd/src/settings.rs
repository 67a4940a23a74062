//! Where etcd is, and how to talk to it.

use std::{fmt, time::Duration};

/// How to reach a cluster.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The members' addresses, `http://host:port` or `https://host:port`. One that answers is used
    /// until it does not; then the next is.
    pub endpoints: Vec<String>,
    /// What to check `https` endpoints with, and who to be there.
    pub tls: Option<Tls>,
    /// Who to be, where etcd asks for a name and a password.
    pub credentials: Option<Credentials>,
    /// How long to wait for a connection before the next member is tried.
    pub connect_timeout: Duration,
    /// How long to wait for each member's answer.
    pub request_timeout: Duration,
    /// How often to ask a silent connection for a sign of life while a request or a watch is open.
    /// etcd closes connections that ask more often than every five seconds.
    pub keep_alive_interval: Duration,
    /// How long to wait for that sign before the connection counts as broken.
    pub keep_alive_timeout: Duration,
}

/// TLS by certificates in PEM.
#[derive(Clone)]
pub struct Tls {
    /// The authorities that may vouch for etcd.
    pub authorities: Vec<u8>,
    /// Our own certificate and key, where etcd asks for them.
    pub identity: Option<Identity>,
    /// The name in etcd's certificate, where it is not the host in the address.
    pub server_name: Option<String>,
}

/// A certificate chain and its private key in PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificates, our own first.
    pub certificates: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

/// A user of etcd.
#[derive(Clone)]
pub struct Credentials {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl Settings {
    /// The usual times, without TLS and credentials.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            tls: None,
            credentials: None,
            connect_timeout: Duration::from_secs(2),
            request_timeout: Duration::from_secs(5),
            keep_alive_interval: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(5),
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let mut settings = Settings::new(["https://one:2379"]);
        settings.credentials = Some(Credentials {
            user: "ann".to_owned(),
            password: "very-secret".to_owned(),
        });
        settings.tls = Some(Tls {
            authorities: b"ca".to_vec(),
            identity: Some(Identity {
                certificates: b"certificate".to_vec(),
                key: b"very-secret".to_vec(),
            }),
            server_name: None,
        });
        let printed = format!("{settings:?}");
        assert!(
            printed.contains("ann") && !printed.contains("secret"),
            "{printed}"
        );
        assert!(
            !printed.contains(&format!("{:?}", b"very-secret".to_vec())),
            "{printed}"
        );
    }
}
