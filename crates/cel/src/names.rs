//! How names of JSON properties are written in expressions, and back.

/// Words of the language that no variable or field may be called.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const ESCAPES: [(&str, &str); 4] = [
    ("__", "__underscores__"),
    (".", "__dot__"),
    ("-", "__dash__"),
    ("/", "__slash__"),
];

/// Whether a word belongs to the language, so that fields of this name are written in another way
/// too.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// The name under which expressions find a property, if there is one.
pub fn escape(property: &str) -> Option<String> {
    let first = property.chars().next()?;
    if first.is_ascii_digit() {
        return None;
    }
    if is_reserved(property) {
        return Some(format!("__{property}__"));
    }
    let mut escaped = String::with_capacity(property.len());
    let mut rest = property;
    while let Some(character) = rest.chars().next() {
        if let Some((plain, replacement)) =
            ESCAPES.iter().find(|(plain, _)| rest.starts_with(plain))
        {
            escaped.push_str(replacement);
            rest = &rest[plain.len()..];
        } else if character.is_ascii_alphanumeric() || character == '_' {
            escaped.push(character);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(escaped)
}

/// The property that a name in an expression means, if the name is well formed.
pub fn unescape(name: &str) -> Option<String> {
    let mut property = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let Some(word) = escaped_word(rest) else {
            let character = rest.chars().next()?;
            property.push(character);
            rest = &rest[character.len_utf8()..];
            continue;
        };
        let whole = &rest[..word.len() + 4];
        match ESCAPES.iter().find(|(_, escaped)| *escaped == whole) {
            Some((plain, _)) => property.push_str(plain),
            None if is_reserved(word) && whole.len() == name.len() => property.push_str(word),
            None => return None,
        }
        rest = &rest[whole.len()..];
    }
    Some(property)
}

/// The word between two pairs of underscores, if the text begins with that.
fn escaped_word(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("__")?;
    let end = inner.find('_')?;
    (end > 0 && inner[end..].starts_with("__")).then(|| &inner[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_identifier_may_hold_is_escaped_and_found_again() {
        for (property, name) in [
            ("namespace", "__namespace__"),
            ("a.b/c-d", "a__dot__b__slash__c__dash__d"),
            ("a__b", "a__underscores__b"),
            ("plain_name", "plain_name"),
            ("___", "__underscores___"),
        ] {
            assert_eq!(escape(property).as_deref(), Some(name));
            assert_eq!(unescape(name).as_deref(), Some(property));
        }
    }

    #[test]
    fn what_cannot_be_written_has_no_name() {
        assert_eq!(escape("1a"), None);
        assert_eq!(escape(""), None);
        assert_eq!(escape("a b"), None);
        assert_eq!(unescape("__nonsense__"), None);
        assert_eq!(unescape("a__namespace__"), None);
    }
}
