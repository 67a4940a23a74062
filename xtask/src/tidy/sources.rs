//! Rules for Rust files: size, width, words.

use super::{Violation, source_text};

const FILE_LINES_MAX: usize = 700;
const LINE_COLUMNS_MAX: usize = 100;

/// Identifiers that stand for a whole word, and the word.
const WORDS: [(&str, &str); 7] = [
    (
        "rv",
        "`revision` for the number, `resource_version` for its text",
    ),
    ("obj", "`object`, or what it is"),
    ("ctx", "`context`, or what it holds"),
    ("mgr", "what it manages"),
    ("ev", "`event`"),
    ("lw", "`lister_watcher`"),
    ("wc", "`watch_cache`"),
];

/// Names of modules that own nothing.
const MODULES: [&str; 3] = ["utils", "helpers", "common"];

/// Code that may not land, and what to do instead.
const CODE: [(&str, &str); 4] = [
    ("todo!", "write it, or open an issue and return an error"),
    (
        "unimplemented!",
        "write it, or open an issue and return an error",
    ),
    (
        "#[ignore",
        "fix the test, or assert the wrong result with the issue's number",
    ),
    ("#[should_panic", "return the error and assert on it"),
];

pub(super) fn check(path: &str, source: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    violations.extend(length(path, source));
    violations.extend(module(path));
    for (index, text) in source.lines().enumerate() {
        let columns = text.chars().count();
        if columns > LINE_COLUMNS_MAX {
            let message = format!("{columns} columns, more than {LINE_COLUMNS_MAX}");
            violations.push(Violation::at(path, index + 1, message));
        }
    }
    for (index, line) in source_text::lines(source).iter().enumerate() {
        let found = words(&line.code).into_iter().chain(comment(&line.comment));
        violations.extend(found.map(|message| Violation::at(path, index + 1, message)));
    }
    violations
}

fn length(path: &str, source: &str) -> Option<Violation> {
    let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
    let lines: Vec<&str> = source.lines().collect();
    let tests = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests");
    let count = lines.windows(2).position(tests).unwrap_or(lines.len());
    (count > FILE_LINES_MAX && !is_test).then(|| {
        let message = format!("{count} lines without tests, more than {FILE_LINES_MAX}: split it");
        Violation::in_file(path, message)
    })
}

fn module(path: &str) -> Option<Violation> {
    let mut parts = path.split(['/', '.']);
    let name = parts.find(|part| MODULES.contains(part))?;
    Some(Violation::in_file(
        path,
        format!("`{name}`: name the module after what it owns"),
    ))
}

fn words(code: &str) -> Vec<String> {
    let identifiers = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let mut found: Vec<String> = Vec::new();
    for identifier in identifiers {
        if let Some((word, instead)) = WORDS.iter().find(|(word, _)| *word == identifier) {
            found.push(format!("`{word}`: say {instead}"));
        }
        if identifier.ends_with("_locked") {
            let advice = "let a guard's type say that the lock is held";
            found.push(format!("`{identifier}`: {advice}"));
        }
    }
    let calls = CODE.iter().filter(|(call, _)| code.contains(call));
    found.extend(calls.map(|(call, instead)| format!("`{call}`: {instead}")));
    found
}

fn comment(comment: &str) -> Option<String> {
    let numbered = |after: &str| {
        let after = after.trim_start_matches(['(', ' ']);
        after
            .strip_prefix('#')
            .is_some_and(|number| number.starts_with(|c: char| c.is_numeric()))
    };
    if comment.contains("FIXME") {
        return Some("`FIXME` cannot land: fix it or open an issue".to_owned());
    }
    if comment.contains("----") || comment.contains("====") {
        return Some("a comment banner: a module does that better".to_owned());
    }
    let (_, after) = comment.split_once("TODO")?;
    (!numbered(after)).then(|| "`TODO` needs its issue: `TODO(#12)`".to_owned())
}
