//! The token that says where the next page of a list begins.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use crate::go_text;
use crate::json;
use crate::resource_version::ResourceVersion;
use crate::status::Status;

/// Bytes that a token may have: ten times what the longest name needs. A longer one is refused.
const TOKEN_BYTES_MAX: usize = 8_192;

const VERSION: &str = "meta.k8s.io/v1";

/// Kubernetes does not mind bits that are left over at the end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinueToken {
    /// The state of which the pages are part.
    pub state: ContinueState,
    /// The first key that may follow, below the collection: `default/web\0`.
    pub start: String,
}

/// The state of which the next page is part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueState {
    /// The one that the first page showed.
    At(ResourceVersion),
    /// The present, because the first page's state was forgotten.
    MostRecent,
}

impl ContinueToken {
    /// The token that goes on behind `last_key` of a list at `version`.
    pub fn after(last_key: &str, version: ResourceVersion) -> Self {
        Self {
            state: ContinueState::At(version),
            start: format!("{last_key}\0"),
        }
    }

    /// The token that goes on at the same key with whatever is there now.
    pub fn with_most_recent_state(&self) -> Self {
        Self {
            state: ContinueState::MostRecent,
            start: self.start.clone(),
        }
    }

    /// The text for `metadata.continue`.
    pub fn encode(&self) -> String {
        let version = match self.state {
            ContinueState::At(version) => version.to_string(),
            ContinueState::MostRecent => "-1".to_owned(),
        };
        let start = go_text::json(&Value::from(self.start.as_str()));
        let text = format!(r#"{{"v":"{VERSION}","rv":{version},"start":{start}}}"#);
        URL_SAFE_NO_PAD.encode(text)
    }

    /// Reads the `continue` parameter.
    pub fn decode(token: &str) -> Result<Self, Status> {
        Self::decode_text(token).map_err(|problem| {
            let message = format!("invalid continue token: continue key is not valid{problem}");
            Status::bad_request(message)
        })
    }

    fn decode_text(token: &str) -> Result<Self, String> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(format!(": longer than {TOKEN_BYTES_MAX} bytes"));
        }
        let text = decode_base64(token).map_err(|at| format!(": {at}"))?;
        let document = json::decode(&text).map_err(|error| format!(": {error}"))?;
        let fields = Fields::of(&document.value).map_err(|error| format!(": {error}"))?;
        if fields.version != VERSION {
            let version = fields.version;
            return Err(format!(
                ": server does not recognize this encoded version {version}"
            ));
        }
        let state = match fields.resource_version {
            0 => {
                return Err(
                    ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)".into(),
                );
            }
            negative if negative < 0 => ContinueState::MostRecent,
            positive => ContinueState::At(ResourceVersion::new(positive.unsigned_abs())),
        };
        if fields.start.is_empty() {
            return Err(": encoded start key empty (version meta.k8s.io/v1)".into());
        }
        let start = fields.start.strip_prefix('/').unwrap_or(fields.start);
        if !is_clean(start) {
            return Err(format!(": {}", fields.start));
        }
        Ok(Self {
            state,
            start: start.to_owned(),
        })
    }
}

struct Fields<'a> {
    version: &'a str,
    resource_version: i64,
    start: &'a str,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value) -> Result<Self, String> {
        if !value.is_object() {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type storage.continueToken",
                json::type_word(value)
            ));
        }
        let resource_version = match &value["rv"] {
            Value::Null => 0,
            number => number
                .as_i64()
                .ok_or_else(|| wrong_type(number, "rv", "int64"))?,
        };
        Ok(Self {
            version: text_field(value, "v")?,
            resource_version,
            start: text_field(value, "start")?,
        })
    }
}

fn text_field<'a>(value: &'a Value, name: &str) -> Result<&'a str, String> {
    match &value[name] {
        Value::Null => Ok(""),
        text => text
            .as_str()
            .ok_or_else(|| wrong_type(text, name, "string")),
    }
}

fn wrong_type(value: &Value, field: &str, wanted: &str) -> String {
    let found = match value {
        Value::Number(number) if wanted == "int64" => format!("number {number}"),
        other => json::type_word(other).to_owned(),
    };
    format!(
        "json: cannot unmarshal {found} into Go struct field continueToken.{field} of type {wanted}"
    )
}

