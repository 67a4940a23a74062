//! Values in the notation of Go, in which Kubernetes words its messages.

use std::fmt::Write;

mod number;

pub use number::{float, parse_duration, parse_signed, parse_unsigned};

/// The text in double quotes, with Go's escapes (`%q`).
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        push_escaped(&mut quoted, character, '"');
    }
    quoted.push('"');
    quoted
}

/// The character in single quotes, with Go's escapes.
pub fn quote_character(character: char) -> String {
    let mut quoted = String::from("'");
    push_escaped(&mut quoted, character, '\'');
    quoted.push('\'');
    quoted
}

/// A list of texts as Go source (`%#v`): `[]string{"a", "b"}`.
pub fn string_slice<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(quote).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}

/// The Go type of a value that was read as any JSON (`%T`).
pub fn type_name(value: &serde_json::Value) -> &'static str {
    use serde_json::Value;
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The value as Go encodes JSON: compact, and safe inside HTML.
pub fn json(value: &serde_json::Value) -> String {
    let plain = value.to_string();
    let mut safe = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_unicode_escape(&mut safe, character),
            _ => safe.push(character),
        }
    }
    safe
}

/// The value as Go prints maps and slices (`%v`): `map[a:1 b:[x y]]`.
pub fn display(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(display).collect();
            format!("[{}]", elements.join(" "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", display(value)));
            format!("map[{}]", fields.collect::<Vec<String>>().join(" "))
        }
    }
}

/// Whether Go shows the character as it is (`unicode.IsPrint`).
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    // Combining marks are printable, but Rust shows them plainly only after another character.
    let mut buffer = [b'a'; 5];
    let length = character.encode_utf8(&mut buffer[1..]).len();
    let pair = std::str::from_utf8(&buffer[..=length]).expect("both characters are whole");
    pair.escape_debug().eq(pair.chars())
}

fn push_escaped(target: &mut String, character: char, delimiter: char) {
    match character {
        '\\' => target.push_str("\\\\"),
        '\u{07}' => target.push_str("\\a"),
        '\u{08}' => target.push_str("\\b"),
        '\u{0c}' => target.push_str("\\f"),
        '\n' => target.push_str("\\n"),
        '\r' => target.push_str("\\r"),
        '\t' => target.push_str("\\t"),
        '\u{0b}' => target.push_str("\\v"),
        _ if character == delimiter => {
            target.push('\\');
            target.push(character);
        }
        _ if is_printable(character) => target.push(character),
        '\0'..='\u{7f}' => {
            write!(target, "\\x{:02x}", u32::from(character)).expect("text takes any text");
        }
        _ => push_unicode_escape(target, character),
    }
}

fn push_unicode_escape(target: &mut String, character: char) {
    let code = u32::from(character);
    let written = if code < 0x1_0000 {
        write!(target, "\\u{code:04x}")
    } else {
        write!(target, "\\U{code:08x}")
    };
    written.expect("text takes any text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        let text = "a\"\\\n\u{0}\u{7f}é\u{301}\u{200b}\u{e000}日\u{10ffff}'\u{a0}";
        let expected = r#""a\"\\\n\x00\x7fé́\u200b\ue000日\U0010ffff'\u00a0""#;
        assert_eq!(quote(text), expected);
    }

    #[test]
    fn characters_stand_in_single_quotes() {
        assert_eq!(quote_character('\''), r"'\''");
        assert_eq!(quote_character('"'), "'\"'");
        assert_eq!(quote_character('\u{81}'), r"'\u0081'");
    }

    #[test]
    fn json_is_safe_inside_html() {
        let value = serde_json::json!({"a": "<b>&"});
        assert_eq!(json(&value), r#"{"a":"\u003cb\u003e\u0026"}"#);
    }

    #[test]
    fn maps_and_slices_are_printed_as_go_prints_them() {
        let value = serde_json::json!({"b": [1, "x", null], "a": {"c": true}});
        assert_eq!(display(&value), "map[a:map[c:true] b:[1 x <nil>]]");
    }

    #[test]
    fn lists_are_written_as_go_source() {
        assert_eq!(string_slice(["x.io/g", "b"]), r#"[]string{"x.io/g", "b"}"#);
    }
}
