//! Takes canonical JSON apart without building anything.
//!
//! For text that was written or scanned before: it finds where values end, and trusts the rest. In
//! any other text it stops early, and tells so.

use std::borrow::Cow;

use super::scanner::find_special;

/// The members of an object: names without their quotes, and values, both as they are written.
#[derive(Clone, Debug)]
pub struct Members<'a>(Parts<'a>);

/// The elements of a list, as they are written.
#[derive(Clone, Debug)]
pub struct Elements<'a>(Parts<'a>);

impl<'a> Members<'a> {
    /// The members of an object.
    pub fn of(object: &'a str) -> Self {
        Self(Parts::of(object, '{'))
    }

    /// The members that are left behind some of an object.
    pub(super) fn left(rest: &'a str) -> Self {
        Self(Parts { rest })
    }

    /// Whether all of the object has been taken apart.
    pub fn is_complete(&self) -> bool {
        self.0.rest == "}"
    }
}

impl<'a> Elements<'a> {
    /// The elements of a list.
    pub fn of(list: &'a str) -> Self {
        Self(Parts::of(list, '['))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.next_part()?.strip_prefix('"')?;
        let (name, rest) = rest.split_at_checked(text_length(rest.as_bytes())?)?;
        let value = self.0.take_value(rest.strip_prefix("\":")?)?;
        Some((name, value))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.next_part()?;
        self.0.take_value(rest)
    }
}

/// What is left of an object or a list.
#[derive(Clone, Debug)]
struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str, bracket: char) -> Self {
        let rest = text.strip_prefix(bracket).unwrap_or_default();
        Self { rest }
    }

    /// The text from the next part on; `None` when there is none.
    fn next_part(&self) -> Option<&'a str> {
        let rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
        (!rest.starts_with(['}', ']'])).then_some(rest)
    }

    /// The value that the text begins with; what follows is left.
    fn take_value(&mut self, text: &'a str) -> Option<&'a str> {
        let length = value_length(text.as_bytes()).filter(|length| *length > 0)?;
        let (value, rest) = text.split_at_checked(length)?;
        self.rest = rest;
        Some(value)
    }
}

/// The text that a JSON string says; `None` for what is no string.
pub fn unquote(written: &str) -> Option<Cow<'_, str>> {
    let inside = written.strip_prefix('"')?.strip_suffix('"')?;
    match inside.contains('\\') {
        false => Some(Cow::Borrowed(inside)),
        true => serde_json::from_str(written).ok().map(Cow::Owned),
    }
}

/// The length of the value that the bytes begin with.
fn value_length(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'"' => Some(text_length(&bytes[1..])? + 2),
        b'{' | b'[' => nested_length(bytes),
        _ => bytes
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']')),
    }
}

fn nested_length(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => at += text_length(&bytes[at + 1..])? + 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// The length of the inside of a string, up to its closing quote.
fn text_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        at += find_special(rest)?;
        match bytes[at] {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn members(text: &str) -> (Vec<(&str, &str)>, bool) {
        let mut members = Members::of(text);
        let found = members.by_ref().collect();
        (found, members.is_complete())
    }

    #[test]
    fn an_object_is_taken_apart() {
        let text = r#"{"a":1,"b\"":{"c":["}","\\"]},"d":"x","e":[],"f":null}"#;
        let expected = vec![
            ("a", "1"),
            (r#"b\""#, r#"{"c":["}","\\"]}"#),
            ("d", r#""x""#),
            ("e", "[]"),
            ("f", "null"),
        ];
        assert_eq!(members(text), (expected, true));
        assert_eq!(members("{}"), (Vec::new(), true));
        let elements: Vec<&str> = Elements::of(r#"[{"a":1},"]",[2]]"#).collect();
        assert_eq!(elements, [r#"{"a":1}"#, r#""]""#, "[2]"]);
        assert_eq!(Elements::of("[]").count(), 0);
    }

    #[test]
    fn strings_are_unquoted() {
        assert_eq!(unquote(r#""a""#).as_deref(), Some("a"));
        assert_eq!(unquote(r#""\u003c\"""#).as_deref(), Some("<\""));
        assert_eq!(unquote("1"), None);
    }

    #[test]
    fn broken_text_is_taken_apart_as_far_as_it_goes() {
        for broken in [
            "",
            "[]",
            "{",
            r#"{"a"#,
            r#"{"a":"#,
            r#"{"a":}"#,
            r#"{"a":1"#,
            r#"{"a":[}"#,
        ] {
            assert!(!members(broken).1, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_apart_or_not(text in r#"[\[\]{}",:a\\1é]{0,40}"#) {
            members(&text);
            members(&format!("{{\"a\":{text}}}"));
            Elements::of(&text).for_each(drop);
            unquote(&text);
        }
    }
}
