//! Bodies in protobuf: the envelope tells the kind, the schema the meaning of the message.

use listwatch_api::protobuf::{self, Envelope};
use serde_json::{Map, Value};

use super::{DecodeError, Expected, Home, Registry};

/// What Kubernetes says of kinds without a protobuf form.
const NOT_MARSHALABLE: &str = "object *unstructured.Unstructured does not implement the protobuf \
    marshalling interface and cannot be encoded to a protobuf message";

impl Registry {
    /// Reads a body of the kind that is expected, for [`Registry::decode`] to judge.
    ///
    /// Of another kind only the name is read, which is all that its refusal needs.
    pub fn parse_protobuf(
        &self,
        expected: Expected<'_>,
        body: &[u8],
    ) -> Result<Value, DecodeError> {
        let envelope = Envelope::parse(body).map_err(|error| match expected.home {
            Home::OwnVersion => expected.unrecognized(&error.to_string(), body),
            Home::EveryVersion => DecodeError(error.to_string()),
        })?;
        let is_expected = (envelope.kind.is_empty() || envelope.kind == expected.kind)
            && (envelope.api_version.is_empty()
                || expected.home == Home::EveryVersion
                || envelope.api_version == expected.api_version());
        if !is_expected {
            return Ok(identified(&envelope, Map::new()));
        }
        let unsuitable =
            |reason: &str| expected.unsuitable(expected.kind, expected.version, reason);
        let type_id = expected.schema.ok_or_else(|| unsuitable(NOT_MARSHALABLE))?;
        let members = protobuf::decode(&self.schema, type_id, envelope.raw)
            .map_err(|error| unsuitable(&error.to_string()))?;
        Ok(identified(&envelope, members))
    }
}

fn identified(envelope: &Envelope<'_>, mut members: Map<String, Value>) -> Value {
    for (name, text) in [
        ("apiVersion", envelope.api_version),
        ("kind", envelope.kind),
    ] {
        if !text.is_empty() {
            members.insert(name.to_owned(), text.into());
        }
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIG_MAP: &[u8] = b"k8s\0\
        \x0a\x0f\x0a\x02v1\x12\x09ConfigMap\
        \x12\x13\x0a\x07\x0a\x01a\x12\0\x1a\0\x12\x08\x0a\x01x\x12\x03one\
        \x1a\0\x22\0";

    fn parse(registry: &Registry, resource: &str, body: &[u8]) -> Result<Value, String> {
        let definition = registry.find("", "v1", resource).unwrap();
        let parsed = registry.parse_protobuf(Expected::from(&*definition), body);
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn a_body_becomes_the_object_it_stands_for() {
        let expected = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a"},
            "data": {"x": "one"},
        });
        let registry = Registry::builtin();
        assert_eq!(parse(&registry, "configmaps", CONFIG_MAP), Ok(expected));
    }

    #[test]
    fn a_body_of_another_kind_is_left_for_the_identity_check() {
        let registry = Registry::builtin();
        let parsed = parse(&registry, "secrets", CONFIG_MAP);
        assert_eq!(parsed, Ok(json!({"apiVersion": "v1", "kind": "ConfigMap"})));
    }

    #[test]
    fn broken_bodies_are_refused_as_kubernetes_refuses_them() {
        let registry = Registry::builtin();
        let refusal = |body: &[u8]| parse(&registry, "configmaps", body).unwrap_err();
        assert_eq!(
            refusal(b"{}"),
            "the object provided is unrecognized (must be of type ConfigMap): provided data does \
             not appear to be a protobuf message, expected prefix [107 56 115 0] ({})"
        );
        let unsuitable = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
        for (raw, reason) in [
            ([0x0a, 0x05], "unexpected EOF"),
            (
                [0x08, 0x01],
                "proto: wrong wireType = 0 for field ObjectMeta",
            ),
            (
                [0x0c, 0x0c],
                "proto: ConfigMap: wiretype end group for non-group",
            ),
            (
                [0x02, 0x00],
                "proto: ConfigMap: illegal tag 0 (wire type 2)",
            ),
        ] {
            let body = [&b"k8s\0\x12\x02"[..], &raw].concat();
            assert_eq!(refusal(&body), format!("{unsuitable}{reason}"));
        }
    }

    #[test]
    fn a_kind_without_numbers_has_no_protobuf_form() {
        let registry = Registry::builtin();
        let expected = Expected {
            group: "example.com",
            version: "v1",
            kind: "Widget",
            schema: None,
            home: Home::OwnVersion,
        };
        let body = b"k8s\0\x12\x02\x0a\0";
        let refusal = registry.parse_protobuf(expected, body).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "Widget in version \"v1\" cannot be handled as a Widget: object \
             *unstructured.Unstructured does not implement the protobuf marshalling interface and \
             cannot be encoded to a protobuf message"
        );
    }

    #[test]
    fn broken_options_of_a_delete_are_refused_with_nothing_but_the_reason() {
        let registry = Registry::builtin();
        let expected = Expected::delete_options(&registry);
        let refusal = registry.parse_protobuf(expected, b"k8s\0\xff").unwrap_err();
        assert_eq!(refusal.to_string(), "unexpected EOF");
    }

    #[test]
    fn the_options_of_a_delete_are_read() {
        let body = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x0c\x08\0\x22\x08Orphaned";
        let expected = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "propagationPolicy": "Orphaned",
        });
        let registry = Registry::builtin();
        let parsed = registry.parse_protobuf(Expected::delete_options(&registry), body);
        assert_eq!(parsed, Ok(expected));
    }
}
