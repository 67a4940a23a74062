//! Jobs, and what repeats them.

use listwatch_api::{FieldError, go_text, name};
use serde_json::Value;

use super::replicas::{changed, check_same_selector, selector_shown};
use super::template::{check_template, refuse_labels};
use super::{schedule, shown};
use crate::field::{
    FIELD_IS_IMMUTABLE, Field, LabelValues, Selection, check, check_label_selector, selects,
};
use crate::rules::Change;

mod policies;
mod status;
mod template;

pub(super) use status::check_job_status;

/// The names of all zones of time.
const ZONES: &str = include_str!("job/zones.txt");
const INDEXED: &str = "Indexed";
const INDEXES_MAX: i64 = 100_000;
const INDEXES_WITH_RETRIES_MAX: i64 = 10_000;
const MANAGER_BYTES_MAX: usize = 63;
/// Bytes of a name to which the time of a run can still be added.
const CRON_NAME_BYTES_MAX: usize = 52;
const LABELS: [(&str, &str); 4] = [
    ("controller-uid", "uid"),
    ("job-name", "name"),
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
];

/// What is wrong with a new job.
pub(super) fn check_job(job: &Value) -> Vec<FieldError> {
    check(job, |object| {
        check_own_selector(object);
        check_selected_job(&object.child("spec"));
        check_pod_names(object);
    })
}

/// What is wrong with a change of a job.
pub(super) fn check_job_change(change: Change<'_>) -> Vec<FieldError> {
    changed(change, "spec", || check_changed_job(change))
}

fn check_changed_job(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |object| {
        let (spec, before) = (object.child("spec"), &change.before["spec"]);
        check_selected_job(&spec);
        check_completions_change(&spec, before);
        check_same_selector(&spec, before);
        template::check_template_change(&spec, change.before);
        for (member, shape) in [
            ("completionMode", "?s"),
            ("podFailurePolicy", "?PodFailurePolicy"),
            ("backoffLimitPerIndex", "?n"),
            ("managedBy", "?s"),
            ("successPolicy", "?SuccessPolicy"),
        ] {
            let member_field = spec.child(member);
            if member_field.value() != &before[member] {
                let shown = shown::compact(member_field.value(), shape);
                member_field.invalid_value(shown, FIELD_IS_IMMUTABLE);
            }
        }
        check_pod_names(object);
    })
}

/// The selector and the labels that a job gives its pods name the job.
fn check_own_selector(job: &Field<'_, '_>) {
    let spec = job.child("spec");
    if spec.child("manualSelector").is_true() || !spec.child("selector").is_set() {
        return;
    }
    let template = spec.child("template");
    let metadata = template.child("metadata");
    let labels = metadata.child("labels");
    let mut expected = serde_json::Map::new();
    for (label, member) in LABELS {
        let wanted = &job.value()["metadata"][member];
        let found = labels.key(label);
        let why = format!("must be '{}'", wanted.as_str().unwrap_or_default());
        if !found.is_set() {
            found.required(&why);
        } else if found.value() != wanted {
            found.invalid_value(labels.value(), &why);
        }
        expected.insert(label.to_owned(), wanted.clone());
    }
    let selector = spec.child("selector");
    if selects(selector.value(), &Value::Object(expected)) == Selection::Rejects {
        selector.invalid_value(selector_shown(&selector), "`selector` not auto-generated");
    }
}

/// Pods of an indexed job are named after it.
fn check_pod_names(job: &Field<'_, '_>) {
    let spec = job.child("spec");
    let completions = spec.child("completions").integer().unwrap_or(0);
    if spec.child("completionMode").text() != INDEXED || completions <= 0 {
        return;
    }
    let metadata = job.child("metadata");
    let job_name = metadata.child("name");
    let longest = format!("{}-{}", job_name.text(), completions - 1);
    if !name::check_dns_label(&longest).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {longest}");
        job_name.invalid(&why);
    }
}

fn check_selected_job(spec: &Field<'_, '_>) {
    check_job_spec(spec);
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    match selector.is_set() {
        true => check_label_selector(&selector, LabelValues::Checked),
        false => selector.required(""),
    }
    let labels = &template.value()["metadata"]["labels"];
    if selects(selector.value(), labels) == Selection::Rejects {
        refuse_labels(&template);
    }
}

fn check_job_spec(spec: &Field<'_, '_>) {
    for member in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        spec.child(member).non_negative();
    }
    let retries = spec.child("backoffLimitPerIndex");
    if spec.child("maxFailedIndexes").is_set() && !retries.is_set() {
        retries.required("when maxFailedIndexes is specified");
    }
    if let Some(manager) = spec.given("managedBy") {
        check_manager(&manager);
    }
    if let Some(mode) = spec.given("completionMode") {
        mode.one_of(&["NonIndexed", INDEXED]);
    }
    match spec.child("completionMode").text() {
        INDEXED => check_indexed(spec),
        "NonIndexed" | "" => {
            for member in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(member) = spec.given(member) {
                    member.invalid("requires indexed completion mode");
                }
            }
        }
        _ => {}
    }
    policies::check_policies(spec);
    let template = spec.child("template");
    check_template(&template);
    check_restart_policy(spec);
}

