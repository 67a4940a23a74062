//! Makes a module of the Rust blocks of each page, and a test of each of its steps.
//!
//! The blocks of a page are one program. A step is a function of it that takes a client, and the
//! test hands it one. Everything else on a page is there for a step, or is a test by itself.

use std::{env, error::Error, fmt::Write, fs, path::Path};

const PAGES: [(&str, &str); 5] = [
    ("readme", "README.md"),
    ("informers", "docs/informers.md"),
    ("from_client_go", "docs/from-client-go.md"),
    ("from_kube_rs", "docs/from-kube-rs.md"),
    ("testing", "docs/testing.md"),
];

/// What a step takes, and who runs it.
const STEPS: [(&str, &str); 2] = [
    ("(client: Client) -> anyhow::Result<()> {", "with_server"),
    ("(etcd: etcd::Client) -> anyhow::Result<()> {", "with_etcd"),
];

const FENCE: &str = "```";

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    let mut program = String::new();
    for (name, page) in PAGES {
        let path = root.join(page);
        println!("cargo::rerun-if-changed={}", path.display());
        let blocks = rust_blocks(&fs::read_to_string(path)?);
        let tests = tests(&blocks)?;
        writeln!(program, "#[cfg(test)]\nmod {name} {{\n{blocks}{tests}}}")?;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "a build script has no disk to lose"
    )]
    fs::write(Path::new(&env::var("OUT_DIR")?).join("pages.rs"), program)?;
    Ok(())
}

/// The lines of all blocks that say they are Rust.
fn rust_blocks(page: &str) -> String {
    let mut inside = false;
    let mut blocks = String::new();
    for line in page.lines() {
        match line.strip_prefix(FENCE) {
            Some(language) => inside = !inside && language == "rust",
            None if inside => blocks.extend([line, "\n"]),
            None => {}
        }
    }
    blocks
}

fn tests(blocks: &str) -> Result<String, std::fmt::Error> {
    let mut tests = String::new();
    for line in blocks.lines() {
        let Some(signature) = line.strip_prefix("async fn ") else {
            continue;
        };
        if signature.starts_with("main()") {
            writeln!(tests, "const _: fn() -> anyhow::Result<()> = main;")?;
        }
        for (arguments, runner) in STEPS {
            if let Some(step) = signature.strip_suffix(arguments) {
                writeln!(
                    tests,
                    "#[tokio::test]\nasync fn {step}_runs() -> anyhow::Result<()> {{"
                )?;
                writeln!(tests, "    crate::{runner}({step}).await\n}}")?;
            }
        }
    }
    Ok(tests)
}
