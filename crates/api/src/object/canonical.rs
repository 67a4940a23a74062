//! A parsed object to its one canonical form.
//!
//! Text is escaped as Go's encoder does it (`<`, `>`, `&`, U+2028 and U+2029 too), because that is
//! what Kubernetes puts on the wire and lists are made of stored bytes.

use std::io::Write;

use serde_json::{Map, Number, Value};

/// The members of `metadata` that come first, in the order in which Kubernetes writes them.
const METADATA_ORDER: [&str; 14] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// The canonical bytes of an object: `kind`, `apiVersion`, `metadata`, then the rest by name, with
/// neither white space nor `metadata.resourceVersion`. Equal objects have equal bytes.
///
/// `metadata` is always there. A value that is no object is written as it is, and is refused by
/// [`super::StoredObject::scan`].
pub fn to_canonical(object: &Value) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(512);
    match object {
        Value::Object(members) => append_object(members, &mut buffer),
        other => append_value(other, &mut buffer),
    }
    buffer
}

fn append_object(members: &Map<String, Value>, buffer: &mut Vec<u8>) {
    buffer.push(b'{');
    for name in ["kind", "apiVersion"] {
        if let Some(value) = members.get(name) {
            append_member(name, value, buffer);
            buffer.push(b',');
        }
    }
    buffer.extend_from_slice(b"\"metadata\":");
    match members.get("metadata") {
        Some(Value::Object(metadata)) => append_metadata(metadata, buffer),
        None | Some(Value::Null) => buffer.extend_from_slice(b"{}"),
        Some(other) => append_value(other, buffer),
    }
    for (name, value) in sorted(members) {
        if !matches!(name, "kind" | "apiVersion" | "metadata") {
            buffer.push(b',');
            append_member(name, value, buffer);
        }
    }
    buffer.push(b'}');
}

fn append_metadata(metadata: &Map<String, Value>, buffer: &mut Vec<u8>) {
    let known = METADATA_ORDER
        .iter()
        .filter_map(|name| metadata.get(*name).map(|value| (*name, value)));
    let others = sorted(metadata)
        .filter(|(name, _)| *name != "resourceVersion" && !METADATA_ORDER.contains(name));
    append_members(known.chain(others), buffer);
}

pub(crate) fn append_value(value: &Value, buffer: &mut Vec<u8>) {
    match value {
        Value::Null => buffer.extend_from_slice(b"null"),
        Value::Bool(true) => buffer.extend_from_slice(b"true"),
        Value::Bool(false) => buffer.extend_from_slice(b"false"),
        Value::Number(number) => append_number(number, buffer),
        Value::String(text) => append_text(text, buffer),
        Value::Array(items) => append_items(items, buffer),
        Value::Object(members) => append_members(sorted(members), buffer),
    }
}

pub(crate) fn append_members<'a>(
    members: impl Iterator<Item = (&'a str, &'a Value)>,
    buffer: &mut Vec<u8>,
) {
    buffer.push(b'{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            buffer.push(b',');
        }
        append_member(name, value, buffer);
    }
    buffer.push(b'}');
}

fn append_member(name: &str, value: &Value, buffer: &mut Vec<u8>) {
    append_text(name, buffer);
    buffer.push(b':');
    append_value(value, buffer);
}

fn append_items(items: &[Value], buffer: &mut Vec<u8>) {
    buffer.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            buffer.push(b',');
        }
        append_value(item, buffer);
    }
    buffer.push(b']');
}

/// Members by name, also when another crate makes `serde_json` keep the order of arrival.
fn sorted(members: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    let mut pairs: Vec<(&str, &Value)> = members
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    if !pairs.is_sorted_by_key(|(name, _)| *name) {
        pairs.sort_unstable_by_key(|(name, _)| *name);
    }
    pairs.into_iter()
}

fn append_number(number: &Number, buffer: &mut Vec<u8>) {
    const INFALLIBLE: &str = "a vector takes every write";
    let float = number.as_f64().filter(|_| number.is_f64());
    match float {
        None => write!(buffer, "{number}").expect(INFALLIBLE),
        // Go writes an exponent, with its sign, only outside this range.
        Some(float) if float == 0.0 || (1e-6..1e21).contains(&float.abs()) => {
            write!(buffer, "{float}").expect(INFALLIBLE);
        }
        Some(float) => {
            let text = format!("{float:e}");
            let signed = if text.contains("e-") {
                text
            } else {
                text.replace('e', "e+")
            };
            buffer.extend_from_slice(signed.as_bytes());
        }
    }
}

