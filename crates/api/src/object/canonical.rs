//! A parsed object to its one canonical form.
//!
//! Text is escaped as Go's encoder does it (`<`, `>`, `&`, U+2028 and U+2029 too), because that is
//! what Kubernetes puts on the wire and lists are made of stored bytes.

use std::{cell::RefCell, io::Write, sync::LazyLock};

use bytes::Bytes;
use serde_json::{Map, Number, Value};

use super::{
    draft::Draft,
    parts::Members,
    scanner::{control_bytes, repeated, zero_bytes},
    stored::{Layout, append_decimal},
};

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
    with_scratch(|buffer| {
        match object {
            Value::Object(members) => drop(append_object(members, Known::default(), buffer)),
            other => append_value(other, buffer),
        }
        buffer.to_vec()
    })
}

/// The canonical bytes of a draft, and where the parts are in them.
pub(super) fn encode_draft(draft: &Draft) -> (Bytes, Layout) {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    let members = draft.object.as_object().unwrap_or(&EMPTY);
    let known = Known {
        managed_fields: draft.managed_fields.as_deref(),
        untouched: &draft.untouched,
    };
    with_scratch(|buffer| {
        let layout = append_object(members, known, buffer);
        (Bytes::copy_from_slice(buffer), layout)
    })
}

/// Whether this is the canonical text of a value inside an object.
pub fn is_text_of(text: &[u8], value: &Value) -> bool {
    with_scratch(|buffer| {
        append_value(value, buffer);
        buffer == text
    })
}

/// Whether this is the canonical text of an object, but for members that the object does not have
/// and `may_be_missing` accepts, with their names and texts.
pub(super) fn is_text_but_for(
    text: &str,
    object: &Map<String, Value>,
    may_be_missing: impl Fn(&str, &str) -> bool,
) -> bool {
    let mut written = Members::of(text);
    let mut members = sorted(object).peekable();
    let is_same =
        written.by_ref().all(
            |(name, text)| match members.next_if(|(known, _)| *known == name) {
                Some((_, value)) => is_text_of(text.as_bytes(), value),
                None => may_be_missing(name, text),
            },
        );
    is_same && written.is_complete() && members.next().is_none()
}

/// What is written, as text of just its size.
pub(crate) fn text_of(write: impl FnOnce(&mut Vec<u8>)) -> Box<str> {
    with_scratch(|buffer| {
        write(buffer);
        let text = std::str::from_utf8(buffer);
        text.expect("JSON is written as UTF-8").into()
    })
}

/// Lends a buffer that has grown before, so that what is written can be kept in its exact size.
fn with_scratch<T>(write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    /// A buffer that has grown beyond this is not kept.
    const KEPT_BYTES_MAX: usize = 256 * 1024;
    thread_local! {
        static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let mut buffer = SCRATCH.take();
    buffer.clear();
    let written = write(&mut buffer);
    if buffer.capacity() <= KEPT_BYTES_MAX {
        SCRATCH.set(buffer);
    }
    written
}

/// What of an object is text already.
#[derive(Clone, Copy, Default)]
struct Known<'a> {
    managed_fields: Option<&'a [u8]>,
    untouched: &'a [(Box<str>, Bytes)],
}

fn append_object(members: &Map<String, Value>, known: Known<'_>, buffer: &mut Vec<u8>) -> Layout {
    buffer.push(b'{');
    for name in ["kind", "apiVersion"] {
        if let Some(value) = members.get(name) {
            append_member(name, value, buffer);
            buffer.push(b',');
        }
    }
    let header_end = buffer.len();
    buffer.extend_from_slice(b"\"metadata\":");
    let version_at = match members.get("metadata") {
        Some(Value::Object(metadata)) => append_metadata(metadata, known.managed_fields, buffer),
        None | Some(Value::Null) => append_metadata(&Map::new(), known.managed_fields, buffer),
        Some(other) => {
            append_value(other, buffer);
            buffer.len()
        }
    };
    let metadata_end = buffer.len();
    let mut untouched = known.untouched.iter().peekable();
    for (name, value) in sorted(members) {
        if matches!(name, "kind" | "apiVersion" | "metadata") {
            continue;
        }
        while let Some((earlier, text)) = untouched.next_if(|(known, _)| **known < *name) {
            append_untouched(earlier, text, buffer);
        }
        buffer.push(b',');
        append_member(name, value, buffer);
    }
    untouched.for_each(|(name, text)| append_untouched(name, text, buffer));
    buffer.push(b'}');
    Layout {
        header_end,
        version_at,
        metadata_end,
    }
}

