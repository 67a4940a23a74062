//! Paths that documents name must exist.

use super::Violation;

const ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".txt", ".console", ".http"];

pub(super) fn check(path: &str, text: &str, files: &[String]) -> Vec<Violation> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut violations = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        let links = links(line).filter(|target| !exists(&join(folder, target), files));
        let quoted = quoted(line).filter(|name| !exists(name, files));
        violations.extend(
            links.chain(quoted).map(|missing| {
                Violation::at(path, index + 1, format!("`{missing}` does not exist"))
            }),
        );
    }
    violations
}

fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains(':') && !target.starts_with('#'))
        .filter_map(|target| target.split('#').next())
}

/// Words in backticks that look like a path of this repository.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let plain = |word: &&str| {
        word.chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter))
    };
    let looks_like_a_path = |word: &&str| {
        let ends = ENDINGS
            .iter()
            .any(|ending| word.ends_with(ending) && word != ending);
        ends || word.starts_with("crates/") || word.starts_with("conformance/")
    };
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter(plain)
        .filter(looks_like_a_path)
}

fn join(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
    {
        match part {
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// A file or folder, named from the root or by its last parts.
fn exists(name: &str, files: &[String]) -> bool {
    let name = name.trim_matches('/');
    let inside = format!("{name}/");
    files.iter().any(|file| {
        let tail = file
            .strip_suffix(name)
            .is_some_and(|head| head.is_empty() || head.ends_with('/'));
        tail || file.starts_with(&inside) || file.contains(&format!("/{inside}"))
    })
}
