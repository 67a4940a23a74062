//! Programs on the pages for users, run as they stand.
//!
//! The blocks of one language on one page are one program: tests if they hold tests, else a
//! program that ends by itself. `listwatch` is on its path, and `LISTWATCH_SERVER` names a server.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::{program::ONLY_WHAT_CLIENTS_WRITE, server::Server};
use crate::{progress, workspace};

const FENCE: &str = "```";

/// A language of which pages have programs.
pub(super) struct Language {
    /// What its blocks are marked with, and the folder of its client.
    name: &'static str,
    /// Where a page's program goes, in a folder of its own.
    file: &'static str,
    /// How to run it, from the folder of the program and its text.
    command: fn(&Path, &str) -> Result<Command>,
}

pub(super) const GO: Language = Language {
    name: "go",
    file: "page_test.go",
    command: go,
};

pub(super) const PYTHON: Language = Language {
    name: "python",
    file: "test_page.py",
    command: python,
};

pub(super) const JAVASCRIPT: Language = Language {
    name: "javascript",
    file: "page.test.mjs",
    command: javascript,
};

/// Runs the programs of one language, and says on which pages they were.
pub(super) fn run(language: &Language) -> Result<()> {
    let mut pages = Vec::new();
    for page in workspace::documents()? {
        let text = fs::read_to_string(workspace::root().join(&page))?;
        let program = blocks(&text, language.name);
        if !program.is_empty() {
            run_page(language, &page, &program).with_context(|| page.clone())?;
            pages.push(page);
        }
    }
    ensure!(
        !pages.is_empty(),
        "no page has a program in {}",
        language.name
    );
    println!("   run as they stand: {}", pages.join(", "));
    Ok(())
}

fn run_page(language: &Language, page: &str, program: &str) -> Result<()> {
    let name = page.replace(['/', '.'], "-");
    let place = format!("pages/{}/{name}", language.name);
    let server = Server::start(&place, &[ONLY_WHAT_CLIENTS_WRITE])?;
    let folder = server.folder().join("program");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(language.file), program)?;
    let mut places = vec![workspace::target().join("debug")];
    places.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut command = (language.command)(&folder, program)?;
    command
        .env("PATH", env::join_paths(places)?)
        .env("LISTWATCH_SERVER", server.url());
    progress::command(&mut command).map(drop)
}

/// A module with the pinned packages of the client.
fn go(folder: &Path, program: &str) -> Result<Command> {
    for file in ["go.mod", "go.sum"] {
        fs::copy(client("go").join(file), folder.join(file))?;
    }
    let is_test = program.contains("\nfunc Test");
    if !is_test {
        fs::rename(folder.join(GO.file), folder.join("main.go"))?;
    }
    let mut command = Command::new("go");
    command.args([if is_test { "test" } else { "run" }, "."]);
    command.current_dir(folder);
    Ok(command)
}

fn python(folder: &Path, _program: &str) -> Result<Command> {
    let mut command = Command::new(workspace::tools().join("python/bin/python"));
    command.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    command.current_dir(folder);
    Ok(command)
}

/// Packages are looked for beside the file.
fn javascript(folder: &Path, _program: &str) -> Result<Command> {
    symlink(
        client("javascript").join("node_modules"),
        folder.join("node_modules"),
    )?;
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=dot", JAVASCRIPT.file]);
    command.current_dir(folder);
    Ok(command)
}

fn client(name: &str) -> PathBuf {
    workspace::root().join("conformance").join(name)
}

/// The lines of all blocks in a language.
fn blocks(page: &str, language: &str) -> String {
    let mut inside = false;
    let mut blocks = String::new();
    for line in page.lines() {
        match line.strip_prefix(FENCE) {
            Some(marked) => inside = !inside && marked == language,
            None if inside => blocks.extend([line, "\n"]),
            None => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_a_language_are_one_program() {
        let page = "text\n```go\na\n```\n```rust\nb\n```\n```go\nc\n```\n";
        assert_eq!(blocks(page, "go"), "a\nc\n");
        assert_eq!(blocks(page, "python"), "");
    }
}
