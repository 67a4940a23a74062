use listwatch_api::{EventType, ResourceVersion};

use super::*;
use crate::history::script::{Script, added, after, at, bookmark, deleted, key, modified, object};
use crate::history::{Moment, WriteOutcome, WriteRequest};
use crate::selection::LabelCondition;

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::new(number)
}

#[test]
fn acknowledged_writes_are_the_model() {
    let mut script = Script::two_objects();
    script.update("a/x", 1, 3);
    let model = Model::of(&script.history);
    let everything = Selection::everything();
    let versions = |at| -> Vec<u64> {
        let list = model.list_at(&everything, version(at));
        list.iter().map(|object| object.version.get()).collect()
    };
    assert_eq!(versions(0), Vec::<u64>::new());
    assert_eq!(versions(2), [1, 2]);
    assert_eq!(versions(3), [3, 2]);
    assert_eq!(model.newest(), version(3));
}

#[test]
fn a_write_without_an_answer_happened_when_somebody_saw_it() {
    let mut script = Script::two_objects();
    script.failed("a/x", 3, WriteRequest::Patch, WriteOutcome::Unknown);
    script.failed("a/x", 4, WriteRequest::Patch, WriteOutcome::Unknown);
    script.watch(after(2), [modified("a/x", 3)]);
    let model = Model::of(&script.history);
    assert_eq!(model.newest(), version(3));
    assert!(model.versions_by_token().contains_key(&Token(3)));
}

#[test]
fn a_delete_has_the_version_that_the_witness_saw() {
    let mut script = Script::two_objects();
    script.delete("a/x");
    script.watch(after(2), [deleted("a/x", 1, 7)]);
    let model = Model::of(&script.history);
    assert_eq!(
        model.deletion_of(&key("a/x"), "uid of a/x"),
        Some(version(7))
    );
    assert!(model.state_at(&key("a/x"), version(6)).is_some());
    assert!(model.state_at(&key("a/x"), version(7)).is_none());
}

#[test]
fn leaving_a_selection_is_not_taken_for_a_deletion() {
    let mut script = Script::new();
    let labels = [("color", "red")];
    script.put(WriteRequest::Create, object("a/x", 1, &labels));
    script.put(WriteRequest::Patch, object("a/x", 2, &[]));
    let left = Frame::Deleted(at(2, object("a/x", 1, &labels)));
    let red = Selection::everything().label(LabelCondition::Exists("color".to_owned()));
    script.watch(after(1), [left]).selection = red.clone();
    let model = Model::of(&script.history);
    assert!(model.state_at(&key("a/x"), version(2)).is_some());
    assert!(model.reuses().is_empty());
    let change = model.change_at(version(2)).unwrap();
    let event = model.event(&red, change).unwrap();
    assert_eq!(
        (event.event_type, event.version),
        (EventType::Deleted, version(2))
    );
    assert_eq!(event.object.version, version(1));
}

#[test]
fn the_timeline_tells_what_had_been_shown_at_each_moment() {
    let mut script = Script::two_objects();
    script.watch(after(0), [added("a/x", 1), added("a/y", 2), bookmark(8)]);
    let model = Model::of(&script.history);
    let timeline = Timeline::of(&script.history, &model);
    assert_eq!(timeline.newest_before(Moment(2)), version(0));
    assert_eq!(timeline.newest_before(Moment(3)), version(1));
    assert_eq!(timeline.newest_before(Moment(8)), version(2));
    assert_eq!(timeline.newest_before(Moment(9)), version(8));
}
