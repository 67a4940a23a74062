use crate::checkers::tests::{assert_broken, assert_kept};
use crate::history::script::{Script, added, after, deleted, modified, object};
use crate::history::{Moment, Refusal, WriteOutcome, WriteRequest};
use listwatch_api::ResourceVersion;

const NAME: &str = "linearizable";
const UNKNOWN: WriteOutcome = WriteOutcome::Unknown;

fn update(against: u64) -> WriteRequest {
    WriteRequest::Update {
        against: ResourceVersion::new(against),
    }
}

fn delete() -> WriteRequest {
    WriteRequest::Delete { against: None }
}

#[test]
fn one_thing_after_the_other_is_linearizable() {
    let mut script = Script::new();
    script.read("a/x", None);
    script.create("a/x", 1);
    script.read("a/x", Some(object("a/x", 1, &[])));
    script.update("a/x", 1, 2);
    let lost = WriteOutcome::Refused(Refusal::Conflict);
    script.failed("a/x", 9, update(1), lost);
    script.list(2, [object("a/x", 2, &[])]);
    script.delete("a/x");
    script.read("a/x", None);
    script.watch(
        after(0),
        [added("a/x", 1), modified("a/x", 2), deleted("a/x", 2, 3)],
    );
    assert_kept(NAME, &script);
}

#[test]
fn a_read_beside_a_write_may_see_either_state() {
    let mut script = Script::two_objects();
    script.update("a/x", 1, 3).began = Moment(4);
    for seen in [1, 3] {
        let read = script.read("a/x", Some(object("a/x", seen, &[])));
        (read.began, read.ended) = (Moment(5), Moment(6));
    }
    script.watch(
        after(0),
        [added("a/x", 1), added("a/y", 2), modified("a/x", 3)],
    );
    assert_kept(NAME, &script);
}

#[test]
fn of_two_reads_one_after_the_other_the_second_is_not_older() {
    let mut script = Script::two_objects();
    let write = script.update("a/x", 1, 3);
    (write.began, write.ended) = (Moment(4), Moment(20));
    for (seen, moment) in [(3, 5), (1, 7)] {
        let read = script.read("a/x", Some(object("a/x", seen, &[])));
        (read.began, read.ended) = (Moment(moment), Moment(moment + 1));
    }
    assert_broken(NAME, &script, "a point not before @3, since read 0");
}

#[test]
fn a_consistent_read_of_what_was_overwritten_is_stale() {
    let mut script = Script::two_objects();
    script.update("a/x", 1, 3);
    script.read("a/x", Some(object("a/x", 1, &[])));
    assert_broken(NAME, &script, "a point not before @3, since write 2");
}

#[test]
fn a_consistent_list_of_what_was_overwritten_is_stale() {
    let mut script = Script::two_objects();
    script.update("a/x", 1, 3);
    script.list(2, [object("a/x", 1, &[]), object("a/y", 2, &[])]);
    assert_broken(NAME, &script, "a point not before @3, since write 2");
}

#[test]
fn a_list_without_an_object_that_was_acknowledged_is_stale() {
    let mut script = Script::two_objects();
    script.list(1, [object("a/x", 1, &[])]);
    assert_broken(NAME, &script, "a point not before @2, since write 1");
}

#[test]
fn an_acknowledged_update_that_a_later_one_does_not_find_is_lost() {
    let mut script = Script::two_objects();
    script.update("a/x", 1, 3);
    script.update("a/x", 1, 4);
    assert_broken(NAME, &script, "to find the object as it asked for");
}

#[test]
fn an_acknowledged_create_that_a_later_one_does_not_find_is_lost() {
    let mut script = Script::two_objects();
    script.create("a/x", 3);
    assert_broken(NAME, &script, "to find the object as it asked for");
}

#[test]
fn a_deleted_object_that_is_read_again_is_resurrected() {
    let mut script = Script::two_objects();
    script.delete("a/x");
    script.read("a/x", Some(object("a/x", 1, &[])));
    script.watch(
        after(0),
        [added("a/x", 1), added("a/y", 2), deleted("a/x", 1, 3)],
    );
    assert_broken(NAME, &script, "a point not before @3, since write 2");
}

