use listwatch_api::ResourceVersion;

use crate::checkers::tests::{assert_broken, assert_kept};
use crate::history::script::{Script, added, at, drained, initial_end, object, page, state};
use crate::history::{Bookmarks, Freshness, ListEnd, WatchStart, WriteRequest};
use crate::selection::{LabelCondition, Selection};

fn plain(name: &str, version: u64) -> crate::history::ObjectVersion {
    object(name, version, &[])
}

#[test]
fn a_list_of_the_whole_state_is_right() {
    let mut script = Script::two_objects();
    script.list(2, [plain("a/x", 1), plain("a/y", 2)]);
    assert_kept("listed", &script);
}

#[test]
fn a_list_of_an_older_state_is_right_when_that_was_asked_for() {
    let mut script = Script::two_objects();
    let exactly = Freshness::Exactly(ResourceVersion::new(1));
    script.list(1, [plain("a/x", 1)]).freshness = exactly;
    script.list(1, [plain("a/x", 1)]).freshness = Freshness::Any;
    assert_kept("listed", &script);
}

#[test]
fn an_object_left_out_is_seen() {
    let mut script = Script::two_objects();
    script.list(2, [plain("a/y", 2)]);
    assert_broken("listed", &script, "a/x @1 (write 1) in the state @2");
}

#[test]
fn an_object_that_should_be_gone_is_seen() {
    let mut script = Script::two_objects();
    script.list(1, [plain("a/x", 1), plain("a/y", 2)]).freshness = Freshness::Any;
    assert_broken("listed", &script, "no a/y in the state @1");
}

#[test]
fn an_old_state_of_an_object_is_seen() {
    let mut script = Script::two_objects();
    script.update("a/x", 1, 3);
    script.list(3, [plain("a/x", 1), plain("a/y", 2)]);
    assert_broken("listed", &script, "a/x @3 (write 3) in the state @3");
}

#[test]
fn wrong_content_under_the_right_version_is_seen() {
    let mut script = Script::two_objects();
    let painted = object("a/x", 1, &[("color", "red")]);
    script.list(2, [painted, plain("a/y", 2)]);
    assert_broken("listed", &script, "a/x @1 (write 1) in the state @2");
}

#[test]
fn an_object_that_was_not_selected_is_seen() {
    let mut script = Script::new();
    let red = LabelCondition::Equals("color".to_owned(), "red".to_owned());
    script.put(WriteRequest::Create, object("a/x", 1, &[("color", "blue")]));
    let list = script.list(1, [object("a/x", 1, &[("color", "blue")])]);
    list.selection = Selection::everything().label(red);
    assert_broken("listed", &script, "no a/x in the state @1");
}

#[test]
fn pages_of_two_versions_are_seen() {
    let mut script = Script::two_objects();
    let list = script.list(1, [plain("a/x", 1)]);
    list.freshness = Freshness::Any;
    list.pages.push(page(2, [plain("a/y", 2)]));
    assert_broken("listed", &script, "every page at @1");
}

#[test]
fn pages_of_one_version_with_true_remainders_are_right() {
    let mut script = Script::two_objects();
    let list = script.list(2, [plain("a/x", 1)]);
    list.pages[0].remaining = Some(1);
    list.pages.push(page(2, [plain("a/y", 2)]));
    assert_kept("listed", &script);
}

#[test]
fn a_wrong_remainder_is_seen() {
    let mut script = Script::two_objects();
    let list = script.list(2, [plain("a/x", 1)]);
    list.pages[0].remaining = Some(5);
    list.pages.push(page(2, [plain("a/y", 2)]));
    assert_broken("listed", &script, "1 items to remain after 1");
}

#[test]
fn a_first_page_that_skips_an_object_is_seen() {
    let mut script = Script::two_objects();
    script.list(2, [plain("a/y", 2)]).end = ListEnd::CutShort;
    assert_broken("listed", &script, "a/x @1 (write 1) in the state @2");
}

#[test]
fn items_out_of_order_are_seen() {
    let mut script = Script::two_objects();
    script.list(2, [plain("a/y", 2), plain("a/x", 1)]);
    assert_broken("listed", &script, "a key after a/y");
}

#[test]
fn a_state_other_than_the_one_asked_for_is_seen() {
    let mut script = Script::two_objects();
    let exactly = Freshness::Exactly(ResourceVersion::new(1));
    script.list(2, [plain("a/x", 1), plain("a/y", 2)]).freshness = exactly;
    assert_broken("listed", &script, "a state exactly @1");
    let mut script = Script::two_objects();
    let not_older = Freshness::NotOlderThan(ResourceVersion::new(2));
    script.list(1, [plain("a/x", 1)]).freshness = not_older;
    assert_broken("listed", &script, "a state not older than @2");
}

#[test]
fn a_refused_list_is_seen() {
    let mut script = Script::two_objects();
    let list = script.list(2, []);
    list.pages.clear();
    list.end = ListEnd::Refused("500".to_owned());
    assert_broken("listed", &script, "a list");
}

#[test]
fn the_state_that_a_watch_begins_with_is_held_to_the_same() {
    let mut script = Script::two_objects();
    script.watch(state(), [added("a/x", 1), initial_end(2)]);
    assert_broken("listed", &script, "a/y @2 (write 2) in the state @2");
}

#[test]
fn a_watch_that_begins_with_an_older_state_than_asked_for_is_seen() {
    let mut script = Script::two_objects();
    let start = WatchStart::State(Freshness::NotOlderThan(ResourceVersion::new(2)));
    script.watch(start, [added("a/x", 1), initial_end(1)]);
    assert_broken("listed", &script, "a state not older than @2");
}

#[test]
fn an_unmarked_state_that_never_was_is_seen() {
    let mut script = Script::two_objects();
    let watch = script.watch(state(), [added("a/y", 2)]);
    watch.bookmarks = Bookmarks::Unwanted;
    watch.ending = drained(2);
    assert_broken("listed", &script, "a state that there was at some version");
}

#[test]
fn an_unmarked_state_that_was_cut_is_a_part_of_one() {
    let mut script = Script::two_objects();
    let watch = script.watch(state(), [added("a/y", 2)]);
    watch.bookmarks = Bookmarks::Unwanted;
    assert_kept("listed", &script);
}

#[test]
fn a_state_with_a_renumbered_object_is_seen() {
    let mut script = Script::two_objects();
    script.list(2, [at(2, plain("a/x", 1)), plain("a/y", 2)]);
    assert_broken("listed", &script, "a/x @1 (write 1) in the state @2");
}
