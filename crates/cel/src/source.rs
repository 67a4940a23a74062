//! Where in a text something was found, and how to show it: a message, the line, and a caret under
//! the character.

/// Longest line that a message repeats, in bytes.
const SNIPPET_BYTES_MAX: usize = 16_384;

/// Something wrong at one place of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Byte offset into the text, or nothing when no place is to blame.
    pub(crate) offset: Option<usize>,
    /// What is wrong, in one line.
    pub message: String,
}

impl Issue {
    pub(crate) fn at(offset: usize, message: impl Into<String>) -> Self {
        Self {
            offset: Some(offset),
            message: message.into(),
        }
    }

    pub(crate) fn nowhere(message: impl Into<String>) -> Self {
        Self {
            offset: None,
            message: message.into(),
        }
    }
}

/// Shows every issue, in the order of the text.
pub(crate) fn render(source: &str, issues: &[Issue]) -> String {
    let mut ordered: Vec<&Issue> = issues.iter().collect();
    ordered.sort_by_key(|issue| issue.offset.map_or(0, |offset| offset + 1));
    let shown: Vec<String> = ordered
        .into_iter()
        .map(|issue| render_one(source, issue))
        .collect();
    shown.join("\n")
}

fn render_one(source: &str, issue: &Issue) -> String {
    let Some(offset) = issue.offset else {
        return format!("ERROR: <input>:-1:0: {}", issue.message);
    };
    if source.is_empty() {
        return format!("ERROR: <input>:1:0: {}", issue.message);
    }
    let offset = offset.min(source.len());
    let before = &source[..offset];
    let line_number = before.matches('\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = source[line_start..].split('\n').next().unwrap_or("");
    let column = source[line_start..offset].chars().count();
    let heading = format!(
        "ERROR: <input>:{line_number}:{}: {}",
        column + 1,
        issue.message
    );
    if line.len() > SNIPPET_BYTES_MAX {
        return heading;
    }
    let line = line.replace('\t', " ");
    format!("{heading}\n | {line}\n | {}", pointer(&line, column))
}

/// Dots up to the column and a caret on it, as wide as the characters above them.
fn pointer(line: &str, column: usize) -> String {
    let mut characters = line.chars();
    let mut shown = String::new();
    for _ in 0..column {
        match characters.next() {
            Some(character) if !character.is_ascii() => shown.push('\u{ff0e}'),
            Some(_) => shown.push('.'),
            None => break,
        }
    }
    match characters.next() {
        Some(character) if !character.is_ascii() => shown.push('\u{ff3e}'),
        _ => shown.push('^'),
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_the_line_and_points_at_the_character() {
        let shown = render("a &&\n\tb", &[Issue::at(6, "wrong"), Issue::at(0, "first")]);
        assert_eq!(
            shown,
            "ERROR: <input>:1:1: first\n | a &&\n | ^\nERROR: <input>:2:2: wrong\n |  b\n | .^"
        );
    }

    #[test]
    fn wide_characters_get_wide_pointers() {
        assert_eq!(pointer("éa", 1), "\u{ff0e}^");
        assert_eq!(pointer("aé", 1), ".\u{ff3e}");
    }
}
