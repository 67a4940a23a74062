//! What a job can be said to have become.

use listwatch_api::FieldError;
use serde_json::Value;

use super::INDEXED;
use super::policies::{count_indexes, parse_interval};
use crate::field::{FIELD_IS_IMMUTABLE, Field, check};
use crate::rules::Change;
use crate::tree::list;

/// What is wrong with a change of a job's status. Most is only asked of what changes, since a
/// controller may be behind its job.
pub(in crate::workloads) fn check_job_status(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |job| {
        let status = job.child("status");
        let changed = Changed {
            old: &change.before["status"],
            new: status.value(),
        };
        check_counts(&status);
        check_end(&status, &changed, change.next);
        check_indexes(&status, &changed, &change.next["spec"]);
        check_met(&status, change.next);
        check_course(&status, &changed, &change.next["spec"]);
    })
}

struct Changed<'v> {
    old: &'v Value,
    new: &'v Value,
}

impl Changed<'_> {
    fn member(&self, name: &str) -> bool {
        let value = |status: &Value| match &status[name] {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::Number(number) if number.as_i64() == Some(0) && name == "active" => None,
            value => Some(value.clone()),
        };
        value(self.old) != value(self.new)
    }

    fn condition(&self, name: &str) -> bool {
        is_true(self.old, name) != is_true(self.new, name)
    }

    fn end(&self) -> bool {
        is_finished(self.old) != is_finished(self.new)
    }
}

fn is_true(status: &Value, name: &str) -> bool {
    has_condition(status, name, "True")
}

fn has_condition(status: &Value, name: &str, value: &str) -> bool {
    let conditions = list(status, "conditions").iter();
    conditions
        .into_iter()
        .any(|one| one["type"] == name && one["status"] == value)
}

fn is_finished(status: &Value) -> bool {
    is_true(status, "Complete") || is_true(status, "Failed")
}

fn check_counts(status: &Field<'_, '_>) {
    for member in ["active", "succeeded", "failed", "ready", "terminating"] {
        status.child(member).non_negative();
    }
    let uncounted = status.child("uncountedTerminatedPods");
    let mut seen = Vec::new();
    for list in ["succeeded", "failed"] {
        for uid in uncounted.child(list).elements() {
            let text = uid.value().as_str().unwrap_or_default();
            if text.is_empty() {
                uid.invalid("must not be empty");
            } else if seen.contains(&text) {
                uid.duplicate();
            } else {
                seen.push(text);
            }
        }
    }
}

fn check_end(status: &Field<'_, '_>, changed: &Changed<'_>, job: &Value) {
    let value = status.value();
    let conditions = status.child("conditions");
    let [complete, failed] = ["Complete", "Failed"].map(|name| is_true(value, name));
    let [complete_changed, failed_changed] =
        ["Complete", "Failed"].map(|name| changed.condition(name));
    let (start, end) = (status.child("startTime"), status.child("completionTime"));
    if complete && failed && (complete_changed || failed_changed) {
        conditions.wrong("cannot set Complete=True and Failed=true conditions");
    }
    let targeted = is_true(value, "FailureTarget");
    if complete && targeted && (complete_changed || changed.condition("FailureTarget")) {
        conditions.wrong("cannot set Complete=True and FailureTarget=true conditions");
    }
    if complete_changed || changed.member("completionTime") {
        if end.is_set() && !complete {
            end.invalid("cannot set completionTime when there is no Complete=True condition");
        }
        if !end.is_set() && complete {
            end.required("completionTime is required for Complete jobs");
        }
    }
    let is_timed = changed.member("startTime") || changed.member("completionTime");
    if is_timed && start.is_set() && end.is_set() && end.text() < start.text() {
        end.invalid("must be equal to or after `startTime`");
    }
    if failed && !targeted && (failed_changed || changed.member("failedIndexes")) {
        let why = "cannot set Failed=True condition without the FailureTarget=true condition";
        conditions.wrong(why);
    }
    let is_met = is_true(value, "SuccessCriteriaMet");
    if complete && !is_met && (complete_changed || changed.condition("SuccessCriteriaMet")) {
        let why =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        conditions.wrong(why);
    }
    check_finished(status, changed, job);
}

fn check_finished(status: &Field<'_, '_>, changed: &Changed<'_>, job: &Value) {
    if !is_finished(status.value()) {
        return;
    }
    let active = status.child("active");
    if active.integer() > Some(0) && (changed.end() || changed.member("active")) {
        active.invalid("active>0 is invalid for finished job");
    }
    let is_nothing = job["spec"]["suspend"] == true && job["spec"]["completions"] == 0;
    let start = status.child("startTime");
    if !start.is_set() && (changed.end() || changed.member("startTime")) && !is_nothing {
        start.required("startTime is required for finished job");
    }
    let uncounted = status.child("uncountedTerminatedPods");
    let has_uncounted = ["failed", "succeeded"];
    let has_uncounted = has_uncounted
        .iter()
        .any(|list| !uncounted.child(list).is_empty());
    if has_uncounted && (changed.end() || changed.member("uncountedTerminatedPods")) {
        uncounted.invalid("must be empty for finished job");
    }
}

