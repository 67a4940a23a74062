//! What a caller may rely on, whatever keeps it: one function per promise.
//!
//! [`run`] holds a store to all of them, on its terms. A promise that is broken panics at the line
//! that found it.

pub mod script;
pub mod read;
pub mod commit;
pub mod changes;
pub mod compact;
pub mod lifetime;
pub mod model;

use std::{sync::Arc, time::Duration};

use crate::Store;

/// What differs between stores, and between times that pass and times that do not.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// If nothing comes for this long, nothing is coming.
    pub quiet: Duration,
    /// What is coming comes within this time.
    pub patience: Duration,
    /// How long values with a lifetime live.
    pub lifetime: Duration,
    /// How late a value may end.
    pub late_max: Duration,
    /// Writes that one commit may have.
    pub commit_operations_max: usize,
}

impl Terms {
    /// For a runtime of one thread whose time is paused, so that lifetimes pass at once.
    pub fn paused() -> Self {
        Self {
            quiet: Duration::from_secs(600),
            patience: Duration::from_secs(600),
            lifetime: Duration::from_secs(60),
            late_max: Duration::from_secs(5),
            commit_operations_max: 300,
        }
    }

    /// For a store that other processes keep, whose time passes as ours does.
    pub fn real_time() -> Self {
        Self {
            quiet: Duration::from_millis(300),
            patience: Duration::from_secs(20),
            lifetime: Duration::from_secs(1),
            late_max: Duration::from_secs(5),
            commit_operations_max: 100,
        }
    }
}

/// Holds the stores that `make` makes, each new and empty, to every promise.
pub async fn run<S: Store>(terms: Terms, make: impl AsyncFn() -> S) {
    let make = async || Arc::new(make().await);
    run_read(&make).await;
    run_commit(&make).await;
    run_changes(&terms, &make).await;
    run_compact(&make).await;
    run_lifetime(&terms, &make).await;
    for seed in 0..8 {
        model::a_random_history_equals_the_model(&*make().await, seed).await;
    }
}

async fn run_read<S: Store>(make: &impl AsyncFn() -> Arc<S>) {
    read::an_empty_store_holds_nothing(&*make().await).await;
    read::a_value_is_read_back_with_its_revision(&*make().await).await;
    read::a_range_gives_its_keys_in_byte_order(&*make().await).await;
    read::a_range_that_ends_before_it_begins_is_empty(&*make().await).await;
    read::a_limit_cuts_the_page_and_counts_the_rest(&*make().await).await;
    read::a_limit_of_zero_tells_the_revision(&*make().await).await;
    read::an_old_revision_is_read_as_it_was(&*make().await).await;
    read::pages_at_one_revision_make_one_list(&*make().await).await;
    read::a_future_revision_is_refused(&*make().await).await;
}

async fn run_commit<S: Store>(make: &impl AsyncFn() -> Arc<S>) {
    commit::every_commit_gets_the_next_revision(&*make().await).await;
    commit::absent_holds_only_of_a_key_without_a_value(&*make().await).await;
    commit::unchanged_holds_only_of_that_revision(&*make().await).await;
    commit::a_conflict_carries_the_current_entry(&*make().await).await;
    commit::all_writes_of_a_commit_share_its_revision(&*make().await).await;
    commit::one_failed_condition_stops_the_whole_commit(&*make().await).await;
    commit::a_requirement_that_holds_lets_the_commit_happen(&*make().await).await;
    commit::a_requirement_that_fails_stops_the_commit(&*make().await).await;
    commit::requirements_are_judged_first(&*make().await).await;
    commit::those_who_require_the_same_do_not_hinder_each_other(&make().await).await;
    commit::nothing_that_requires_a_key_follows_its_end(&make().await).await;
    commit::requirements_out_of_bounds_are_invalid(&*make().await).await;
    commit::an_empty_commit_is_invalid(&*make().await).await;
    commit::a_key_twice_is_invalid(&*make().await).await;
    commit::a_commit_that_is_too_large_is_invalid(&*make().await).await;
    commit::deleting_an_absent_key_writes_nothing(&*make().await).await;
    commit::a_deleted_key_can_be_created_again(&*make().await).await;
    commit::of_rivals_exactly_one_wins(&make().await).await;
    commit::concurrent_commits_each_get_their_own_revision(&make().await).await;
}

async fn run_changes<S: Store>(terms: &Terms, make: &impl AsyncFn() -> Arc<S>) {
    changes::every_change_comes_once_and_in_order(&*make().await).await;
    changes::a_cursor_resumes_from_any_revision(&*make().await).await;
    changes::a_commit_is_never_split(&*make().await, terms).await;
    changes::a_change_tells_what_it_replaced(&*make().await).await;
    changes::only_the_range_is_followed(&*make().await).await;
    changes::progress_is_told_of_changes_outside_the_range(&*make().await, terms).await;
    changes::nothing_comes_while_nothing_happens(&*make().await, terms).await;
    changes::a_waiting_cursor_is_woken(&make().await, terms).await;
    changes::a_cursor_in_the_future_begins_after_it(&*make().await, terms).await;
    changes::a_dropped_wait_loses_nothing(&*make().await).await;
    changes::many_followers_see_the_same_order(&make().await).await;
    changes::an_acknowledged_commit_is_seen_by_reads_and_cursors(&*make().await).await;
}

async fn run_compact<S: Store>(make: &impl AsyncFn() -> Arc<S>) {
    compact::states_before_the_floor_are_refused(&*make().await).await;
    compact::the_state_at_the_floor_stays(&*make().await).await;
    compact::changes_after_the_floor_stay(&*make().await).await;
    compact::a_cursor_behind_the_floor_is_told(&*make().await).await;
    compact::the_floor_never_goes_back(&*make().await).await;
    compact::the_future_compacts_up_to_the_newest(&*make().await).await;
    compact::deleted_keys_stay_deleted(&*make().await).await;
}

async fn run_lifetime<S: Store>(terms: &Terms, make: &impl AsyncFn() -> Arc<S>) {
    lifetime::a_value_ends_after_its_lifetime(&*make().await, terms).await;
    lifetime::an_end_is_an_ordinary_change(&*make().await, terms).await;
    lifetime::another_write_begins_a_new_lifetime(&*make().await, terms).await;
    lifetime::a_write_without_a_lifetime_stays(&*make().await, terms).await;
    lifetime::values_end_in_the_order_of_their_ends(&*make().await, terms).await;
    lifetime::a_requirement_ends_with_its_value(&*make().await, terms).await;
    lifetime::many_values_may_end_together(&*make().await, terms).await;
}
