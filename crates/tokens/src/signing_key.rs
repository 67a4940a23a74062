//! The key that signs tokens.

use std::fmt;

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
        UnparsedPublicKey,
    },
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Bytes of one coordinate of a public key.
const COORDINATE_BYTES: usize = 32;

/// A private key that signs tokens, and the public one that others check them with.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    id: String,
}

/// Why there is no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The bytes are none.
    #[error("the bytes are no private key in PKCS #8")]
    Malformed,
    /// The system made none.
    #[error("the system could not make a key")]
    NotMade,
}

impl SigningKey {
    /// Makes a new key, in the form in which it is kept.
    pub fn generate() -> Result<Vec<u8>, KeyError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new());
        Ok(document.map_err(|_| KeyError::NotMade)?.as_ref().to_vec())
    }

    /// Reads a key in the form in which it is kept.
    pub fn read(bytes: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes);
        let pair = pair.map_err(|_| KeyError::Malformed)?;
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(pair.public_key().as_ref()));
        Ok(Self { pair, id })
    }

    /// The name under which the public key is published.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The public key as a JSON Web Key.
    pub fn public(&self) -> Value {
        // One byte says that both coordinates follow.
        let point = &self.pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(COORDINATE_BYTES);
        json!({
            "use": "sig",
            "kty": "EC",
            "kid": self.id,
            "crv": "P-256",
            "alg": "ES256",
            "x": URL_SAFE_NO_PAD.encode(x),
            "y": URL_SAFE_NO_PAD.encode(y),
        })
    }

    /// The signature of a text.
    pub(crate) fn sign(&self, text: &str) -> Result<Vec<u8>, KeyError> {
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes());
        Ok(signature.map_err(|_| KeyError::NotMade)?.as_ref().to_vec())
    }

    /// Whether this key signed a text so.
    pub(crate) fn signed(&self, text: &str, signature: &[u8]) -> bool {
        let public = self.pair.public_key().as_ref();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        key.verify(text.as_bytes(), signature).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SigningKey").finish_non_exhaustive()
    }
}
