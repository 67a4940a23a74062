//! Cuts a text into tokens.

use crate::source::Issue;

/// What a token is; its text is a slice of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Identifier,
    EscapedIdentifier,
    Integer,
    Unsigned,
    Float,
    String,
    Bytes,
    Symbol,
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'s str,
    pub(crate) offset: usize,
}

const SYMBOLS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%", "=",
];

/// All tokens, the last of which is the end; and what was no token.
pub(crate) fn tokens(source: &str) -> (Vec<Token<'_>>, Vec<Issue>) {
    let mut found = Vec::new();
    let mut issues = Vec::new();
    let mut offset = 0;
    while offset < source.len() {
        let rest = &source[offset..];
        let blank = blank_length(rest);
        if blank > 0 {
            offset += blank;
            continue;
        }
        match token(rest) {
            Some((kind, length)) => {
                found.push(Token {
                    kind,
                    text: &rest[..length],
                    offset,
                });
                offset += length;
            }
            None => {
                let length = unrecognized_length(rest);
                let shown = shown(&rest[..length]);
                issues.push(Issue::at(
                    offset,
                    format!("Syntax error: token recognition error at: '{shown}'"),
                ));
                offset += length;
            }
        }
    }
    found.push(Token {
        kind: TokenKind::End,
        text: "<EOF>",
        offset: source.len(),
    });
    (found, issues)
}

fn blank_length(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    rest.len()
        - rest
            .trim_start_matches([' ', '\t', '\n', '\r', '\u{c}'])
            .len()
}

fn token(rest: &str) -> Option<(TokenKind, usize)> {
    if let Some(found) = quoted(rest) {
        return Some(found);
    }
    let first = rest.as_bytes()[0];
    if first == b'`' {
        return escaped_identifier(rest);
    }
    if first.is_ascii_alphabetic() || first == b'_' {
        let end =
            rest.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
        return Some((
            keyword_kind(&rest[..end.unwrap_or(rest.len())]),
            end.unwrap_or(rest.len()),
        ));
    }
    if let Some(found) = number(rest) {
        return Some(found);
    }
    let symbol = SYMBOLS
        .iter()
        .find(|symbol| rest.starts_with(**symbol))
        .filter(|symbol| **symbol != "=")?;
    Some((TokenKind::Symbol, symbol.len()))
}

fn keyword_kind(text: &str) -> TokenKind {
    match text {
        "in" | "true" | "false" | "null" => TokenKind::Symbol,
        _ => TokenKind::Identifier,
    }
}

fn escaped_identifier(rest: &str) -> Option<(TokenKind, usize)> {
    let inner = rest[1..].find('`')?;
    let allowed =
        |character: char| character.is_ascii_alphanumeric() || "_.-/ ".contains(character);
    (inner > 0 && rest[1..=inner].chars().all(allowed))
        .then_some((TokenKind::EscapedIdentifier, inner + 2))
}

fn digits(text: &str, accept: impl Fn(&u8) -> bool) -> usize {
    text.bytes().take_while(|byte| accept(byte)).count()
}

fn number(rest: &str) -> Option<(TokenKind, usize)> {
    if let Some(hexadecimal) = rest.strip_prefix("0x") {
        let length = digits(hexadecimal, u8::is_ascii_hexdigit);
        if length > 0 {
            return Some(whole(rest, length + 2));
        }
    }
    let whole_digits = digits(rest, u8::is_ascii_digit);
    let after = &rest[whole_digits..];
    let fraction = after
        .strip_prefix('.')
        .map_or(0, |fraction| digits(fraction, u8::is_ascii_digit));
    let mut length = whole_digits;
    if fraction > 0 {
        length += 1 + fraction;
    } else if whole_digits == 0 {
        return None;
    }
    let exponent = exponent_length(&rest[length..]);
    if fraction > 0 || exponent > 0 {
        return Some((TokenKind::Float, length + exponent));
    }
    Some(whole(rest, length))
}

fn whole(rest: &str, length: usize) -> (TokenKind, usize) {
    match rest.as_bytes().get(length) {
        Some(b'u' | b'U') => (TokenKind::Unsigned, length + 1),
        _ => (TokenKind::Integer, length),
    }
}

fn exponent_length(rest: &str) -> usize {
    let Some(after) = rest.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let sign = usize::from(after.starts_with(['+', '-']));
    match digits(&after[sign..], u8::is_ascii_digit) {
        0 => 0,
        length => 1 + sign + length,
    }
}

