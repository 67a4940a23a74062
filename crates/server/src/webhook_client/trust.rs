//! Whom to trust at the other end.

use std::sync::Arc;

use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use x509_parser::parse_x509_certificate;

/// Trusts those whom a bundle names, else those whom the machine trusts.
pub(super) fn client_config(bundle: Option<&[u8]>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder();
    let Some(bundle) = bundle else {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(builder.with_root_certificates(roots).with_no_client_auth());
    };
    let trusted = Trusted::read(bundle)?;
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trusted));
    Ok(builder.with_no_client_auth())
}

/// The certificates of a bundle: authorities, and servers that are trusted by themselves, whoever
/// signed them. Webhooks with a single certificate for both are common, and Go's clients take them.
#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    authorities: Arc<WebPkiServerVerifier>,
}

impl Trusted {
    fn read(bundle: &[u8]) -> Result<Self, String> {
        let certificates = CertificateDer::pem_slice_iter(bundle).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|error| error.to_string())?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|error| error.to_string())?;
        }
        let authorities = WebPkiServerVerifier::builder(Arc::new(roots)).build();
        Ok(Self {
            certificates,
            authorities: authorities.map_err(|error| error.to_string())?,
        })
    }
}

/// Whether a certificate that needs no signature is for this server and valid now.
fn verify_by_itself(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, Error> {
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
    let (_, parsed) =
        parse_x509_certificate(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let validity = parsed.validity();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < validity.not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > validity.not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    Ok(ServerCertVerified::assertion())
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.contains(certificate) {
            return verify_by_itself(certificate, name, now);
        }
        let authorities = &self.authorities;
        authorities.verify_server_cert(certificate, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};

    use super::*;

    const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_700_000_000));

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2023, 1, 1);
        params.not_after = rcgen::date_time_ymd(2024, 1, 1);
        params
    }

    fn issuer() -> CertifiedIssuer<'static, KeyPair> {
        let mut authority = params("authority");
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap()
    }

    fn verdict(bundle: &str, served: &CertificateDer<'_>, name: &str, now: UnixTime) -> String {
        let trusted = Trusted::read(bundle.as_bytes()).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let verified = trusted.verify_server_cert(served, &[], &name, &[], now);
        verified.map_or_else(|error| error.to_string(), |_| "trusted".to_owned())
    }

    #[test]
    fn a_certificate_of_the_bundle_is_trusted_for_its_name_and_its_time() {
        let key = KeyPair::generate().unwrap();
        let served = params("hook.test").signed_by(&key, &issuer()).unwrap();
        let bundle = served.pem();
        assert_eq!(verdict(&bundle, served.der(), "hook.test", NOW), "trusted");
        let other = verdict(&bundle, served.der(), "other.test", NOW);
        assert!(other.contains("not valid for name"), "{other}");
        let later = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
        let expired = verdict(&bundle, served.der(), "hook.test", later);
        assert!(expired.contains("Expired"), "{expired}");
    }

    #[test]
    fn a_certificate_is_trusted_that_an_authority_of_the_bundle_signed() {
        let (ours, theirs) = (issuer(), issuer());
        let key = KeyPair::generate().unwrap();
        let served = params("hook.test").signed_by(&key, &ours).unwrap();
        let trusted = verdict(&ours.pem(), served.der(), "hook.test", NOW);
        assert_eq!(trusted, "trusted");
        let unknown = verdict(&theirs.pem(), served.der(), "hook.test", NOW);
        assert_ne!(unknown, "trusted");
    }
}
