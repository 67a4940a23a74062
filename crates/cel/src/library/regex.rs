//! Regular expressions as Go reads them, matched in linear time.

use regex::Regex;

use super::{Function, unfit};
use crate::error::EvaluationError;
use crate::value::{Outcome, Value};

/// Largest compiled pattern, in bytes.
const COMPILED_BYTES_MAX: usize = 4 << 20;

/// Largest compiled pattern of those that are known only when an expression runs, in bytes. Each
/// costs time anew.
const COMPILED_LATE_BYTES_MAX: usize = 512 << 10;

/// Most times that a pattern may ask for a part to be repeated.
const REPEATS_MAX: u64 = 1_000;

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "matches" | "matches_string" => |arguments| match arguments {
            [Value::String(text), Value::String(pattern)] => Ok(Value::Bool(
                late(pattern)
                    .map_err(EvaluationError::failed)?
                    .is_match(text),
            )),
            _ => unfit(),
        },
        "string_find_string" => |arguments| match arguments {
            [Value::String(text), Value::String(pattern)] => Ok(find(text, &legal(pattern)?)),
            _ => unfit(),
        },
        "string_find_all_string" | "string_find_all_string_int" => |arguments| match arguments {
            [Value::String(text), Value::String(pattern)] => {
                Ok(find_all(text, &legal(pattern)?, -1))
            }
            [
                Value::String(text),
                Value::String(pattern),
                Value::Int(count),
            ] => Ok(find_all(text, &legal(pattern)?, *count)),
            _ => unfit(),
        },
        _ => return None,
    })
}

/// Applies a pattern that was compiled beforehand.
pub(crate) fn apply<'a>(function: &str, pattern: &Regex, arguments: &[Value<'a>]) -> Outcome<'a> {
    match (function, arguments) {
        ("matches", [Value::String(text), ..]) => Ok(Value::Bool(pattern.is_match(text))),
        ("find", [Value::String(text), _]) => Ok(find(text, pattern)),
        ("findAll", [Value::String(text), _]) => Ok(find_all(text, pattern, -1)),
        ("findAll", [Value::String(text), _, Value::Int(count)]) => {
            Ok(find_all(text, pattern, *count))
        }
        _ => unfit(),
    }
}

fn legal(pattern: &str) -> Result<Regex, EvaluationError> {
    late(pattern).map_err(|error| EvaluationError::failed(format!("Illegal regex: {error}")))
}

fn find<'a>(text: &str, pattern: &Regex) -> Value<'a> {
    Value::from(
        pattern
            .find(text)
            .map_or(String::new(), |found| found.as_str().to_owned()),
    )
}

fn find_all<'a>(text: &str, pattern: &Regex, count: i64) -> Value<'a> {
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    Value::list(
        pattern
            .find_iter(text)
            .take(limit)
            .map(|found| Value::from(found.as_str().to_owned()))
            .collect(),
    )
}

/// Compiles a pattern in Go's syntax: classes such as `\d` are those of ASCII.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    compile_within(pattern, COMPILED_BYTES_MAX)
}

fn late(pattern: &str) -> Result<Regex, String> {
    compile_within(pattern, COMPILED_LATE_BYTES_MAX)
}

fn compile_within(pattern: &str, bytes_max: usize) -> Result<Regex, String> {
    let translated = translate(pattern);
    let compiled = regex::RegexBuilder::new(&translated)
        .size_limit(bytes_max)
        .build();
    match (unwelcome_repeat(pattern), compiled) {
        (Some(why), _) => Err(format!("error parsing regexp: {why}")),
        (None, Ok(compiled)) => Ok(compiled),
        (None, Err(error)) => Err(format!(
            "error parsing regexp: {}",
            complaint(pattern, &error)
        )),
    }
}

/// Why Go takes no such repetition: too many, or one of another.
fn unwelcome_repeat(pattern: &str) -> Option<String> {
    let mut place = Place::Outside;
    let mut offset = 0;
    let mut before: Option<usize> = None;
    while let Some(character) = pattern[offset..].chars().next() {
        let rest = &pattern[offset..];
        let mut length = character.len_utf8();
        let mut repeat = None;
        match (character, place) {
            ('\\', _) => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            ('[', _) => place = Place::Class,
            (']', _) => place = Place::Outside,
            ('*' | '+' | '?', Place::Outside) => {
                length += usize::from(rest[1..].starts_with('?'));
                repeat = Some(offset);
            }
            ('{', Place::Outside) => {
                if let Some(counted) = counted(rest) {
                    if counted.is_unwelcome() {
                        return Some(format!("invalid repeat count: `{}`", counted.text));
                    }
                    length = counted.text.len();
                    length += usize::from(rest[length..].starts_with('?'));
                    repeat = Some(offset);
                }
            }
            ('(', Place::Outside) if rest.starts_with("(?") => length = 2,
            _ => {}
        }
        if let (Some(first), Some(_)) = (before, repeat) {
            let both = &pattern[first..offset + length];
            return Some(format!("invalid nested repetition operator: `{both}`"));
        }
        before = repeat;
        offset += length;
    }
    None
}

/// `{n}`, `{n,}` or `{n,m}`.
struct Counted<'p> {
    text: &'p str,
    least: u64,
    most: Option<u64>,
}

