//! Bodies in CBOR: no CBOR at all, or an object that says what it is.

use listwatch_api::cbor::{self, CborError};
use serde_json::Value;

use super::{DecodeError, Expected, Home};

impl Expected<'_> {
    /// Reads a body, for [`Registry::decode`](super::Registry::decode) to judge.
    pub fn parse_cbor(&self, body: &[u8]) -> Result<Value, DecodeError> {
        cbor::decode_object(body, "v1.TypeMeta").map_err(|error| match (error, self.home) {
            (CborError::Malformed(why), home) => {
                let why = format!("unable to determine group/version/kind: {why}");
                match home {
                    Home::OwnVersion => self.unrecognized(&why, body),
                    Home::EveryVersion => DecodeError(why),
                }
            }
            (CborError::Unacceptable(why), Home::OwnVersion) => {
                self.unsuitable(self.kind, self.version, &why)
            }
            (CborError::Unacceptable(why), Home::EveryVersion) => DecodeError(why),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    fn parse(body: &[u8]) -> Result<Value, String> {
        let registry = Registry::builtin();
        let definition = registry.find("", "v1", "configmaps").unwrap();
        let parsed = Expected::from(&*definition).parse_cbor(body);
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn a_body_becomes_the_object_it_stands_for() {
        let body = b"\xd9\xd9\xf7\xa1\x44kind\x49ConfigMap";
        assert_eq!(parse(body), Ok(json!({"kind": "ConfigMap"})));
    }

    #[test]
    fn broken_bodies_are_refused_as_kubernetes_refuses_them() {
        let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): \
            unable to determine group/version/kind: ";
        for (body, reason) in [
            (&b"\xa1"[..], "unexpected EOF (a1)"),
            (b"{}", "unexpected EOF ({})"),
            (
                b"\x80",
                "cbor: cannot unmarshal array into Go value of type v1.TypeMeta (80)",
            ),
        ] {
            let refusal = parse(body).unwrap_err();
            assert_eq!(refusal, format!("{unrecognized}{reason}"));
        }
        let refusal = parse(b"\xa1\x44data\xa2\x41a\x41x\x41a\x41y").unwrap_err();
        assert_eq!(
            refusal,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: cbor: found duplicate \
             map key \"a\" at map element index 1"
        );
    }
}
