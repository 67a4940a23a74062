//! Jobs and the schedules that start them.

use jiff::Timestamp;
use listwatch_api::timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::{NONE, age, capitalized, selector, since},
    workloads::containers,
};

pub(super) const PRINTERS: Printers = &[("jobs.batch", job), ("cronjobs.batch", cron_job)];

fn job(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object.get("spec.template"));
    cells![
        object.name(),
        status(object),
        completions(object),
        duration(object, now),
        age(object, now),
        names,
        images,
        selector(object.get("spec.selector")),
    ]
}

fn status(object: Field<'_>) -> &'static str {
    let conditions = object.get("status.conditions");
    let first = |kinds: &[&'static str]| {
        let mut kinds = kinds.iter().copied();
        kinds.find(|kind| conditions.has_condition(kind))
    };
    if let Some(ended) = first(&["Complete", "Failed"]) {
        ended
    } else if object.is_being_deleted() {
        "Terminating"
    } else {
        first(&["Suspended", "FailureTarget", "SuccessCriteriaMet"]).unwrap_or("Running")
    }
}

fn completions(object: Field<'_>) -> String {
    let succeeded = object.get("status.succeeded").integer();
    let wanted = object.get("spec.completions");
    let parallelism = object.get("spec.parallelism").integer();
    if wanted.is_set() {
        format!("{succeeded}/{}", wanted.integer())
    } else if parallelism > 1 {
        format!("{succeeded}/1 of {parallelism}")
    } else {
        format!("{succeeded}/1")
    }
}

fn duration(object: Field<'_>, now: Timestamp) -> String {
    let completed = object.get("status.completionTime").timestamp();
    match object.get("status.startTime").timestamp() {
        Some(started) => timestamp::age(started, completed.unwrap_or(now)),
        None => String::new(),
    }
}

fn cron_job(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(object.get("spec.jobTemplate.spec.template"));
    cells![
        object.name(),
        object.get("spec.schedule").text(),
        object.get("spec.timeZone").text_or(NONE),
        capitalized(object.get("spec.suspend")),
        object.get("status.active").count(),
        last_schedule(object, now),
        age(object, now),
        names,
        images,
        selector(object.get("spec.jobTemplate.spec.selector")),
    ]
}

fn last_schedule(object: Field<'_>, now: Timestamp) -> String {
    let time = object.get("status.lastScheduleTime");
    if time.is_set() {
        since(time, now)
    } else {
        NONE.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::response::table::test_rows::row;

    fn job(spec: Value, status: Value) -> String {
        let object = json!({"metadata": {"name": "j"}, "spec": spec, "status": status});
        let row = row("jobs.batch", &object);
        row.split(" | ").take(4).collect::<Vec<_>>().join(" | ")
    }

    fn with_condition(kind: &str) -> String {
        job(
            json!({}),
            json!({"conditions": [{"type": kind, "status": "True"}]}),
        )
    }

    #[test]
    fn a_job_counts_completions() {
        let succeeded = || json!({"succeeded": 2});
        assert_eq!(
            job(json!({"completions": 5}), succeeded()),
            "j | Running | 2/5 | "
        );
        assert_eq!(
            job(json!({"parallelism": 3}), succeeded()),
            "j | Running | 2/1 of 3 | "
        );
        assert_eq!(
            job(json!({"parallelism": 1}), succeeded()),
            "j | Running | 2/1 | "
        );
    }

    #[test]
    fn a_job_takes_its_time_until_it_completes() {
        let running = json!({"startTime": "2026-11-15T11:58:00Z"});
        assert_eq!(job(json!({}), running), "j | Running | 0/1 | 2m");
        let completed = json!({
            "startTime": "2026-11-15T11:00:00Z", "completionTime": "2026-11-15T11:00:07Z",
        });
        assert_eq!(job(json!({}), completed), "j | Running | 0/1 | 7s");
    }

    #[test]
    fn the_conditions_of_a_job_give_its_status() {
        for kind in [
            "Complete",
            "Failed",
            "Suspended",
            "FailureTarget",
            "SuccessCriteriaMet",
        ] {
            assert_eq!(with_condition(kind), format!("j | {kind} | 0/1 | "));
        }
        assert_eq!(with_condition("Other"), "j | Running | 0/1 | ");
    }

    #[test]
    fn a_job_that_is_being_deleted_is_terminating_unless_it_has_ended() {
        let deleted = |condition: &str| {
            let object = json!({
                "metadata": {"name": "j", "deletionTimestamp": "2026-11-15T11:00:00Z"},
                "status": {"conditions": [{"type": condition, "status": "True"}]},
            });
            row("jobs.batch", &object)
        };
        assert!(deleted("Suspended").starts_with("j | Terminating | "));
        assert!(deleted("Failed").starts_with("j | Failed | "));
    }

    #[test]
    fn a_cron_job_shows_its_schedule() {
        let object = json!({
            "metadata": {"name": "c"},
            "spec": {
                "schedule": "*/5 * * * *", "timeZone": "Etc/UTC", "suspend": false,
                "jobTemplate": {"spec": {"template": {
                    "spec": {"containers": [{"name": "a", "image": "i"}]},
                }}},
            },
            "status": {"active": [{}, {}], "lastScheduleTime": "2026-11-15T11:55:00Z"},
        });
        let expected = "c | */5 * * * * | Etc/UTC | False | `2` | 5m | <unknown> | a | i | <none>";
        assert_eq!(row("cronjobs.batch", &object), expected);
        let empty = " |  | <none> | <unset> | `0` | <none> | <unknown> |  |  | <none>";
        assert_eq!(row("cronjobs.batch", &json!({})), empty);
    }
}