#[test]
fn a_second_winner_without_an_answer_is_seen_too() {
    let mut script = Script::two_objects();
    script.update("a/x", 1, 3);
    script.failed("a/x", 4, update(1), UNKNOWN);
    script.watch(after(2), [modified("a/x", 3), modified("a/x", 4)]);
    assert_broken(NAME, &script, "to find the object as it asked for");
}

#[test]
fn a_write_without_an_answer_may_happen_late_or_never() {
    let mut script = Script::two_objects();
    script.failed("a/x", 5, WriteRequest::Patch, UNKNOWN);
    script.failed("a/x", 6, WriteRequest::Patch, UNKNOWN);
    script.update("a/x", 1, 3);
    script.read("a/x", Some(object("a/x", 3, &[])));
    script.watch(after(2), [modified("a/x", 3), modified("a/x", 5)]);
    assert_kept(NAME, &script);
}

#[test]
fn a_write_without_an_answer_does_not_happen_before_it_was_sent() {
    let mut script = Script::two_objects();
    script.update("a/y", 2, 4);
    script.read("a/y", Some(object("a/y", 4, &[])));
    script.failed("a/y", 3, WriteRequest::Patch, UNKNOWN);
    script.watch(after(2), [modified("a/y", 3), modified("a/y", 4)]);
    assert_broken(NAME, &script, "a point not before @4");
}

#[test]
fn the_content_of_a_refused_write_must_not_be_read() {
    let mut script = Script::two_objects();
    let refused = WriteOutcome::Refused(Refusal::Busy);
    script.failed("a/x", 3, WriteRequest::Patch, refused);
    script.read("a/x", Some(object("a/x", 3, &[])));
    assert_broken(NAME, &script, "for it was refused");
}

#[test]
fn content_that_nobody_wrote_must_not_be_read() {
    let mut script = Script::two_objects();
    script.read("a/x", Some(object("a/x", 3, &[])));
    assert_broken(NAME, &script, "a write that was sent");
}

#[test]
fn a_later_write_must_not_have_an_earlier_version() {
    let mut script = Script::two_objects();
    script.put(WriteRequest::Patch, object("a/x", 4, &[]));
    script.put(WriteRequest::Patch, object("a/x", 3, &[]));
    assert_broken(NAME, &script, "a point not before @4, since write 2");
}

#[test]
fn a_deletion_needs_a_delete() {
    let mut script = Script::two_objects();
    let frames = [deleted("a/x", 1, 3)];
    script.watch(after(2), frames.clone());
    assert_broken(NAME, &script, "a delete that was sent, and not refused");
    let mut script = Script::two_objects();
    script.failed("a/x", 9, delete(), UNKNOWN);
    script.watch(after(2), frames);
    assert_kept(NAME, &script);
}

#[test]
fn one_delete_without_an_answer_explains_one_deletion() {
    let mut script = Script::two_objects();
    script.failed("a/x", 9, delete(), UNKNOWN);
    script.create("a/x", 4);
    let frames = [deleted("a/x", 1, 3), added("a/x", 4), deleted("a/x", 4, 5)];
    script.watch(after(2), frames);
    assert_broken(NAME, &script, "a delete that was sent, and not refused");
}

#[test]
fn a_refusal_must_be_true_at_some_moment_of_its_request() {
    for (request, refusal) in [
        (WriteRequest::Patch, Refusal::NotFound),
        (update(1), Refusal::Conflict),
    ] {
        let mut script = Script::two_objects();
        script.failed("a/x", 9, request, WriteOutcome::Refused(refusal));
        assert_broken(NAME, &script, "a point not before @1, since write 0");
    }
    let mut script = Script::two_objects();
    let exists = WriteOutcome::Refused(Refusal::AlreadyExists);
    script.failed("a/z", 9, WriteRequest::Create, exists);
    assert_broken(NAME, &script, "a state that there was");
}