/// A string or bytes literal with its prefixes, if one begins and ends here.
fn quoted(rest: &str) -> Option<(TokenKind, usize)> {
    let (prefix, kind, raw) = prefix(rest);
    let body = &rest[prefix..];
    let quote = body
        .chars()
        .next()
        .filter(|character| matches!(character, '"' | '\''))?;
    let triple: String = [quote; 3].iter().collect();
    if let Some(length) = body
        .strip_prefix(&triple)
        .and_then(|inner| closing(inner, &triple, raw, Lines::Many).ok())
    {
        return Some((kind, prefix + 3 + length));
    }
    let single = quote.to_string();
    let length = closing(&body[1..], &single, raw, Lines::One).ok()?;
    Some((kind, prefix + 1 + length))
}

fn prefix(rest: &str) -> (usize, TokenKind, Rawness) {
    let bytes = rest.as_bytes();
    let mut length = 0;
    let mut kind = TokenKind::String;
    let mut raw = Rawness::Escaped;
    if matches!(bytes.first(), Some(b'b' | b'B')) {
        kind = TokenKind::Bytes;
        length = 1;
    }
    if matches!(bytes.get(length), Some(b'r' | b'R')) {
        raw = Rawness::Raw;
        length += 1;
    }
    (length, kind, raw)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rawness {
    Raw,
    Escaped,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    One,
    Many,
}

/// Length up to and including the closing quotes, or how far a literal can be read that has none.
fn closing(inner: &str, quotes: &str, raw: Rawness, lines: Lines) -> Result<usize, usize> {
    let mut offset = 0;
    while offset < inner.len() {
        let rest = &inner[offset..];
        if rest.starts_with(quotes) {
            return Ok(offset + quotes.len());
        }
        let Some(character) = rest.chars().next() else {
            break;
        };
        if lines == Lines::One && matches!(character, '\n' | '\r') {
            return Err(offset);
        }
        offset += match (character, raw) {
            ('\\', Rawness::Escaped) => {
                1 + escape_length(&rest[1..]).map_err(|valid| offset + 1 + valid)?
            }
            _ => character.len_utf8(),
        };
    }
    Err(inner.len())
}

/// Length of what follows a backslash, or how much of it is well formed.
fn escape_length(rest: &str) -> Result<usize, usize> {
    let bytes = rest.as_bytes();
    let (start, count, digit): (usize, usize, fn(&u8) -> bool) = match bytes.first() {
        Some(
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`',
        ) => return Ok(1),
        Some(b'x' | b'X') => (1, 2, u8::is_ascii_hexdigit),
        Some(b'u') => (1, 4, u8::is_ascii_hexdigit),
        Some(b'U') => (1, 8, u8::is_ascii_hexdigit),
        Some(b'0'..=b'3') => (1, 2, |byte| (b'0'..=b'7').contains(byte)),
        _ => return Err(0),
    };
    let valid = bytes[start..]
        .iter()
        .take(count)
        .take_while(|byte| digit(byte))
        .count();
    if valid == count {
        Ok(start + count)
    } else {
        Err(start + valid)
    }
}

/// How much is skipped where no token begins: an unclosed quote to the end of its line, else one
/// character.
fn unrecognized_length(rest: &str) -> usize {
    let (prefix, _, raw) = prefix(rest);
    if rest[prefix..].starts_with(['"', '\'']) {
        let quote = &rest[prefix..=prefix];
        let inner = &rest[prefix + 1..];
        let failed = closing(inner, quote, raw, Lines::One)
            .err()
            .unwrap_or(inner.len());
        let next = inner.get(failed..).and_then(|rest| rest.chars().next());
        return prefix + 1 + failed + next.map_or(0, char::len_utf8);
    }
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let doubled = rest.starts_with(['=', '&', '|']);
    let second = rest[first..].chars().next().filter(|_| doubled);
    first + second.map_or(0, char::len_utf8)
}

fn shown(text: &str) -> String {
    text.replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).0.iter().map(|token| token.text).collect()
    }

    #[test]
    fn numbers_strings_and_symbols_are_told_apart() {
        assert_eq!(
            texts("a.b>=0x1Fu+1.5e3 // note\n r'\\d' b\"\\\"\" '''x'y'''"),
            [
                "a",
                ".",
                "b",
                ">=",
                "0x1Fu",
                "+",
                "1.5e3",
                "r'\\d'",
                "b\"\\\"\"",
                "'''x'y'''",
                "<EOF>"
            ]
        );
    }

    #[test]
    fn what_is_no_token_is_reported_and_skipped() {
        let (found, issues) = tokens("a # 'b");
        assert_eq!(found.len(), 2);
        assert_eq!(issues.len(), 2);
        assert_eq!(
            issues[1].message,
            "Syntax error: token recognition error at: ''b'"
        );
    }
}