fn append_text(text: &str, buffer: &mut Vec<u8>) {
    buffer.push(b'"');
    append_escaped(text, buffer);
    buffer.push(b'"');
}

/// Appends the inside of a JSON string, escaped as in stored objects.
pub fn append_escaped(text: &str, buffer: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let length = match bytes[at] {
            b'"' | b'\\' | b'<' | b'>' | b'&' | 0..0x20 => 1,
            0xe2 if matches!(bytes.get(at..at + 3), Some([_, 0x80, 0xa8 | 0xa9])) => 3,
            _ => {
                at += 1;
                continue;
            }
        };
        buffer.extend_from_slice(&bytes[copied..at]);
        append_escape(bytes[at + length - 1], buffer);
        at += length;
        copied = at;
    }
    buffer.extend_from_slice(&bytes[copied..]);
}

/// The escape of the character whose last UTF-8 byte this is.
fn append_escape(byte: u8, buffer: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => buffer.extend_from_slice(b"\\\""),
        b'\\' => buffer.extend_from_slice(b"\\\\"),
        b'\n' => buffer.extend_from_slice(b"\\n"),
        b'\r' => buffer.extend_from_slice(b"\\r"),
        b'\t' => buffer.extend_from_slice(b"\\t"),
        0x08 => buffer.extend_from_slice(b"\\b"),
        0x0c => buffer.extend_from_slice(b"\\f"),
        0xa8 => buffer.extend_from_slice(b"\\u2028"),
        0xa9 => buffer.extend_from_slice(b"\\u2029"),
        _ => {
            buffer.extend_from_slice(b"\\u00");
            buffer.push(DIGITS[usize::from(byte >> 4)]);
            buffer.push(DIGITS[usize::from(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn canonical(object: &Value) -> String {
        String::from_utf8(to_canonical(object)).unwrap()
    }

    #[test]
    fn members_come_in_the_order_of_kubernetes() {
        let object = json!({
            "status": {"b": 1, "a": 2}, "apiVersion": "v1", "data": {}, "kind": "Pod",
            "metadata": {"zeta": 1, "managedFields": [], "labels": {"b": "2", "a": "1"}, "uid": "u",
                "resourceVersion": "7", "generation": 3, "namespace": "n", "name": "x"},
        });
        assert_eq!(
            canonical(&object),
            concat!(
                r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"n","#,
                r#""uid":"u","generation":3,"labels":{"a":"1","b":"2"},"managedFields":[],"#,
                r#""zeta":1},"data":{},"status":{"a":2,"b":1}}"#
            )
        );
    }

    #[test]
    fn an_object_always_has_metadata() {
        assert_eq!(canonical(&json!({})), r#"{"metadata":{}}"#);
        assert_eq!(canonical(&json!({"metadata": null})), r#"{"metadata":{}}"#);
    }

    #[test]
    fn text_is_escaped_as_go_does_it() {
        let object = json!({"data": "<a href=\"x\">&\u{2028}\u{2029}\n\t\u{1}\u{8}\u{c}\\é\u{7f}"});
        assert_eq!(
            canonical(&object),
            concat!(
                r#"{"metadata":{},"data":"\u003ca href=\"x\"\u003e\u0026\u2028\u2029"#,
                r"\n\t\u0001\b\f\\é",
                "\u{7f}\"}"
            )
        );
    }

    #[test]
    fn numbers_are_written_as_go_does_it() {
        let numbers: Value =
            serde_json::from_str("[1,-1,1.0,0.5,1e20,1e21,1e-6,1e-7,18446744073709551615,-0.0]")
                .unwrap();
        assert_eq!(
            canonical(&numbers),
            "[1,-1,1,0.5,100000000000000000000,1e+21,0.000001,1e-7,18446744073709551615,-0]"
        );
    }

    proptest! {
        #[test]
        fn canonical_text_reads_back_as_the_same_text(text in any::<String>()) {
            let object = json!({"metadata": {}, "data": text});
            let read: Value = serde_json::from_slice(&to_canonical(&object)).unwrap();
            prop_assert_eq!(read, object);
        }
    }
}
