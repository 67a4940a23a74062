//! Functions of text. Positions count characters.

use super::{Function, fail, format_text, unfit};
use crate::error::EvaluationError;
use crate::value::{List, Outcome, Value};

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "contains_string" => |arguments| tested(arguments, |text, part| text.contains(part)),
        "starts_with_string" => |arguments| tested(arguments, |text, part| text.starts_with(part)),
        "ends_with_string" => |arguments| tested(arguments, |text, part| text.ends_with(part)),
        "string_char_at_int" => char_at,
        "string_index_of_string" | "string_index_of_string_int" => index_of,
        "string_last_index_of_string" | "string_last_index_of_string_int" => last_index_of,
        "string_lower_ascii" => |arguments| mapped(arguments, |text| text.to_ascii_lowercase()),
        "string_upper_ascii" => |arguments| mapped(arguments, |text| text.to_ascii_uppercase()),
        "string_trim" => {
            |arguments| mapped(arguments, |text| text.trim_matches(is_space).to_owned())
        }
        "strings_quote" => |arguments| mapped(arguments, quote),
        "string_jsonpatch_escapeKey_string" => {
            |arguments| mapped(arguments, |text| text.replace('~', "~0").replace('/', "~1"))
        }
        "string_replace_string_string" | "string_replace_string_string_int" => replace,
        "string_split_string" | "string_split_string_int" => split,
        "string_substring_int" | "string_substring_int_int" => substring,
        "string_format" => format_text::format,
        "list_join" | "list_join_string" => join,
        _ => return None,
    })
}

fn tested<'a>(arguments: &[Value<'a>], test: fn(&str, &str) -> bool) -> Outcome<'a> {
    match arguments {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(test(text, part))),
        _ => unfit(),
    }
}

fn mapped<'a>(arguments: &[Value<'a>], map: fn(&str) -> String) -> Outcome<'a> {
    match arguments {
        [Value::String(text)] => Ok(Value::from(map(text))),
        _ => unfit(),
    }
}

/// White space as Go has it.
fn is_space(character: char) -> bool {
    character.is_whitespace()
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn out_of_range<T>(index: i64) -> Result<T, EvaluationError> {
    fail(format!("index out of range: {index}"))
}

fn char_at<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::Int(index)] = arguments else {
        return unfit();
    };
    let length = text.chars().count() as i64;
    if *index < 0 || *index > length {
        return out_of_range(*index);
    }
    let character = text.chars().nth(*index as usize);
    Ok(Value::from(character.map(String::from).unwrap_or_default()))
}

fn index_of<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, part, offset) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, *offset),
        _ => return unfit(),
    };
    if offset < 0 {
        return out_of_range(offset);
    }
    let characters: Vec<char> = text.chars().collect();
    if part.is_empty() {
        return Ok(Value::Int(offset.min(characters.len() as i64)));
    }
    let sought: Vec<char> = part.chars().collect();
    let start = usize::try_from(offset)
        .unwrap_or(usize::MAX)
        .min(characters.len());
    let found = characters[start..]
        .windows(sought.len())
        .position(|window| window == sought);
    Ok(Value::Int(found.map_or(-1, |index| (index + start) as i64)))
}

fn last_index_of<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, part, offset) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(offset)] => {
            (text, part, Some(*offset))
        }
        _ => return unfit(),
    };
    if let Some(offset) = offset.filter(|offset| *offset < 0) {
        return out_of_range(offset);
    }
    let characters: Vec<char> = text.chars().collect();
    let length = characters.len() as i64;
    if part.is_empty() {
        return Ok(Value::Int(offset.unwrap_or(length).min(length)));
    }
    let sought: Vec<char> = part.chars().collect();
    if offset.is_some_and(|offset| offset >= length) || sought.len() > characters.len() {
        return Ok(Value::Int(-1));
    }
    let last = offset.unwrap_or(length).min(length - sought.len() as i64) as usize;
    let found = (0..=last)
        .rev()
        .find(|index| characters[*index..].starts_with(&sought));
    Ok(Value::Int(found.map_or(-1, |index| index as i64)))
}

fn replace<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, old, new, count) = match arguments {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(count),
        ] => (text, old, new, *count),
        _ => return unfit(),
    };
    Ok(Value::from(match usize::try_from(count) {
        Ok(count) => text.replacen(&**old, new, count),
        Err(_) => text.replace(&**old, new),
    }))
}

fn split<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, separator, count) = match arguments {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [
            Value::String(text),
            Value::String(separator),
            Value::Int(count),
        ] => (text, separator, *count),
        _ => return unfit(),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Value::list(Vec::new()));
    }
    if separator.is_empty() {
        return Ok(Value::list(characters(text, limit)));
    }
    Ok(Value::list(
        text.splitn(limit, &**separator)
            .map(|part| Value::from(part.to_owned()))
            .collect(),
    ))
}

/// Each character by itself, the last piece holding what is beyond the limit.
fn characters<'a>(text: &str, limit: usize) -> Vec<Value<'a>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if pieces.len() + 1 == limit {
            pieces.push(Value::from(rest.to_owned()));
            break;
        }
        pieces.push(Value::from(character.to_string()));
        rest = &rest[character.len_utf8()..];
    }
    pieces
}

fn substring<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (text, start, end) = match arguments {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return unfit(),
    };
    let length = text.chars().count() as i64;
    if let Some(end) = end.filter(|end| start > *end) {
        return fail(format!(
            "invalid substring range. start: {start}, end: {end}"
        ));
    }
    let end = end.unwrap_or(length);
    for index in [start, end] {
        if index < 0 || index > length {
            return out_of_range(index);
        }
    }
    let kept: String = text
        .chars()
        .skip(start as usize)
        .take((end - start) as usize)
        .collect();
    Ok(Value::from(kept))
}

fn join<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::List(list)] => joined(list, ""),
        [Value::List(list), Value::String(separator)] => joined(list, separator),
        _ => unfit(),
    }
}

fn joined<'a>(list: &List<'a>, separator: &str) -> Outcome<'a> {
    let mut joined = String::new();
    for (index, part) in list.iter().enumerate() {
        let part = part?;
        let Value::String(text) = &part else {
            return fail(format!(
                "join: invalid input: {}",
                format_text::plain(&part)
            ));
        };
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text);
    }
    Ok(Value::from(joined))
}
