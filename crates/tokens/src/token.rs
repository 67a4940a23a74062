//! A token as text: three parts in base64, joined by dots.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    claims::Claims,
    signing_key::{KeyError, SigningKey},
};

/// The longest text that is looked at.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Why a text is not a token that holds.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It is not a token of this issuer at all.
    #[error("invalid bearer token")]
    Foreign,
    /// It is, by its own word, but no key of ours signed it.
    #[error("the signature is not ours")]
    Forged,
    /// Its time is over.
    #[error("service account token has expired")]
    Expired,
    /// Its time has not come.
    #[error("service account token is not valid yet")]
    Early,
}

/// Signs what a token says.
pub fn issue(key: &SigningKey, claims: &Claims) -> Result<String, KeyError> {
    let header = json!({"alg": "ES256", "kid": key.id()}).to_string();
    let claims = serde_json::to_string(claims).expect("claims are strings and numbers");
    let mut token = URL_SAFE_NO_PAD.encode(header);
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(claims, &mut token);
    let signature = key.sign(&token)?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}

/// What a token of this issuer says, if it was signed with this key and its time is now.
pub fn verify(
    key: &SigningKey,
    (issuer, now): (&str, Timestamp),
    token: &str,
) -> Result<Claims, TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::Foreign);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Foreign)?;
    let (header, claims) = signed.split_once('.').ok_or(TokenError::Foreign)?;
    let claims: Claims = decode(claims).ok_or(TokenError::Foreign)?;
    if claims.issuer != issuer {
        return Err(TokenError::Foreign);
    }
    let header: Value = decode(header).ok_or(TokenError::Foreign)?;
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|_| TokenError::Foreign)?;
    if header["alg"] != "ES256" || !key.signed(signed, &signature) {
        return Err(TokenError::Forged);
    }
    let now = now.as_second();
    match (now < claims.begins, now >= claims.expires) {
        (true, _) => Err(TokenError::Early),
        (_, true) => Err(TokenError::Expired),
        (false, false) => Ok(claims),
    }
}

fn decode<T: serde::de::DeserializeOwned>(part: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Account, BoundObject, Named};

    fn key() -> SigningKey {
        SigningKey::read(&SigningKey::generate().unwrap()).unwrap()
    }

    fn claims() -> Claims {
        let named = |name: &str, uid: &str| Named {
            name: name.to_owned(),
            uid: Some(uid.to_owned()),
        };
        let bound = BoundObject::Secret(named("s", "2"));
        Claims {
            audiences: vec!["a".to_owned()],
            expires: 2_000,
            issued: 1_000,
            issuer: "us".to_owned(),
            id: "x".to_owned(),
            account: Account::new("n", named("sa", "1"), Some(bound)),
            begins: 1_000,
            subject: "system:serviceaccount:n:sa".to_owned(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_token_says_what_was_signed_while_its_time_lasts() {
        let key = key();
        let token = issue(&key, &claims()).unwrap();
        assert_eq!(verify(&key, ("us", at(1_500)), &token), Ok(claims()));
        assert_eq!(
            verify(&key, ("us", at(2_000)), &token),
            Err(TokenError::Expired)
        );
        assert_eq!(
            verify(&key, ("us", at(999)), &token),
            Err(TokenError::Early)
        );
    }

    #[test]
    fn another_key_another_issuer_and_another_word_are_not_believed() {
        let (ours, theirs) = (key(), key());
        let token = issue(&theirs, &claims()).unwrap();
        let verified = |token: &str| verify(&ours, ("us", at(1_500)), token);
        assert_eq!(verified(&token), Err(TokenError::Forged));
        assert_eq!(
            verify(&theirs, ("them", at(1_500)), &token),
            Err(TokenError::Foreign)
        );
        let token = issue(&ours, &claims()).unwrap();
        let mut parts: Vec<&str> = token.split('.').collect();
        let mut other = claims();
        other.subject = "system:admin".to_owned();
        let swapped = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&other).unwrap());
        parts[1] = &swapped;
        assert_eq!(verified(&parts.join(".")), Err(TokenError::Forged));
        let unsigned = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        let parts: Vec<&str> = token.split('.').collect();
        let text = format!("{unsigned}.{}.", parts[1]);
        assert_eq!(verified(&text), Err(TokenError::Forged));
    }

    #[test]
    fn what_is_no_token_is_told_so() {
        let key = key();
        for text in ["", "a", "a.b", "a.b.c", "...", &"x".repeat(100_000)] {
            let verified = verify(&key, ("us", at(1_500)), text);
            assert_eq!(verified, Err(TokenError::Foreign), "{text:.20}");
        }
    }

    #[test]
    fn the_claims_are_written_as_kubernetes_writes_them() {
        let expected = concat!(
            r#"{"aud":["a"],"exp":2000,"iat":1000,"iss":"us","jti":"x","#,
            r#""kubernetes.io":{"namespace":"n","secret":{"name":"s","uid":"2"},"#,
            r#""serviceaccount":{"name":"sa","uid":"1"}},"#,
            r#""nbf":1000,"sub":"system:serviceaccount:n:sa"}"#
        );
        assert_eq!(serde_json::to_string(&claims()).unwrap(), expected);
    }

    #[test]
    fn a_key_that_was_kept_is_the_same_key() {
        let kept = SigningKey::generate().unwrap();
        let (first, second) = (
            SigningKey::read(&kept).unwrap(),
            SigningKey::read(&kept).unwrap(),
        );
        assert_eq!(first.public(), second.public());
        let token = issue(&first, &claims()).unwrap();
        assert!(verify(&second, ("us", at(1_500)), &token).is_ok());
        assert!(SigningKey::read(b"no key").is_err());
    }
}