impl Counted<'_> {
    fn is_unwelcome(&self) -> bool {
        let most = self.most.unwrap_or(self.least);
        self.least > REPEATS_MAX || most > REPEATS_MAX || most < self.least
    }
}

fn counted(text: &str) -> Option<Counted<'_>> {
    let end = text.find('}')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (least, most) = match text[1..end].split_once(',') {
        None => (number(&text[1..end])?, None),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some(Counted {
        text: &text[..=end],
        least,
        most,
    })
}

/// Whether a pattern is being read inside of brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Class,
    Outside,
}

/// Writes out what the two syntaxes read differently.
fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len() + 16);
    let mut characters = pattern.chars().peekable();
    let mut place = Place::Outside;
    while let Some(character) = characters.next() {
        match (character, place) {
            ('\\', _) => match characters.next() {
                Some(escaped) => escape(escaped, place, &mut characters, &mut translated),
                None => translated.push('\\'),
            },
            ('[', Place::Outside) => {
                place = Place::Class;
                translated.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    translated.push('^');
                }
                if characters.next_if_eq(&']').is_some() {
                    translated.push_str("\\]");
                }
            }
            ('[', Place::Class) if characters.peek() == Some(&':') => {
                translated.push('[');
                for inner in characters.by_ref() {
                    translated.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            (']', Place::Class) => {
                place = Place::Outside;
                translated.push(']');
            }
            ('[' | '&' | '~', Place::Class) => {
                translated.push('\\');
                translated.push(character);
            }
            (other, _) => translated.push(other),
        }
    }
    translated
}

fn escape(
    escaped: char,
    place: Place,
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    translated: &mut String,
) {
    let (members, negated) = match escaped {
        'd' => ("0-9", false),
        'D' => ("0-9", true),
        'w' => ("0-9A-Za-z_", false),
        'W' => ("0-9A-Za-z_", true),
        's' => ("\\t\\n\\x0C\\r\\x20", false),
        'S' => ("\\t\\n\\x0C\\r\\x20", true),
        'b' if place == Place::Outside => return translated.push_str("(?-u:\\b)"),
        'Q' => return quoted(rest, translated),
        other => {
            translated.push('\\');
            return translated.push(other);
        }
    };
    match (place, negated) {
        (Place::Class, false) => translated.push_str(members),
        (_, true) => translated.push_str(&format!("[^{members}]")),
        (Place::Outside, false) => translated.push_str(&format!("[{members}]")),
    }
}

/// Text between `\Q` and `\E`, which means itself.
fn quoted(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, translated: &mut String) {
    let mut literal = String::new();
    while let Some(character) = rest.next() {
        if character == '\\' && rest.next_if_eq(&'E').is_some() {
            break;
        }
        literal.push(character);
    }
    translated.push_str(&regex::escape(&literal));
}

/// What Go says about a pattern that is not well formed.
fn complaint(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    if text.contains("unclosed group") {
        return format!("missing closing ): `{pattern}`");
    }
    if text.contains("unopened group") {
        return format!("unexpected ): `{pattern}`");
    }
    if text.contains("unclosed character class") {
        let from = pattern.rfind('[').unwrap_or(0);
        return format!("missing closing ]: `{}`", &pattern[from..]);
    }
    if text.contains("repetition operator missing expression") {
        let operator = pattern
            .find(['*', '+', '?', '{'])
            .map_or("", |index| &pattern[index..=index]);
        return format!("missing argument to repetition operator: `{operator}`");
    }
    if text.contains("incomplete escape") {
        return "trailing backslash at end of expression: ``".to_owned();
    }
    if text.contains("unrecognized escape") {
        let from = pattern.find('\\').unwrap_or(0);
        return format!(
            "invalid escape sequence: `{}`",
            pattern[from..].chars().take(2).collect::<String>()
        );
    }
    if text.contains("look-around") || text.contains("backreferences") {
        let from = pattern.find("(?").unwrap_or(0);
        return format!(
            "invalid or unsupported Perl syntax: `{}`",
            pattern[from..].chars().take(3).collect::<String>()
        );
    }
    format!("invalid regular expression: `{pattern}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_ascii() {
        assert!(!compile(r"^\d$").unwrap().is_match("٣"));
        assert!(compile(r"^[\d.-]+$").unwrap().is_match("1.2-3"));
        assert!(compile(r"^[^\s]+$").unwrap().is_match("a"));
        assert!(compile(r"^[a&&b[]+$").unwrap().is_match("a&b["));
        assert!(compile(r"^\Qa.b\E$").unwrap().is_match("a.b"));
        assert!(compile(r"^[[:alpha:]]+$").unwrap().is_match("ab"));
    }

    #[test]
    fn a_pattern_that_is_not_one_is_refused_in_words_of_go() {
        assert_eq!(
            compile("a{1001}").unwrap_err(),
            "error parsing regexp: invalid repeat count: `{1001}`"
        );
        assert_eq!(
            compile("a**").unwrap_err(),
            "error parsing regexp: invalid nested repetition operator: `**`"
        );
        for welcome in [
            "a{1000}[{]{2}",
            "a*?b+?c??d{2}?",
            "(?:a*)*",
            "[*+?]+",
            r"\*+",
            "(?i)a?",
        ] {
            assert!(compile(welcome).is_ok(), "{welcome}");
        }
        assert_eq!(
            compile("(").unwrap_err(),
            "error parsing regexp: missing closing ): `(`"
        );
    }
}
