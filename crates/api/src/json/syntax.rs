//! Where and why a text is no JSON, in the words of Go's decoder.
//!
//! Runs only over texts that have been refused already, so it may be simple rather than fast.

use crate::go_text::quote_character;

/// Nesting at which Go gives up; what follows is not looked at.
const DEPTH_MAX: usize = 10_000;

const END_OF_INPUT: &str = "unexpected end of JSON input";

/// The first syntax error of `text`, when there is one.
pub(super) fn first_error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner {
        text,
        position: 0,
        open: Vec::new(),
    };
    scanner.document().err()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

#[derive(Clone, Copy)]
enum Expected {
    Value,
    FirstElement,
    Key,
    FirstKey,
    AfterValue,
    End,
}

struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
    open: Vec<Container>,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), String> {
        let mut expected = Expected::Value;
        loop {
            let byte = self.next_visible();
            expected = match expected {
                Expected::End => {
                    return match byte {
                        None => Ok(()),
                        Some(byte) => Err(invalid(byte, "after top-level value")),
                    };
                }
                Expected::Value => self.value(require(byte)?)?,
                Expected::FirstElement if byte == Some(b']') => self.close(),
                Expected::FirstElement => self.value(require(byte)?)?,
                Expected::FirstKey if byte == Some(b'}') => self.close(),
                Expected::FirstKey | Expected::Key => self.key(require(byte)?)?,
                Expected::AfterValue => self.after_value(require(byte)?)?,
            };
        }
    }

    fn value(&mut self, first: u8) -> Result<Expected, String> {
        match first {
            b'{' => return self.enter(Container::Object, Expected::FirstKey),
            b'[' => return self.enter(Container::Array, Expected::FirstElement),
            b'"' => self.string()?,
            b't' => self.literal("true")?,
            b'f' => self.literal("false")?,
            b'n' => self.literal("null")?,
            b'-' | b'0'..=b'9' => self.number(first)?,
            other => return Err(invalid(other, "looking for beginning of value")),
        }
        Ok(self.expected_after_value())
    }

    fn key(&mut self, first: u8) -> Result<Expected, String> {
        if first != b'"' {
            return Err(invalid(first, "looking for beginning of object key string"));
        }
        self.string()?;
        match require(self.next_visible())? {
            b':' => Ok(Expected::Value),
            other => Err(invalid(other, "after object key")),
        }
    }

    fn after_value(&mut self, byte: u8) -> Result<Expected, String> {
        match (self.open.last(), byte) {
            (Some(Container::Object), b',') => Ok(Expected::Key),
            (Some(Container::Array), b',') => Ok(Expected::Value),
            (Some(Container::Object), b'}') | (Some(Container::Array), b']') => Ok(self.close()),
            (Some(Container::Object), other) => Err(invalid(other, "after object key:value pair")),
            (_, other) => Err(invalid(other, "after array element")),
        }
    }

    fn enter(&mut self, container: Container, inside: Expected) -> Result<Expected, String> {
        if self.open.len() == DEPTH_MAX {
            return Err("exceeded max depth".to_owned());
        }
        self.open.push(container);
        Ok(inside)
    }

    fn close(&mut self) -> Expected {
        self.open.pop();
        self.expected_after_value()
    }

    fn expected_after_value(&self) -> Expected {
        if self.open.is_empty() {
            Expected::End
        } else {
            Expected::AfterValue
        }
    }

    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                control @ 0..=0x1f => return Err(invalid(control, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.next_or_space() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => (0..4).try_for_each(|_| match self.next_or_space() {
                digit if digit.is_ascii_hexdigit() => Ok(()),
                other => Err(invalid(other, "in \\u hexadecimal character escape")),
            }),
            other => Err(invalid(other, "in string escape code")),
        }
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        for expected in literal.bytes().skip(1) {
            let found = self.next_or_space();
            if found != expected {
                let expected = char::from(expected);
                let place = format!("in literal {literal} (expecting '{expected}')");
                return Err(invalid(found, &place));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<(), String> {
        let first = if first == b'-' {
            self.digit("in numeric literal")?
        } else {
            first
        };
        if first != b'0' {
            self.skip_digits();
        }
        if self.skip(b".") {
            self.digit("after decimal point in numeric literal")?;
            self.skip_digits();
        }
        if self.skip(b"eE") {
            self.skip(b"+-");
            self.digit("in exponent of numeric literal")?;
            self.skip_digits();
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Result<u8, String> {
        match self.next_or_space() {
            digit @ b'0'..=b'9' => Ok(digit),
            other => Err(invalid(other, place)),
        }
    }

    fn skip_digits(&mut self) {
        while self.skip(b"0123456789") {}
    }

    fn skip(&mut self, any_of: &[u8]) -> bool {
        let found = self
            .text
            .get(self.position)
            .is_some_and(|byte| any_of.contains(byte));
        self.position += usize::from(found);
        found
    }

    fn next(&mut self) -> Result<u8, String> {
        let byte = self.text.get(self.position).copied();
        self.position += 1;
        require(byte)
    }

    /// Go puts a space behind the end, and then complains about that space.
    fn next_or_space(&mut self) -> u8 {
        self.next().unwrap_or(b' ')
    }

    fn next_visible(&mut self) -> Option<u8> {
        while self.skip(b" \t\r\n") {}
        let byte = self.text.get(self.position).copied();
        self.position += 1;
        byte
    }
}

fn require(byte: Option<u8>) -> Result<u8, String> {
    byte.ok_or_else(|| END_OF_INPUT.to_owned())
}

/// Go takes each byte for a character of its own, also inside a longer one.
fn invalid(byte: u8, place: &str) -> String {
    format!(
        "invalid character {} {place}",
        quote_character(char::from(byte))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(
                first_error(text.as_bytes()).as_deref(),
                Some(*expected),
                "{text:?}"
            );
        }
    }

    #[test]
    fn errors_between_values_are_worded_as_go_words_them() {
        let key = "looking for beginning of object key string";
        check(&[
            ("", "unexpected end of JSON input"),
            ("{bad", &format!("invalid character 'b' {key}")),
            ("{\"a\":1,}", &format!("invalid character '}}' {key}")),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{\"a\":1 x",
                "invalid character 'x' after object key:value pair",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1}", "invalid character '}' after array element"),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            (
                "'a'",
                "invalid character '\\'' looking for beginning of value",
            ),
            (
                "\u{1}",
                "invalid character '\\x01' looking for beginning of value",
            ),
            ("é", "invalid character 'Ã' looking for beginning of value"),
        ]);
        let expected = "invalid character '\\u0081' looking for beginning of value";
        assert_eq!(first_error(&[0x81, 0xaa]).as_deref(), Some(expected));
    }

    #[test]
    fn errors_inside_values_are_worded_as_go_words_them() {
        let escape = "in \\u hexadecimal character escape";
        check(&[
            (
                "truE",
                "invalid character 'E' in literal true (expecting 'e')",
            ),
            (
                "tru",
                "invalid character ' ' in literal true (expecting 'e')",
            ),
            ("-x", "invalid character 'x' in numeric literal"),
            (
                "1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            (
                "1e+",
                "invalid character ' ' in exponent of numeric literal",
            ),
            (
                "1ex",
                "invalid character 'x' in exponent of numeric literal",
            ),
            ("\"a", "unexpected end of JSON input"),
            ("\"a\n\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u00g0\"", &format!("invalid character 'g' {escape}")),
        ]);
    }

    #[test]
    fn good_texts_have_no_error() {
        for text in [
            "{}",
            "[]",
            " [1, -0.5e+3, {\"a\": [null, true, false]}, \"\\u00e9\\n\"] ",
        ] {
            assert_eq!(first_error(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn nesting_is_followed_only_so_far() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(
            first_error(deep.as_bytes()).as_deref(),
            Some("exceeded max depth")
        );
    }
}
