//! Which crate may depend on which.

use super::Violation;

/// Our crates by package name, and the ones of ours that each may use.
const ALLOWED: [(&str, &[&str]); 7] = [
    ("listwatch-api", &[]),
    ("listwatch-store", &[]),
    ("listwatch-server", &["listwatch-api", "listwatch-store"]),
    ("listwatch", &["listwatch-api"]),
    (
        "listwatch-cli",
        &[
            "listwatch-api",
            "listwatch-store",
            "listwatch-server",
            "listwatch",
            "listwatch-sim", // for its tests: the command is killed for real
        ],
    ),
    (
        "listwatch-sim",
        &[
            "listwatch-api",
            "listwatch-store",
            "listwatch-server",
            "listwatch",
        ],
    ),
    ("xtask", &[]),
];

pub(super) fn check(path: &str, manifest: &str) -> Vec<Violation> {
    let Some(name) = package_name(manifest) else {
        return Vec::new();
    };
    let Some((_, allowed)) = ALLOWED.iter().find(|(package, _)| *package == name) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    let mut in_dependencies = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            in_dependencies = line.contains("dependencies");
        }
        let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
        let ours = key == "listwatch" || key.starts_with("listwatch-");
        if in_dependencies && ours && !allowed.contains(&key) {
            let message = format!("`{name}` must not depend on `{key}`");
            violations.push(Violation::at(path, index + 1, message));
        }
    }
    violations
}

fn package_name(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find(|line| line.starts_with("name ="))?;
    line.split('"').nth(1)
}