fn decode_base64(token: &str) -> Result<Vec<u8>, String> {
    let is_foreign = |byte: u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let incomplete = (token.len() % 4 == 1).then(|| token.len() - 1);
    match token.bytes().position(is_foreign).or(incomplete) {
        Some(position) => Err(format!("illegal base64 data at input byte {position}")),
        None => Ok(LENIENT
            .decode(token)
            .expect("only letters of the alphabet, and enough of them")),
    }
}

/// Whether the key stays below the collection: no empty segment, `.` or `..`.
fn is_clean(start: &str) -> bool {
    start.is_empty()
        || start
            .split('/')
            .all(|segment| !matches!(segment, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RECORDED: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTU2LCJzdGFydCI6Imdlbi1qemJtOFx1\
                            MDAwMCJ9";
    const RECORDED_EXPIRED: &str =
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiZ2VuLWp6Ym04XHUwMDAwIn0";

    fn refused(token: &str) -> String {
        let status = ContinueToken::decode(token).unwrap_err();
        assert_eq!(status.http_code(), 400);
        let text = "invalid continue token: continue key is not valid";
        status.message.strip_prefix(text).unwrap().to_owned()
    }

    fn refused_json(text: &str) -> String {
        refused(&URL_SAFE_NO_PAD.encode(text))
    }

    #[test]
    fn the_text_is_the_one_that_kubernetes_gives() {
        let token = ContinueToken::after("gen-jzbm8", ResourceVersion::new(156));
        assert_eq!(token.encode(), RECORDED);
        assert_eq!(ContinueToken::decode(RECORDED), Ok(token.clone()));
        let recent = token.with_most_recent_state();
        assert_eq!(recent.encode(), RECORDED_EXPIRED);
        assert_eq!(ContinueToken::decode(RECORDED_EXPIRED), Ok(recent));
    }

    #[test]
    fn a_leading_slash_means_nothing() {
        let text = r#"{"v":"meta.k8s.io/v1","rv":156,"start":"/p2\u0000"}"#;
        let token = ContinueToken::decode(&URL_SAFE_NO_PAD.encode(text)).unwrap();
        assert_eq!(token, ContinueToken::after("p2", ResourceVersion::new(156)));
    }

    #[test]
    fn what_is_wrong_is_said_in_kubernetes_words() {
        let value = ": invalid character '\\u0081' looking for beginning of value";
        assert_eq!(refused("garbage"), value);
        assert_eq!(refused("ab+d"), ": illegal base64 data at input byte 2");
        assert_eq!(refused("abcde"), ": illegal base64 data at input byte 4");
        assert_eq!(refused("YWI="), ": illegal base64 data at input byte 3");
        let version = ": server does not recognize this encoded version v2";
        assert_eq!(refused_json(r#"{"v":"v2"}"#), version);
        let zero = ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
        assert_eq!(refused_json(r#"{"v":"meta.k8s.io/v1","start":"a"}"#), zero);
        let empty = ": encoded start key empty (version meta.k8s.io/v1)";
        assert_eq!(refused_json(r#"{"v":"meta.k8s.io/v1","rv":1}"#), empty);
        let list = ": json: cannot unmarshal array into Go value of type storage.continueToken";
        assert_eq!(refused_json("[]"), list);
        let number = ": json: cannot unmarshal number 1.5 into Go struct field \
                      continueToken.rv of type int64";
        assert_eq!(refused_json(r#"{"rv":1.5}"#), number);
    }

    #[test]
    fn keys_that_lead_out_of_the_collection_are_refused() {
        for start in ["..", "../x", "a/../b", "/..", "a/./b", "a//b", "//a", "a/"] {
            let text = format!(r#"{{"v":"meta.k8s.io/v1","rv":1,"start":"{start}"}}"#);
            assert_eq!(refused_json(&text), format!(": {start}"));
        }
    }

    #[test]
    fn a_huge_token_is_refused() {
        assert_eq!(refused(&"a".repeat(1_000_000)), ": longer than 8192 bytes");
    }

    proptest! {
        #[test]
        fn a_token_is_read_as_it_was_written(
            key in r#"[a-z0-9<>&"\\é]{1,20}(/[a-z0-9:\u{7f}]{1,20})?"#,
            version in 1_u64..=i64::MAX as u64,
        ) {
            let token = ContinueToken::after(&key, ResourceVersion::new(version));
            prop_assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
        }

        #[test]
        fn any_text_is_read_or_refused(token in ".{0,60}|[a-zA-Z0-9_-]{0,60}") {
            if let Ok(decoded) = ContinueToken::decode(&token) {
                prop_assert_eq!(ContinueToken::decode(&decoded.encode()), Ok(decoded));
            }
        }
    }
}
