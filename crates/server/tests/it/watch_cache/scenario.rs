//! Scenarios as text: what is done on the left, what is seen on the right.
//!
//! `UPDATE_EXPECT=1` writes down what was seen.

use std::{fmt::Write, path::Path};

use super::world::World;

/// Where the right column begins.
const COLUMN: usize = 48;

macro_rules! scenarios {
    ($($name:ident)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                check(concat!(stringify!($name), ".txt")).await;
            }
        )*
    };
}

scenarios! {
    a_watcher_that_falls_behind_is_caught_up_from_history
    a_watcher_behind_everything_is_told_that_it_expired
    an_object_that_leaves_a_selector_is_deleted_for_its_watchers
    a_position_is_always_a_place_to_resume_from
    a_watch_resumes_from_the_store_when_memory_has_moved_on
    a_watch_resumes_after_a_restart
    a_watch_from_the_future_waits_for_it
    a_watcher_that_is_not_read_keeps_nothing
    old_events_leave_by_number_bytes_and_age
    a_cache_that_missed_changes_goes_on_with_the_difference
    who_follows_through_what_was_missed_goes_on
    a_cache_goes_on_when_the_store_fails_for_a_while
    a_read_waits_for_its_revision_or_refuses
    kinds_come_and_go
    a_commit_is_delivered_whole
}

/// Runs the scenario in a file and compares what is seen with what it says.
async fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/scenarios")
        .join(file);
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
    let mut world = World::new().await;
    let mut seen = String::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(seen, "{line}").unwrap();
            continue;
        }
        let command = line.split("->").next().unwrap_or_default().trim();
        let answer = world.obey(command).await;
        let line = match answer.is_empty() {
            true => command.to_owned(),
            false => format!("{command:COLUMN$} -> {answer}"),
        };
        writeln!(seen, "{line}").unwrap();
    }
    seen
}
