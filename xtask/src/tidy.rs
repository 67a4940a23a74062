//! The rules of CONTRIBUTING.md that neither the compiler nor clippy knows.

mod dependencies;
mod documents;
mod source_text;
mod sources;

use std::{fmt, fs, path::Path};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A file larger than this belongs into a release or a generator, not into the history.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Something to put right.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Violation {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::in_file(path, message)
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.path, self.message),
            None => write!(formatter, "{}: {}", self.path, self.message),
        }
    }
}

/// Checks every file that git knows or would add.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let files = workspace::files()?;
    let places = machine_places(&root);
    let mut violations = Vec::new();
    for path in &files {
        let file = root.join(path);
        let bytes = fs::metadata(&file)
            .with_context(|| format!("cannot look at {path}"))?
            .len();
        violations.extend(size(path, bytes));
        if let Ok(text) = fs::read_to_string(&file) {
            violations.extend(check(path, &text, &files));
            violations.extend(machine_paths(path, &text, &places));
        }
    }
    for violation in &violations {
        eprintln!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        count => bail!("{count} untidy places, listed above"),
    }
}

fn check(path: &str, text: &str, files: &[String]) -> Vec<Violation> {
    match Path::new(path).extension().and_then(|name| name.to_str()) {
        Some("rs") => sources::check(path, text),
        Some("toml") if path.ends_with("/Cargo.toml") => dependencies::check(path, text),
        Some("md") => documents::check(path, text, files),
        Some("json") if path.ends_with("package-lock.json") => lock_file(path, text),
        _ => Vec::new(),
    }
}

/// Packages come from wherever a developer gets them; their hashes say that they are right.
fn lock_file(path: &str, text: &str) -> Vec<Violation> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| line.contains("\"resolved\":"))
        .map(|(index, _)| {
            let message = "an address: install with --omit-lockfile-registry-resolved";
            Violation::at(path, index + 1, message)
        })
        .collect()
}

fn size(path: &str, bytes: u64) -> Option<Violation> {
    (bytes > FILE_BYTES_MAX).then(|| {
        let message = format!("{bytes} bytes, more than {FILE_BYTES_MAX}: generate or shrink it");
        Violation::in_file(path, message)
    })
}

/// Where this checkout and this developer's files lie: true of one machine only.
fn machine_places(root: &Path) -> Vec<String> {
    let home = std::env::var("HOME").ok();
    let checkout = [Some(root), root.parent()].into_iter().flatten();
    checkout
        .map(|path| path.display().to_string())
        .chain(home)
        .map(|path| format!("{}/", path.trim_end_matches('/')))
        .chain(["home", "Users"].map(|folder| format!("/{folder}/")))
        .filter(|path| path.len() > 1)
        .collect()
}

fn machine_paths(path: &str, text: &str, places: &[String]) -> Vec<Violation> {
    let starts_here = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"/._-*}$".contains(before))
    };
    let names = |line: &str, place: &str| {
        line.match_indices(place)
            .any(|(at, _)| starts_here(line, at))
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| places.iter().any(|place| names(line, place)))
        .map(|(index, _)| Violation::at(path, index + 1, "a path of one machine: make it relative"))
        .collect()
}

#[cfg(test)]
mod tests;
