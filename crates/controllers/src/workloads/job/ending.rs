//! When a job is over, and what it says of that.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::{
    api::batch::v1::{Job, JobCondition, JobSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, Time},
};

use super::{Tally, indexes, is_suspended};
use crate::moment;

/// How many pods may fail, unless the job says otherwise.
const BACKOFF_LIMIT_DEFAULT: i32 = 6;

const SUSPENDED: &str = "Suspended";

/// How a job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Complete(Cause),
    Failed(Cause),
}

/// Why it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    reason: String,
    message: String,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is known, and pods are ending.
    Decided,
    /// Nothing runs any more.
    Over,
}

fn condition<'a>(job: &'a Job, types: [&str; 2]) -> Option<&'a JobCondition> {
    let mut conditions = job.status.as_ref()?.conditions.as_ref()?.iter();
    conditions.find(|it| types.contains(&it.type_.as_str()) && it.status == "True")
}

/// When a job was over; `None` if it is not.
pub(in crate::workloads) fn ended_at(job: &Job) -> Option<Time> {
    let end = condition(job, ["Complete", "Failed"])?;
    end.last_transition_time.clone()
}

/// What was decided before, and cannot be otherwise.
pub(super) fn decided(job: &Job) -> Option<Verdict> {
    let end = condition(job, ["SuccessCriteriaMet", "FailureTarget"])?;
    let cause = Cause {
        reason: end.reason.clone().unwrap_or_default(),
        message: end.message.clone().unwrap_or_default(),
    };
    Some(match end.type_.as_str() {
        "FailureTarget" => Verdict::Failed(cause),
        _ => Verdict::Complete(cause),
    })
}

/// How long a job may still run; `None` if it may for ever, or has.
pub(super) fn deadline_left(job: &Job, now: &MicroTime) -> Option<Duration> {
    let seconds = job.spec.as_ref()?.active_deadline_seconds?;
    let start = job.status.as_ref()?.start_time.as_ref()?;
    moment::left(start, seconds, now)
}

/// What follows from how a job stands; `None` if it goes on.
pub(super) fn verdict(job: &Job, tally: &Tally, now: &MicroTime) -> Option<Verdict> {
    let spec = job.spec.as_ref()?;
    let cause = |reason: &str, message: &str| Cause {
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let failed = |reason, message| Verdict::Failed(cause(reason, message));
    if let Some(rule) = matched_rule(spec, &tally.done) {
        let message = format!("Matched rules at index {rule}");
        return Some(Verdict::Complete(cause("SuccessPolicy", &message)));
    }
    let limit = spec.backoff_limit.unwrap_or(BACKOFF_LIMIT_DEFAULT);
    if tally.failed > limit {
        let message = "Job has reached the specified backoff limit";
        return Some(failed("BackoffLimitExceeded", message));
    }
    let start = job.status.as_ref().and_then(|it| it.start_time.as_ref());
    let has_deadline = spec.active_deadline_seconds.is_some() && start.is_some();
    if has_deadline && !is_suspended(spec) && deadline_left(job, now).is_none() {
        let message = "Job was active longer than specified deadline";
        return Some(failed("DeadlineExceeded", message));
    }
    let is_complete = match spec.completions {
        Some(wanted) => tally.succeeded >= wanted,
        None => tally.succeeded > 0 && tally.active.is_empty(),
    };
    is_complete.then(|| {
        let message = "Reached expected number of succeeded pods";
        Verdict::Complete(cause("CompletionsReached", message))
    })
}

/// The first rule by which enough indexes are done though not all are.
fn matched_rule(spec: &JobSpec, done: &BTreeSet<i32>) -> Option<usize> {
    let rules = &spec.success_policy.as_ref()?.rules;
    rules.iter().position(|rule| {
        let named = rule.succeeded_indexes.as_deref();
        let named = named.map(|text| indexes::read(Some(text)));
        let counted = match &named {
            Some(named) => named.intersection(done).count(),
            None => done.len(),
        };
        let needed = match (rule.succeeded_count, &named) {
            (Some(count), _) => usize::try_from(count).unwrap_or(usize::MAX),
            (None, Some(named)) => named.len(),
            (None, None) => usize::MAX,
        };
        counted >= needed
    })
}

/// Says that the end is decided, and when nothing runs any more that it has come.
pub(super) fn tell(
    conditions: &mut Vec<JobCondition>,
    (verdict, stage): (&Verdict, Stage),
    now: &Time,
) {
    let (types, cause) = match verdict {
        Verdict::Complete(cause) => (["SuccessCriteriaMet", "Complete"], cause),
        Verdict::Failed(cause) => (["FailureTarget", "Failed"], cause),
    };
    let why = (cause.reason.as_str(), cause.message.as_str());
    let told = match stage {
        Stage::Decided => &types[..1],
        Stage::Over => &types[..],
    };
    for type_ in told {
        set(conditions, (type_, "True"), why, now);
    }
}

/// Says whether a job is suspended, if it ever was.
pub(super) fn tell_suspension(conditions: &mut Vec<JobCondition>, spec: &JobSpec, now: &Time) {
    let was_suspended = conditions.iter().any(|it| it.type_ == SUSPENDED);
    if is_suspended(spec) {
        let why = ("JobSuspended", "Job suspended");
        set(conditions, (SUSPENDED, "True"), why, now);
    } else if was_suspended {
        let why = ("JobResumed", "Job resumed");
        set(conditions, (SUSPENDED, "False"), why, now);
    }
}

fn set(
    conditions: &mut Vec<JobCondition>,
    (type_, status): (&str, &str),
    (reason, message): (&str, &str),
    now: &Time,
) {
    let condition = JobCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_probe_time: Some(now.clone()),
        last_transition_time: Some(now.clone()),
    };
    match conditions.iter_mut().find(|it| it.type_ == type_) {
        Some(known) if known.status == status => {}
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_may_be_content_with_some_indexes() {
        let rule = |rule, done: &[i32]| {
            let spec = json!({"template": {}, "successPolicy": {"rules": [rule]}});
            let spec = serde_json::from_value(spec).unwrap();
            matched_rule(&spec, &done.iter().copied().collect())
        };
        assert_eq!(rule(json!({"succeededIndexes": "0-1"}), &[0, 1]), Some(0));
        assert_eq!(rule(json!({"succeededIndexes": "0-1"}), &[0, 2]), None);
        assert_eq!(rule(json!({"succeededCount": 2}), &[0, 2]), Some(0));
        let some = json!({"succeededIndexes": "0-2", "succeededCount": 2});
        assert_eq!(rule(some.clone(), &[0, 3]), None);
        assert_eq!(rule(some, &[0, 2]), Some(0));
    }
}
