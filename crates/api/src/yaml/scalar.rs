//! How a text is written in YAML: plain when it can be, quoted when it must be.

/// The way in which a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// Line by line, behind a `|`.
    Literal,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    Value,
}

/// The style in which `text` is written.
pub(super) fn style(text: &str, place: Place) -> Style {
    // Nothing but escapes keeps these, and a space before a line break, as they are.
    if text.contains(" \n") || text.chars().any(|character| !is_printable(character)) {
        return Style::DoubleQuoted;
    }
    if text.contains('\n') {
        let is_literal = place == Place::Value && !text.ends_with(' ');
        return if is_literal {
            Style::Literal
        } else {
            Style::DoubleQuoted
        };
    }
    if means_something_else(text) {
        return Style::DoubleQuoted;
    }
    if text.starts_with(' ') || text.ends_with(' ') || has_indicator(text) {
        return Style::SingleQuoted;
    }
    Style::Plain
}

/// Whether the character can stand in a quoted text as it is.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
            | '\u{ff00}'..='\u{fffd}')
}

/// Whether a part of the text would be taken for YAML's own signs.
fn has_indicator(text: &str) -> bool {
    let is_blank = |character: Option<char>| matches!(character, None | Some(' ' | '\t' | '\n'));
    let mut characters = text.chars();
    let first = characters.next();
    let begins_badly = match first {
        Some(
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
            | '@' | '`',
        ) => true,
        Some('?' | ':' | '-') => is_blank(characters.next()),
        _ => false,
    };
    begins_badly
        || text.starts_with("---")
        || text.starts_with("...")
        || text.contains(": ")
        || text.contains(":\t")
        || text.ends_with(':')
        || text.contains(" #")
        || text.contains("\t#")
}

/// Whether the text, written plainly, would be read as something other than a text.
fn means_something_else(text: &str) -> bool {
    is_word(text) || is_number(text) || is_base_60(text) || is_timestamp(text)
}

fn is_word(text: &str) -> bool {
    let is_any_case = |word: &str| {
        let capital = || word[..1].to_ascii_uppercase() + &word[1..];
        text == word || text == word.to_ascii_uppercase() || text == capital()
    };
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let floats = [".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF"];
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(text, "" | "~" | "<<")
        || words.into_iter().any(is_any_case)
        || floats.contains(&text)
        || floats[3..].contains(&unsigned)
}

fn is_number(text: &str) -> bool {
    if text.starts_with('_') {
        return false;
    }
    let text = text.replace('_', "");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let has_digits = |digits: &str, radix| {
        !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
    };
    let prefixes = [
        ("0b", 2),
        ("0B", 2),
        ("0x", 16),
        ("0X", 16),
        ("0o", 8),
        ("0O", 8),
    ];
    has_digits(unsigned, 10)
        || prefixes.into_iter().any(|(prefix, radix)| {
            unsigned
                .strip_prefix(prefix)
                .is_some_and(|digits| has_digits(digits, radix))
        })
        || is_decimal(unsigned)
}

/// `1.5`, `.5`, `1.`, `1e3`: digits with a point or an exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_mantissa =
        all_digits(whole) && all_digits(fraction) && whole.len() + fraction.len() > 0;
    let has_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    has_mantissa && has_exponent
}

/// `1:30`, which was once a number to the base of 60.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (text, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    let mut rest = parts.peekable();
    first.starts_with(|digit: char| digit.is_ascii_digit())
        && first
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
        && fraction
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
        && rest.peek().is_some()
        && rest.all(|part| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
}

/// A date, or a date and a time.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits != 4 || bytes.get(4) != Some(&b'-') {
        return false;
    }
    let date_end = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let (date, time) = text.split_at(date_end);
    let is_part = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = date.split('-').collect();
    let is_date = matches!(parts.as_slice(), [year, month, day]
        if is_part(year, 4..=4) && is_part(month, 1..=2) && is_part(day, 1..=2));
    let time_signs = |byte: u8| byte.is_ascii_digit() || b"TtZz:.+- ".contains(&byte);
    is_date && (time.is_empty() || (time.contains(':') && time.bytes().all(time_signs)))
}