fn append_untouched(name: &str, text: &[u8], buffer: &mut Vec<u8>) {
    buffer.push(b',');
    append_text(name, buffer);
    buffer.push(b':');
    buffer.extend_from_slice(text);
}

/// Appends the metadata and tells where a resourceVersion belongs in them.
fn append_metadata(
    metadata: &Map<String, Value>,
    managed_fields: Option<&[u8]>,
    buffer: &mut Vec<u8>,
) -> usize {
    buffer.push(b'{');
    let first = buffer.len();
    let mut version_at = first;
    for name in METADATA_ORDER {
        match (metadata.get(name), managed_fields) {
            (_, Some(text)) if name == "managedFields" => {
                separate(first, buffer);
                append_text(name, buffer);
                buffer.push(b':');
                buffer.extend_from_slice(text);
            }
            (Some(value), _) => {
                separate(first, buffer);
                append_member(name, value, buffer);
            }
            (None, _) => continue,
        }
        if name == "uid" {
            version_at = buffer.len();
        }
    }
    let others = sorted(metadata)
        .filter(|(name, _)| *name != "resourceVersion" && !METADATA_ORDER.contains(name));
    for (name, value) in others {
        separate(first, buffer);
        append_member(name, value, buffer);
    }
    buffer.push(b'}');
    version_at
}

/// A comma, unless nothing stands between the first place and here.
fn separate(first: usize, buffer: &mut Vec<u8>) {
    if buffer.len() > first {
        buffer.push(b',');
    }
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
    static MAPS_ARE_SORTED: LazyLock<bool> = LazyLock::new(|| {
        let map: Map<String, Value> = ["b", "a"]
            .map(|name| (name.to_owned(), Value::Null))
            .into_iter()
            .collect();
        map.keys().is_sorted()
    });
    let (in_order, rearranged) = match *MAPS_ARE_SORTED {
        true => (Some(members.iter()), Vec::new()),
        false => {
            let mut pairs: Vec<(&String, &Value)> = members.iter().collect();
            pairs.sort_unstable_by_key(|(name, _)| *name);
            (None, pairs)
        }
    };
    in_order
        .into_iter()
        .flatten()
        .chain(rearranged)
        .map(|(name, value)| (name.as_str(), value))
}

fn append_number(number: &Number, buffer: &mut Vec<u8>) {
    const INFALLIBLE: &str = "a vector takes every write";
    if let Some(whole) = number.as_u64() {
        return append_decimal(whole, buffer);
    }
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
    let mut rest = text.as_bytes();
    while let Some(at) = find_escaped(rest) {
        let length = match rest[at] {
            0xe2 if !matches!(rest.get(at..at + 3), Some([_, 0x80, 0xa8 | 0xa9])) => {
                buffer.extend_from_slice(&rest[..=at]);
                rest = &rest[at + 1..];
                continue;
            }
            0xe2 => 3,
            _ => 1,
        };
        buffer.extend_from_slice(&rest[..at]);
        append_escape(rest[at + length - 1], buffer);
        rest = &rest[at + length..];
    }
    buffer.extend_from_slice(rest);
}

/// Where the first byte is that is escaped, or begins what may be, looked for in eight at a time.
fn find_escaped(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        if let Some(place) = find_escaped_in(*word) {
            return Some(index * 8 + place);
        }
    }
    match bytes.last_chunk::<8>() {
        _ if rest.is_empty() => None,
        // Those of its bytes that were looked at before are not escaped.
        Some(last) => find_escaped_in(*last).map(|place| bytes.len() - 8 + place),
        None => rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2 | 0..0x20)),
    }
}

#[inline(always)]
fn find_escaped_in(word: [u8; 8]) -> Option<usize> {
    let word = u64::from_le_bytes(word);
    // The two angle brackets differ in one bit.
    let found = zero_bytes(word ^ repeated(b'"'))
        | zero_bytes(word ^ repeated(b'\\'))
        | zero_bytes((word | repeated(2)) ^ repeated(b'>'))
        | zero_bytes(word ^ repeated(b'&'))
        | zero_bytes(word ^ repeated(0xe2))
        | control_bytes(word);
    (found != 0).then(|| (found.trailing_zeros() / 8) as usize)
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
