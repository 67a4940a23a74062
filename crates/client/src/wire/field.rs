//! One field of an object, found without reading the rest of it.

use std::borrow::Cow;

use super::{
    cursor::{Cursor, Next, unescape},
    header::Malformed,
};

/// The bytes of the value at a path of member names; `None` if there is none.
pub fn value_at<'a>(object: &'a [u8], path: &[&str]) -> Option<&'a [u8]> {
    let mut value = object;
    for name in path {
        value = member(value, name).ok().flatten()?;
    }
    Some(value)
}

/// The string at a path of member names; `None` if there is none.
pub fn text_at<'a>(object: &'a [u8], path: &[&str]) -> Option<Cow<'a, str>> {
    let value = value_at(object, path)?;
    let written = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    unescape(written).ok()
}

fn member<'a>(object: &'a [u8], wanted: &str) -> Result<Option<&'a [u8]>, Malformed> {
    let mut cursor = Cursor::new(object);
    let mut next = cursor.open(b'{', b'}')?;
    while next == Next::Another {
        let name = cursor.name()?;
        cursor.peek();
        let begin = cursor.position();
        cursor.skip()?;
        if *name == *wanted.as_bytes() {
            return Ok(Some(cursor.since(begin)));
        }
        next = cursor.more(b'}')?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &[u8] = br#" { "metadata": {"name": "a", "labels": {"spec": "no"}},
        "spec": { "nodeName" : "node\u002d1", "hostNetwork":true, "priority": 7 } }"#;

    #[test]
    fn a_field_is_found_by_its_path() {
        assert_eq!(text_at(POD, &["metadata", "name"]).unwrap(), "a");
        assert_eq!(text_at(POD, &["spec", "nodeName"]).unwrap(), "node-1");
        assert_eq!(value_at(POD, &["spec", "priority"]).unwrap(), b"7");
        assert_eq!(
            value_at(POD, &["metadata", "labels"]).unwrap(),
            br#"{"spec": "no"}"#
        );
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert_eq!(text_at(POD, &["spec", "priority"]), None);
        assert_eq!(value_at(POD, &["spec", "nodeName", "deeper"]), None);
        assert_eq!(value_at(POD, &["status"]), None);
        assert_eq!(value_at(b"[1]", &["spec"]), None);
        assert_eq!(value_at(br#"{"spec": {"a""#, &["spec", "a"]), None);
    }
}
