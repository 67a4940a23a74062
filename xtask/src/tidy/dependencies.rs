//! Which crate may depend on which.

use super::Violation;

/// One of our crates, by package name.
struct Rule {
    package: &'static str,
    /// The crates of ours that it may use.
    uses: &'static [&'static str],
    /// The crates of ours that its tests may use beside those.
    tests_use: &'static [&'static str],
}

const RULES: [Rule; 16] = [
    rule("listwatch-api", &[], &[]),
    rule("listwatch-store", &[], &[]),
    rule("listwatch-etcd", &[], &[]),
    rule(
        "listwatch-etcd-store",
        &["listwatch-store", "listwatch-etcd"],
        &[],
    ),
    rule("listwatch-cel", &[], &[]),
    rule("listwatch-tokens", &[], &[]),
    rule("listwatch-kinds", &["listwatch-api", "listwatch-cel"], &[]),
    rule(
        "listwatch-structural",
        &["listwatch-api", "listwatch-cel"],
        &[],
    ),
    rule(
        "listwatch-server",
        &[
            "listwatch-api",
            "listwatch-store",
            "listwatch-cel",
            "listwatch-kinds",
            "listwatch-structural",
            "listwatch-tokens",
        ],
        &["listwatch-etcd", "listwatch-etcd-store"],
    ),
    rule(
        "listwatch",
        &["listwatch-api", "listwatch-etcd"],
        &[
            "listwatch-server",
            "listwatch-store",
            "listwatch-in-process",
        ],
    ),
    rule(
        "listwatch-controllers",
        &["listwatch", "listwatch-in-process", "listwatch-server"],
        &["listwatch-store"],
    ),
    rule(
        "listwatch-cli",
        &[
            "listwatch-controllers",
            "listwatch-in-process",
            "listwatch-api",
            "listwatch-store",
            "listwatch-etcd",
            "listwatch-etcd-store",
            "listwatch-server",
            "listwatch",
        ],
        &["listwatch-sim"],
    ),
    rule(
        "listwatch-sim",
        &[
            "listwatch-api",
            "listwatch-store",
            "listwatch-etcd",
            "listwatch-server",
            "listwatch",
            "listwatch-in-process",
        ],
        &[],
    ),
    rule("listwatch-oracle", &["listwatch"], &[]),
    rule(
        "listwatch-in-process",
        &[
            "listwatch-api",
            "listwatch-store",
            "listwatch-server",
            "listwatch",
        ],
        &[],
    ),
    rule("xtask", &[], &[]),
];

const fn rule(
    package: &'static str,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
) -> Rule {
    Rule {
        package,
        uses,
        tests_use,
    }
}

pub(super) fn check(path: &str, manifest: &str) -> Vec<Violation> {
    let Some(name) = package_name(manifest) else {
        return Vec::new();
    };
    let Some(rule) = RULES.iter().find(|rule| rule.package == name) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    let mut section = "";
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            section = line;
        }
        let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
        let ours = key == "listwatch" || key.starts_with("listwatch-");
        let in_tests = section.contains("dev-dependencies") && rule.tests_use.contains(&key);
        let itself = key == name;
        let allowed = rule.uses.contains(&key) || in_tests || itself;
        if section.contains("dependencies") && ours && !allowed {
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