fn check_restart_policy(spec: &Field<'_, '_>) {
    let template = spec.child("template");
    let pod = template.child("spec");
    let policy = pod.child("restartPolicy");
    match policy.text() {
        "" | "Always" => policy.required("valid values: \"OnFailure\", \"Never\""),
        "Never" => {}
        "OnFailure" if spec.child("podFailurePolicy").is_set() => {
            policy.invalid("only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" => {}
        _ => policy.not_supported(&["OnFailure", "Never"]),
    }
}

fn check_manager(manager: &Field<'_, '_>) {
    let text = manager.text();
    if text.is_empty() {
        return manager.required("");
    }
    match text.split_once('/') {
        Some((domain, path)) if !path.is_empty() => {
            for problem in name::check_dns_subdomain(domain) {
                manager.invalid_value(domain, &problem);
            }
            if !path.bytes().all(is_path_byte) {
                manager.invalid_value(path, "Invalid path");
            }
        }
        _ => manager.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")"),
    }
    if text.len() > MANAGER_BYTES_MAX {
        manager.report(|path| FieldError::too_long(path, MANAGER_BYTES_MAX));
    }
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)
}

fn check_indexed(spec: &Field<'_, '_>) {
    let [completions, parallelism, failed] =
        ["completions", "parallelism", "maxFailedIndexes"].map(|member| spec.child(member));
    let at_most = |field: &Field<'_, '_>, most: i64, when: &str| {
        if field.integer().is_some_and(|number| number > most) {
            field.invalid(&format!("must be less than or equal to {most}{when}"));
        }
    };
    if !completions.is_set() {
        completions.required("when completion mode is Indexed");
    }
    at_most(
        &parallelism,
        INDEXES_MAX,
        " when completion mode is Indexed",
    );
    let all = completions.integer();
    if all.is_some() && failed.is_set() && failed.integer() > all {
        failed.invalid("must be less than or equal to completions");
    }
    at_most(&failed, INDEXES_MAX, "");
    if all > Some(INDEXES_MAX) && spec.child("backoffLimitPerIndex").is_set() {
        if !failed.is_set() {
            failed.required("must be specified when completions is above 100000");
        }
        let when = " when completions are above 100000 and used with backoff limit per index";
        at_most(&parallelism, INDEXES_WITH_RETRIES_MAX, when);
        at_most(&failed, INDEXES_WITH_RETRIES_MAX, when);
    }
}

fn check_completions_change(spec: &Field<'_, '_>, before: &Value) {
    let completions = spec.child("completions");
    if completions.value() == &before["completions"] {
        return;
    }
    if spec.child("completionMode").text() != INDEXED {
        completions.invalid(FIELD_IS_IMMUTABLE);
    } else if completions.is_set() && completions.value() != spec.child("parallelism").value() {
        completions.invalid("can only be modified in tandem with spec.parallelism");
    }
}

/// What is wrong with a new repeated job.
pub(super) fn check_cron_job(job: &Value) -> Vec<FieldError> {
    check(job, |object| {
        check_cron_spec(&object.child("spec"), None);
        let metadata = object.child("metadata");
        if metadata.child("name").text().len() > CRON_NAME_BYTES_MAX {
            metadata
                .child("name")
                .invalid("must be no more than 52 characters");
        }
    })
}

/// What is wrong with a change of a repeated job.
pub(super) fn check_cron_job_change(change: Change<'_>) -> Vec<FieldError> {
    let before = &change.before["spec"];
    changed(change, "spec", || {
        check(change.next, |object| {
            check_cron_spec(&object.child("spec"), Some(before))
        })
    })
}

fn check_cron_spec(spec: &Field<'_, '_>, before: Option<&Value>) {
    let schedule = spec.child("schedule");
    if !schedule.is_empty() {
        let old = before.map_or("", |before| before["schedule"].as_str().unwrap_or_default());
        check_schedule(&schedule, old, &spec.child("timeZone"));
    }
    spec.child("startingDeadlineSeconds").non_negative();
    let zone = spec.child("timeZone");
    if zone.is_set() && before.is_none_or(|before| &before["timeZone"] != zone.value()) {
        check_zone(&zone);
    }
    spec.child("concurrencyPolicy")
        .need_one_of(&["Allow", "Forbid", "Replace"]);
    let template = spec.child("jobTemplate");
    let job = template.child("spec");
    check_job_spec(&job);
    if let Some(selector) = job.given("selector") {
        selector.invalid_value(
            selector_shown(&selector),
            "`selector` will be auto-generated",
        );
    }
    if job.child("manualSelector").is_true() {
        job.child("manualSelector").not_supported(&["nil", "false"]);
    }
    spec.child("successfulJobsHistoryLimit").non_negative();
    spec.child("failedJobsHistoryLimit").non_negative();
    // A missing schedule comes last on a real server, which checks it in another way.
    schedule.need();
}

fn check_schedule(field: &Field<'_, '_>, before: &str, zone: &Field<'_, '_>) {
    if let Some(problem) = schedule::problem(field.text()) {
        field.invalid(&problem);
    }
    if !field.text().contains("TZ") {
        return;
    }
    if !before.contains("TZ") {
        field.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    } else if zone.is_set() {
        field.invalid("cannot use both timeZone field and TZ or CRON_TZ in schedule");
    }
}

fn check_zone(zone: &Field<'_, '_>) {
    let text = zone.text();
    if text.is_empty() {
        return zone.invalid("timeZone must be nil or non-empty string");
    }
    let is_part = |part: &str| {
        (1..=14).contains(&part.len())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte))
            && !matches!(part, "." | "..")
            && !part.starts_with('-')
    };
    if !text.split('/').all(is_part) {
        return zone.invalid(&format!("unknown time zone {text}"));
    }
    if text.eq_ignore_ascii_case("Local") {
        let why = "timeZone must be an explicit time zone as defined in";
        zone.invalid(&format!("{why} https://www.iana.org/time-zones"));
    }
    if text != "Local" && !ZONES.lines().any(|known| known == text) {
        zone.invalid(&format!("unknown time zone {text}"));
    }
}

/// Texts as Go prints a slice of them, quoted.
fn quoted_list(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| go_text::quote(text)).collect();
    format!("[{}]", quoted.join(" "))
}
