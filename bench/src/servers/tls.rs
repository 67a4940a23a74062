//! TLS to a server: whom to trust, and as whom to come.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, aws_lc_rs},
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    },
};

/// How a server's certificate is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It must be signed by an authority of this file.
    Authority(PathBuf),
    /// Any will do: the server is our own, on loopback.
    Anyone,
}

/// What is spoken over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// One request after the other.
    Http1,
    /// Many at a time.
    Http2,
}

impl Protocol {
    /// As the handshake calls it.
    fn name(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }
}

/// A certificate to come with, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A file of PEM certificates.
    pub(crate) certificate: PathBuf,
    /// A file with the key.
    pub(crate) key: PathBuf,
}

/// What opens TLS connections on these terms, to speak this protocol over them.
pub(crate) fn connector(
    trust: &Trust,
    identity: Option<&Identity>,
    protocol: Protocol,
) -> Result<TlsConnector> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let config = match trust {
        Trust::Authority(file) => config.with_root_certificates(authorities(file)?),
        Trust::Anyone => config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAnyone(provider))),
    };
    let mut config = match identity {
        Some(identity) => config.with_client_auth_cert(
            certificates(&identity.certificate)?,
            PrivateKeyDer::from_pem_file(&identity.key)
                .with_context(|| format!("cannot read {}", identity.key.display()))?,
        )?,
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol.name().to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn authorities(file: &PathBuf) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

fn certificates(file: &PathBuf) -> Result<Vec<CertificateDer<'static>>> {
    let read = || CertificateDer::pem_file_iter(file)?.collect::<Result<_, _>>();
    read().with_context(|| format!("cannot read {}", file.display()))
}

/// Takes every certificate, but still checks that the server has its key.
#[derive(Debug)]
struct TrustAnyone(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signature,
            algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signature,
            algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.0.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