fn check_indexes(status: &Field<'_, '_>, changed: &Changed<'_>, spec: &Value) {
    let (completed, failed) = (
        status.child("completedIndexes"),
        status.child("failedIndexes"),
    );
    let [completed_changed, failed_changed] =
        ["completedIndexes", "failedIndexes"].map(|member| changed.member(member));
    let completions = spec["completions"].as_i64();
    let has_retries = !spec["backoffLimitPerIndex"].is_null();
    if let Some(completions) = completions {
        for (field, is_asked, name) in [
            (&completed, completed_changed, "completedIndexes"),
            (&failed, failed_changed && has_retries, "failedIndexes"),
        ] {
            let problem = count_indexes(field.text(), completions).err();
            if let Some(problem) = problem.filter(|_| is_asked) {
                field.invalid(&format!("error parsing {name}: {problem}"));
            }
        }
    }
    if completed_changed && !completed.is_empty() && spec["completionMode"] != INDEXED {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        completed.invalid(why);
    }
    if failed_changed && failed.is_set() && !has_retries {
        failed.invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if let Some(completions) = completions
        && (completed_changed || failed_changed)
        && let Some(index) = overlap(completed.text(), failed.text(), completions)
    {
        failed.invalid(&format!(
            "failedIndexes and completedIndexes overlap at index: {index}"
        ));
    }
    let (active, ready) = (status.child("active"), status.child("ready"));
    let terminating = status.child("terminating");
    let is_asked = changed.end() || changed.member("terminating");
    if terminating.integer() > Some(0) && is_finished(status.value()) && is_asked {
        terminating.invalid("terminating>0 is invalid for finished job");
    }
    let is_asked = changed.member("ready") || changed.member("active");
    if ready.integer().unwrap_or(0) > active.integer().unwrap_or(0) && is_asked {
        ready.invalid("cannot set more ready pods than active");
    }
}

/// The first index that both texts name.
fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        let parts = text
            .split(',')
            .filter_map(|part| parse_interval(part, completions).ok());
        parts.collect()
    };
    let failed = intervals(failed);
    intervals(completed).iter().find_map(|(first, last)| {
        let met = failed
            .iter()
            .find(|(start, end)| first <= end && start <= last);
        met.map(|(start, _)| *first.max(start))
    })
}

fn check_met(status: &Field<'_, '_>, job: &Value) {
    let value = status.value();
    let is_met = is_true(value, "SuccessCriteriaMet");
    let conditions = status.child("conditions");
    if is_met && is_true(value, "Failed") {
        conditions.wrong("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    }
    if is_met && is_true(value, "FailureTarget") {
        conditions.wrong("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
    let has_policy = !job["spec"]["successPolicy"].is_null();
    if has_policy && !is_met && is_true(value, "Complete") {
        conditions.wrong(
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        );
    }
}

fn check_course(status: &Field<'_, '_>, changed: &Changed<'_>, spec: &Value) {
    let conditions = status.child("conditions");
    for name in ["Failed", "Complete", "FailureTarget"] {
        if is_true(changed.old, name) && !is_true(changed.new, name) {
            conditions.wrong(&format!(
                "cannot disable the terminal {name}=True condition"
            ));
        }
    }
    let is_free = spec["completionMode"] == INDEXED && spec["completions"] == spec["parallelism"];
    for counter in ["failed", "succeeded"] {
        let field = status.child(counter);
        let number = field.integer().unwrap_or(0);
        let is_less = number < changed.old[counter].as_i64().unwrap_or(0);
        if is_less && !(counter == "succeeded" && is_free) {
            field.invalid_value(number, &format!("cannot decrease the {counter} counter"));
        }
    }
    let (start, end) = (status.child("startTime"), status.child("completionTime"));
    let old_end = &changed.old["completionTime"];
    if end.is_set() && !old_end.is_null() && end.value() != old_end {
        end.invalid(FIELD_IS_IMMUTABLE);
    }
    let is_resuming =
        is_true(changed.old, "Suspended") && has_condition(changed.new, "Suspended", "False");
    let was_started = !changed.old["startTime"].is_null();
    let is_suspended = spec["suspend"] == true;
    if was_started && changed.member("startTime") && !is_suspended && !is_resuming {
        start.invalid("field is immutable for unsuspended job once set");
    }
    let (was_met, is_met) = (
        is_true(changed.old, "SuccessCriteriaMet"),
        is_true(changed.new, "SuccessCriteriaMet"),
    );
    if was_met && !is_met {
        conditions.wrong("cannot disable the SuccessCriteriaMet=True condition");
    }
    if is_true(changed.old, "Complete") && !was_met && is_met {
        let why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        conditions.wrong(why);
    }
}
