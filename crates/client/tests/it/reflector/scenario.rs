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
    a_reflector_that_is_stopped_before_it_begins_asks_nothing
    a_reflector_that_is_stopped_closes_its_watch
    a_closed_queue_ends_the_reflector
    a_watch_that_ends_in_good_order_is_resumed_at_once
    a_very_short_watch_counts_as_failed
    a_broken_connection_is_resumed_without_a_list
    a_busy_or_unreachable_source_is_asked_again_without_a_list
    any_other_error_of_a_watch_leads_to_a_list
    internal_errors_are_borne_for_as_long_as_chosen
    an_expired_watch_leads_to_a_list_that_is_not_older
    a_list_whose_version_expired_asks_for_the_most_recent
    a_list_whose_version_is_too_large_asks_for_the_most_recent
    a_restored_source_is_listed_anew
    a_list_that_fails_is_repeated_with_growing_pauses
    chance_makes_pauses_up_to_twice_as_long
    the_pauses_can_be_chosen
    a_list_from_a_cache_is_asked_for_as_a_whole
    a_source_without_a_cache_is_asked_for_pages_from_then_on
    a_chosen_page_size_is_always_asked_for
    a_page_that_expired_is_answered_by_one_whole_list
    a_source_that_insists_on_pages_is_read_to_the_end
    a_list_without_a_version_is_repeated
    an_object_that_cannot_be_decoded_is_set_aside
    what_cannot_be_understood_is_skipped
    unchanged_objects_are_not_decoded_again
    streamed_objects_are_decoded_once
    bookmarks_move_the_version_on
    a_lost_event_is_found_by_the_next_list
    a_full_queue_stops_the_reading
    a_silent_watch_is_replaced
    a_deadline_for_silence_can_be_chosen
    a_watch_that_outlives_its_time_is_replaced
    a_state_is_streamed_and_the_same_watch_goes_on
    only_the_end_of_the_state_completes_it
    a_state_that_changes_while_it_is_streamed_is_told_once
    a_refused_stream_falls_back_to_a_list
    any_other_error_of_a_stream_falls_back_to_a_list_once
    a_source_without_streams_is_listed
    a_stream_that_is_cut_begins_anew
    a_very_short_stream_falls_back_to_a_list
    a_busy_source_is_asked_for_the_stream_again
    a_stream_of_an_unavailable_version_asks_for_the_most_recent
    an_expired_watch_leads_to_another_stream
    a_streamed_state_can_be_compared_with_a_list
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
