//! Certificates that protect nothing, for etcd servers that ask for them.

use std::{fs::File, io, io::Write, path::Path};

use crate::{Identity, Tls};

const AUTHORITY: &[u8] = include_bytes!("certificates/authority.pem");
const SERVER: &[u8] = include_bytes!("certificates/server.pem");
const SERVER_KEY: &[u8] = include_bytes!("certificates/server-key.pem");
const CLIENT: &[u8] = include_bytes!("certificates/client.pem");
const CLIENT_KEY: &[u8] = include_bytes!("certificates/client-key.pem");

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    /// By TLS, with certificates on both sides.
    Tls,
}

impl Transport {
    pub(super) fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls => "https",
        }
    }

    /// What a client needs.
    pub(super) fn client_tls(self) -> Option<Tls> {
        (self == Self::Tls).then(|| Tls {
            authorities: AUTHORITY.to_vec(),
            identity: Some(Identity {
                certificates: CLIENT.to_vec(),
                key: CLIENT_KEY.to_vec(),
            }),
            server_name: None,
        })
    }

    /// Lays down what a server needs, and gives the arguments that name it.
    pub(super) fn server_arguments(self, folder: &Path) -> io::Result<Vec<String>> {
        if self == Self::Plain {
            return Ok(Vec::new());
        }
        let mut arguments = vec!["--client-cert-auth".to_owned()];
        for (argument, content) in [
            ("trusted-ca-file", AUTHORITY),
            ("cert-file", SERVER),
            ("key-file", SERVER_KEY),
        ] {
            let path = folder.join(argument);
            File::create(&path)?.write_all(content)?;
            arguments.push(format!("--{argument}={}", path.display()));
        }
        Ok(arguments)
    }
}
