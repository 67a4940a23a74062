//! What the kinds that make pods mean where they say nothing.

use serde_json::{Map, Value, json};

use super::defaults::{fill_claim_spec, fill_template, own};
use crate::tree::{each, fill, part};

pub(super) fn fill_pod_template(template: &mut Value) {
    fill_template(template, "template");
}

pub(super) fn fill_replication_controller(controller: &mut Value) {
    let Some(spec) = part(controller, "spec") else {
        return;
    };
    let labels = spec["template"]["metadata"]["labels"].clone();
    fill(spec, "replicas", 1);
    if labels.is_object() {
        fill_empty_map(spec, "selector", &labels);
    }
    if spec["template"].is_object() {
        fill_template(spec, "template");
    }
    if labels.is_object() {
        fill_empty_map(&mut controller["metadata"], "labels", &labels);
    }
}

pub(super) fn fill_replica_set(set: &mut Value) {
    let spec = own(set, "spec");
    fill(spec, "replicas", 1);
    fill_template(spec, "template");
}

pub(super) fn fill_deployment(deployment: &mut Value) {
    let spec = own(deployment, "spec");
    fill(spec, "replicas", 1);
    fill(spec, "strategy", Map::new());
    fill(&mut spec["strategy"], "type", "RollingUpdate");
    if spec["strategy"]["type"] == "RollingUpdate" {
        let strategy = &mut spec["strategy"];
        fill(strategy, "rollingUpdate", Map::new());
        fill(&mut strategy["rollingUpdate"], "maxUnavailable", "25%");
        fill(&mut strategy["rollingUpdate"], "maxSurge", "25%");
    }
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "progressDeadlineSeconds", 600);
    fill_template(spec, "template");
}

pub(super) fn fill_daemon_set(set: &mut Value) {
    let spec = own(set, "spec");
    fill(spec, "updateStrategy", Map::new());
    fill(&mut spec["updateStrategy"], "type", "RollingUpdate");
    if spec["updateStrategy"]["type"] == "RollingUpdate" {
        let strategy = &mut spec["updateStrategy"];
        fill(strategy, "rollingUpdate", Map::new());
        fill(&mut strategy["rollingUpdate"], "maxUnavailable", 1);
        fill(&mut strategy["rollingUpdate"], "maxSurge", 0);
    }
    fill(spec, "revisionHistoryLimit", 10);
    fill_template(spec, "template");
}

pub(super) fn fill_stateful_set(set: &mut Value) {
    let spec = own(set, "spec");
    fill(spec, "podManagementPolicy", "OrderedReady");
    fill(spec, "updateStrategy", Map::new());
    let strategy = &mut spec["updateStrategy"];
    if strategy["type"].as_str().unwrap_or_default().is_empty() {
        strategy["type"] = json!("RollingUpdate");
        fill(strategy, "rollingUpdate", Map::new());
    }
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = part(strategy, "rollingUpdate")
    {
        fill(rolling, "partition", 0);
        fill(rolling, "maxUnavailable", 1);
    }
    fill(spec, "persistentVolumeClaimRetentionPolicy", Map::new());
    let retention = &mut spec["persistentVolumeClaimRetentionPolicy"];
    fill(retention, "whenDeleted", "Retain");
    fill(retention, "whenScaled", "Retain");
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    fill_template(spec, "template");
    each(spec, "volumeClaimTemplates").for_each(fill_claim_template);
}

fn fill_claim_template(claim: &mut Value) {
    claim["apiVersion"] = json!("v1");
    claim["kind"] = json!("PersistentVolumeClaim");
    if let Some(spec) = part(claim, "spec") {
        fill_claim_spec(spec);
    }
    fill(claim, "status", Map::new());
    fill(&mut claim["status"], "phase", "Pending");
}

pub(super) fn fill_job(job: &mut Value) {
    let spec = own(job, "spec");
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        spec["completions"] = json!(1);
    }
    fill(spec, "parallelism", 1);
    let retries = if spec["backoffLimitPerIndex"].is_null() {
        6
    } else {
        i32::MAX
    };
    fill(spec, "backoffLimit", retries);
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let replaced = if spec["podFailurePolicy"].is_null() {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    fill(spec, "podReplacementPolicy", replaced);
    fill(spec, "manualSelector", false);
    fill_job_spec(spec);
}

fn fill_job_spec(spec: &mut Value) {
    fill_template(spec, "template");
    if let Some(policy) = part(spec, "podFailurePolicy") {
        for rule in each(policy, "rules") {
            each(rule, "onPodConditions").for_each(|pattern| fill(pattern, "status", "True"));
        }
    }
}

pub(super) fn fill_cron_job(job: &mut Value) {
    let spec = own(job, "spec");
    fill(spec, "concurrencyPolicy", "Allow");
    fill(spec, "suspend", false);
    fill(spec, "successfulJobsHistoryLimit", 3);
    fill(spec, "failedJobsHistoryLimit", 1);
    fill_job_spec(own(own(spec, "jobTemplate"), "spec"));
}

/// Labels that a job's pods bear, and what they say.
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const OWNER_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

/// A job selects the pods that bear its uid, unless it has a selector of its own.
pub(super) fn begin_job(job: &mut Value) {
    if job["spec"]["manualSelector"] != true {
        select_by_uid(job);
    }
    label_like_pods(job);
}

fn select_by_uid(job: &mut Value) {
    let metadata = &job["metadata"];
    let (name, uid) = (metadata["name"].clone(), metadata["uid"].clone());
    let spec = &mut job["spec"];
    fill(&mut spec["template"], "metadata", Map::new());
    fill(&mut spec["template"]["metadata"], "labels", Map::new());
    let labels = &mut spec["template"]["metadata"]["labels"];
    for (label, value) in NAME_LABELS.map(|label| (label, &name)) {
        fill(labels, label, value.clone());
    }
    for (label, value) in OWNER_LABELS.map(|label| (label, &uid)) {
        fill(labels, label, value.clone());
    }
    fill(spec, "selector", Map::new());
    fill(&mut spec["selector"], "matchLabels", Map::new());
    fill(&mut spec["selector"]["matchLabels"], OWNER_LABELS[1], uid);
}

/// A job without labels has those of its pods.
fn label_like_pods(job: &mut Value) {
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    if labels.is_object() {
        fill_empty_map(&mut job["metadata"], "labels", &labels);
    }
}

/// The same for a job whose labels a change drops.
pub(super) fn adjust_job(_: &Value, next: &mut Value) {
    label_like_pods(next);
}

const GENERATION: &str = "deprecated.daemonset.template.generation";

/// A daemon set counts its templates in an annotation.
pub(super) fn begin_daemon_set(set: &mut Value) {
    fill(&mut set["metadata"], "annotations", Map::new());
    set["metadata"]["annotations"][GENERATION] = json!("1");
}

/// The count goes up with each new template, whatever the writer says.
pub(super) fn adjust_daemon_set(before: &Value, next: &mut Value) {
    let count = before["metadata"]["annotations"][GENERATION]
        .as_str()
        .unwrap_or_default();
    let count = count.parse::<i64>().unwrap_or(0);
    let is_new = before["spec"]["template"] != next["spec"]["template"];
    let count = count + i64::from(is_new);
    fill(&mut next["metadata"], "annotations", Map::new());
    next["metadata"]["annotations"][GENERATION] = json!(count.to_string());
}

fn fill_empty_map(parent: &mut Value, field: &str, value: &Value) {
    if parent[field].as_object().is_none_or(Map::is_empty) {
        parent[field] = value.clone();
    }
}
