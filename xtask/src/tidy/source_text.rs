//! Tells code, comments and literals of a Rust file apart, line by line.

/// One line of a source file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The line with comments and the insides of literals left out.
    pub(super) code: String,
    /// What its comments say.
    pub(super) comment: String,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

/// Splits a file into lines.
pub(super) fn lines(source: &str) -> Vec<Line> {
    let mut state = State::Code;
    let mut lines = Vec::new();
    for text in source.lines() {
        let (line, next) = scan(text, state);
        lines.push(line);
        state = match next {
            State::LineComment => State::Code,
            other => other,
        };
    }
    lines
}

fn scan(text: &str, mut state: State) -> (Line, State) {
    let mut line = Line::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (next, taken) = step(rest, first, state, &line.code);
        match (state, next) {
            (State::Code, State::Code) => line.code.push_str(&rest[..taken]),
            (State::LineComment | State::BlockComment { .. }, _) => {
                line.comment.push_str(&rest[..taken]);
            }
            (State::Code, State::Text | State::RawText { .. }) => line.code.push('"'),
            _ => {}
        }
        rest = &rest[taken..];
        state = next;
    }
    (line, state)
}

fn step(rest: &str, first: char, state: State, before: &str) -> (State, usize) {
    let one = first.len_utf8();
    match state {
        State::Code => begin(rest, first, before),
        State::LineComment => (state, one),
        State::BlockComment { depth } if rest.starts_with("*/") => match depth {
            1 => (State::Code, 2),
            _ => (State::BlockComment { depth: depth - 1 }, 2),
        },
        State::BlockComment { depth } if rest.starts_with("/*") => {
            (State::BlockComment { depth: depth + 1 }, 2)
        }
        State::BlockComment { .. } => (state, one),
        State::Text => match first {
            '\\' => (state, rest.chars().take(2).map(char::len_utf8).sum()),
            '"' => (State::Code, 1),
            _ => (state, one),
        },
        State::RawText { hashes } if rest.starts_with(&format!("\"{}", "#".repeat(hashes))) => {
            (State::Code, 1 + hashes)
        }
        State::RawText { .. } => (state, one),
    }
}

fn begin(rest: &str, first: char, before: &str) -> (State, usize) {
    if rest.starts_with("//") {
        return (State::LineComment, 2);
    }
    if rest.starts_with("/*") {
        return (State::BlockComment { depth: 1 }, 2);
    }
    if first == '"' {
        return (State::Text, 1);
    }
    let in_word = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
    let raw = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r');
    if let Some(after) = raw.filter(|_| !in_word) {
        let hashes = after.len() - after.trim_start_matches('#').len();
        if after[hashes..].starts_with('"') {
            let taken = rest.len() - after.len() + hashes + 1;
            return (State::RawText { hashes }, taken);
        }
    }
    // A quote begins a character when one closes it soon; otherwise it is a lifetime.
    if let Some(after) = rest.strip_prefix('\'') {
        let inside = after.strip_prefix('\\').unwrap_or(after);
        let mut characters = inside.char_indices().skip(1);
        if let Some((end, '\'')) = characters.next() {
            return (State::Code, rest.len() - inside.len() + end + 1);
        }
    }
    (State::Code, first.len_utf8())
}
