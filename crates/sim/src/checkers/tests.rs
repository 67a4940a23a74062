use super::*;
use crate::history::script::{Script, added, after};

/// The history is flawless, for this promise and for all others.
pub(super) fn assert_kept(name: &str, script: &Script) {
    let verdict = check(&script.history);
    assert!(CHECKERS.iter().any(|checker| checker.name == name));
    assert!(verdict.holds(), "{verdict}");
}

/// The history breaks this promise, and the checker says what it expected.
pub(super) fn assert_broken(name: &str, script: &Script, expected: &str) {
    let verdict = check(&script.history);
    let broken = verdict.broken.iter().find(|broken| broken.name == name);
    let broken = broken.unwrap_or_else(|| panic!("{name} was kept: {verdict}"));
    let mut violations = broken.violations.iter();
    assert!(
        violations.any(|violation| violation.expected.contains(expected)),
        "{name} was broken otherwise than expected: {verdict}"
    );
}

#[test]
fn an_empty_history_keeps_every_promise() {
    assert!(check(&History::default()).holds());
}

#[test]
fn a_verdict_names_the_promise_the_place_and_both_sides() {
    let violation = Violation::new("watch 3", "ADDED a/x @1", "nothing");
    let verdict = Verdict {
        broken: vec![Broken {
            name: "complete",
            promise: "No gap.",
            violations: vec![violation; 12],
        }],
    };
    let text = verdict.to_string();
    assert!(text.starts_with("complete is broken 12 times: No gap.\n"));
    assert!(text.contains("  at        watch 3\n  expected  ADDED a/x @1\n  seen      nothing\n"));
    assert!(text.ends_with("  and 2 more\n"));
}

#[test]
fn every_checker_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> =
        CHECKERS.iter().map(|checker| checker.name).collect();
    assert_eq!(names.len(), CHECKERS.len());
}

#[test]
fn streams_of_all_objects_that_touch_are_a_witness() {
    let mut script = Script::two_objects();
    script.create("a/z", 3);
    script.watch(after(0), [added("a/x", 1)]);
    script.watch(after(1), [added("a/y", 2), added("a/z", 3)]);
    assert!(is_witnessed(&script.history));
}

#[test]
fn streams_with_a_gap_between_them_are_no_witness() {
    let mut script = Script::two_objects();
    script.create("a/z", 3);
    script.watch(after(0), [added("a/x", 1)]);
    script.watch(after(2), [added("a/z", 3)]);
    assert!(!is_witnessed(&script.history));
    let mut script = Script::two_objects();
    script.watch(after(0), [added("a/x", 1)]);
    assert!(!is_witnessed(&script.history));
}
