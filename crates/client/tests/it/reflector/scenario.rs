//! Scenarios as text: what is done on the left, what is seen on the right.
//!
//! `UPDATE_EXPECT=1` writes down what was seen.

use std::path::Path;

use super::world::World;

/// Where the right column begins.
const COLUMN: usize = 32;

macro_rules! scenarios {
    ($($name:ident)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                check(concat!(stringify!($name), ".txt")).await;
            }
        )*

        #[test]
        fn every_file_is_a_scenario_that_runs() {
            let mut files = vec![$(concat!(stringify!($name), ".txt").to_owned()),*];
            files.sort();
            let directory = std::fs::read_dir(directory()).unwrap();
            let names = directory.map(|file| file.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.filter(|name| name.ends_with(".txt")).collect();
            names.sort();
            assert_eq!(files, names);
        }
    };
}

scenarios! {
    a_list_is_watched_from_its_version
}

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/reflector")
}

/// Runs the scenario in a file and compares what is seen with what it says.
async fn check(file: &str) {
    let path = directory().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let seen = run(&text).await;
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        update(&path, &seen);
        return;
    }
    assert_eq!(text, seen, "{}", path.display());
}

#[expect(
    clippy::disallowed_methods,
    reason = "a developer asked for the file to be rewritten"
)]
fn update(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

async fn run(text: &str) -> String {
    let mut world = World::new();
    let mut seen = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            seen.push(line.to_owned());
            continue;
        }
        let command = line.split("->").next().unwrap_or_default().trim();
        if command.is_empty() {
            continue;
        }
        let mut answers = world.obey(command).await.into_iter();
        seen.push(match answers.next() {
            None => command.to_owned(),
            Some(answer) => format!("{command:COLUMN$} -> {answer}"),
        });
        seen.extend(answers.map(|answer| format!("{:COLUMN$} -> {answer}", "")));
    }
    seen.join("\n") + "\n"
}
