//! The certificate authority of the cluster: made once, and kept where all servers see it.
//!
//! Owns all key material. Nothing signs with it yet: the server speaks no TLS.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{Api, Client, api::PostParams};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose};
use thiserror::Error;

use crate::objects::exists_already;

/// Where it is kept.
const SECRET: (&str, &str) = ("kube-system", "listwatch-cluster-authority");

/// Whom its certificate names.
const COMMON_NAME: &str = "listwatch-cluster-authority";

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// Why there is no authority.
#[derive(Debug, Error)]
pub(crate) enum AuthorityError {
    #[error(transparent)]
    Refused(#[from] kube::Error),
    #[error("no certificate could be made: {0}")]
    NotMade(#[from] rcgen::Error),
    #[error("the secret {}/{} has no certificate", SECRET.0, SECRET.1)]
    Empty,
}

/// The certificate of the authority as PEM text. Makes the authority if there is none.
pub(crate) async fn certificate(client: &Client) -> Result<String, AuthorityError> {
    let (namespace, name) = SECRET;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    if let Some(secret) = secrets.get_opt(name).await? {
        return read(secret);
    }
    match secrets.create(&PostParams::default(), &make()?).await {
        Ok(secret) => read(secret),
        // Another server was faster.
        Err(error) if exists_already(&error) => read(secrets.get(name).await?),
        Err(error) => Err(error.into()),
    }
}

fn read(secret: Secret) -> Result<String, AuthorityError> {
    let certificate = secret.data.and_then(|mut data| data.remove(CERTIFICATE));
    let certificate = certificate.and_then(|bytes| String::from_utf8(bytes.0).ok());
    certificate.ok_or(AuthorityError::Empty)
}

fn make() -> Result<Secret, rcgen::Error> {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    let names = &mut parameters.distinguished_name;
    names.push(DnType::CommonName, COMMON_NAME);
    let key = KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?;
    let mut secret = Secret {
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(BTreeMap::from([
            (
                CERTIFICATE.to_owned(),
                ByteString(certificate.pem().into_bytes()),
            ),
            (KEY.to_owned(), ByteString(key.serialize_pem().into_bytes())),
        ])),
        ..Secret::default()
    };
    secret.metadata.name = Some(SECRET.1.to_owned());
    Ok(secret)
}
