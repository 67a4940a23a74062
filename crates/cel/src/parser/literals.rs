//! Numbers, strings and bytes as they are written.

use super::{Parse, Parser};
use crate::ast::{Expression, Kind};
use crate::lexer::TokenKind;
use crate::source::Issue;
use crate::value::Value;

impl Parser<'_> {
    pub(super) fn literal(&mut self) -> Parse<Expression> {
        let first = self.peek();
        let sign = if self.is_symbol("-") && self.negative_number() {
            "-"
        } else {
            ""
        };
        if !sign.is_empty() {
            self.advance();
        }
        let token = self.peek();
        let value = match (token.kind, token.text) {
            (TokenKind::Integer, text) => integer(sign, text),
            (TokenKind::Unsigned, text) => unsigned(&text[..text.len() - 1]),
            (TokenKind::Float, text) => float(sign, text),
            (TokenKind::String, text) => string(text),
            (TokenKind::Bytes, text) => {
                unescape(&text[1..], Target::Bytes).map(|bytes| Value::Bytes(bytes.into()))
            }
            (TokenKind::Symbol, "true") => Ok(Value::Bool(true)),
            (TokenKind::Symbol, "false") => Ok(Value::Bool(false)),
            (TokenKind::Symbol, "null") => Ok(Value::Null),
            _ => return Err(self.no_expression()),
        };
        self.advance();
        let value = value.unwrap_or_else(|message| {
            self.issues.push(Issue::at(first.offset, message));
            Value::Null
        });
        Ok(self.node(first.offset, Kind::Literal(value)))
    }
}

type Literal = Result<Value<'static>, String>;

fn integer(sign: &str, text: &str) -> Literal {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16),
        None => format!("{sign}{text}").parse(),
    };
    parsed
        .map(Value::Int)
        .map_err(|_| "invalid int literal".to_owned())
}

fn unsigned(text: &str) -> Literal {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed
        .map(Value::Uint)
        .map_err(|_| "invalid uint literal".to_owned())
}

fn float(sign: &str, text: &str) -> Literal {
    match format!("{sign}{text}").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Value::Double(value)),
        _ => Err("invalid double literal".to_owned()),
    }
}

fn string(text: &str) -> Literal {
    let bytes = unescape(text, Target::Text)?;
    let text = String::from_utf8(bytes).map_err(|_| "invalid unicode code point".to_owned())?;
    Ok(Value::from(text))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Text,
    Bytes,
}

/// The content of a quoted literal.
fn unescape(literal: &str, target: Target) -> Result<Vec<u8>, String> {
    let literal = literal.replace("\r\n", "\n").replace('\r', "\n");
    let (raw, quoted) = match literal.strip_prefix(['r', 'R']) {
        Some(quoted) => (true, quoted),
        None => (false, literal.as_str()),
    };
    let triple = quoted.len() >= 6 && (quoted.starts_with("'''") || quoted.starts_with("\"\"\""));
    let width = if triple { 3 } else { 1 };
    let content = &quoted[width..quoted.len() - width];
    if raw || !content.contains('\\') {
        return Ok(content.as_bytes().to_vec());
    }
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(character) = rest.chars().next() {
        if character == '\\' {
            rest = escape(&rest[1..], target, &mut bytes)?;
        } else {
            rest = &rest[character.len_utf8()..];
            push(character, &mut bytes);
        }
    }
    Ok(bytes)
}

fn push(character: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Writes what the escape after a backslash stands for, and returns what follows it.
fn escape<'t>(rest: &'t str, target: Target, bytes: &mut Vec<u8>) -> Result<&'t str, String> {
    let failed = || "unable to unescape string".to_owned();
    let letter = rest
        .chars()
        .next()
        .ok_or_else(|| "unable to unescape string, found '\\' as last character".to_owned())?;
    let simple = match letter {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => letter as u8,
        'x' | 'X' => return code_point(&rest[1..], Digits::hexadecimal(2), target, bytes),
        'u' if target == Target::Text => {
            return code_point(&rest[1..], Digits::hexadecimal(4), target, bytes);
        }
        'U' if target == Target::Text => {
            return code_point(&rest[1..], Digits::hexadecimal(8), target, bytes);
        }
        '0'..='3' => return code_point(rest, Digits::octal(), target, bytes),
        _ => return Err(failed()),
    };
    bytes.push(simple);
    Ok(&rest[1..])
}

/// A fixed number of digits of one base.
struct Digits {
    count: usize,
    radix: u32,
    failure: &'static str,
}

impl Digits {
    fn hexadecimal(count: usize) -> Self {
        Self {
            count,
            radix: 16,
            failure: "unable to unescape string",
        }
    }

    fn octal() -> Self {
        Self {
            count: 3,
            radix: 8,
            failure: "unable to unescape octal sequence in string",
        }
    }
}

fn code_point<'t>(
    rest: &'t str,
    digits: Digits,
    target: Target,
    bytes: &mut Vec<u8>,
) -> Result<&'t str, String> {
    let text = rest
        .get(..digits.count)
        .ok_or_else(|| digits.failure.to_owned())?;
    if !text.chars().all(|digit| digit.is_digit(digits.radix)) {
        return Err(digits.failure.to_owned());
    }
    let value = u32::from_str_radix(text, digits.radix).map_err(|_| digits.failure.to_owned())?;
    match target {
        Target::Bytes => bytes.push(value as u8),
        Target::Text => push(
            char::from_u32(value).ok_or_else(|| "invalid unicode code point".to_owned())?,
            bytes,
        ),
    }
    Ok(&rest[digits.count..])
}
