//! Stored bytes decoded for printing.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

/// Decodes an object without who owns which field: often half of its bytes, and never printed.
///
/// Bytes that are no JSON object print as an empty one.
pub(super) fn decode(object: &[u8]) -> Value {
    let decoded = serde_json::from_slice::<Object>(object);
    Value::Object(decoded.map(|Object(members)| members).unwrap_or_default())
}

struct Object(Map<String, Value>);

struct Metadata(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetadataVisitor).map(Self)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let value = match name.as_ref() {
                "metadata" => Value::Object(map.next_value::<Metadata>()?.0),
                _ => map.next_value()?,
            };
            members.insert(name.into_owned(), value);
        }
        Ok(members)
    }
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            if name == "managedFields" {
                map.next_value::<IgnoredAny>()?;
            } else {
                members.insert(name.into_owned(), map.next_value()?);
            }
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_but_managed_fields_of_metadata_is_decoded() {
        let object = json!({
            "kind": "ConfigMap",
            "metadata": {"name": "c", "labels": {"a": "b"}, "managedFields": [{"manager": "m"}]},
            "managedFields": 1,
        });
        let mut expected = object.clone();
        expected["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        assert_eq!(decode(object.to_string().as_bytes()), expected);
    }

    #[test]
    fn what_cannot_be_read_is_an_empty_object() {
        for bytes in ["", "[]", r#"{"metadata":1}"#, r#"{"a":1"#] {
            assert_eq!(decode(bytes.as_bytes()), json!({}));
        }
    }
}
