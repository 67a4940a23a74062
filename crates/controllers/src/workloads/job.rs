//! Runs the pods of a job until enough have succeeded, or too many have failed.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        batch::v1::{Job, JobCondition, JobSpec, JobStatus},
        core::v1::{EnvVar, Pod},
    },
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use listwatch::{Next, Object, ObjectKey};

use super::{Workloads, pods};

/// The annotation and label with the index of a pod of an indexed job.
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// How many pods may fail, unless the job says otherwise.
const BACKOFF_LIMIT_DEFAULT: i32 = 6;

/// How a job stands.
struct Tally {
    active: Vec<Arc<Object<Pod>>>,
    terminating: i32,
    ready: i32,
    succeeded: i32,
    failed: i32,
    /// The indexes that are done, and those being worked on.
    done: BTreeSet<i32>,
    busy: BTreeSet<i32>,
}

/// How a job ended.
enum Verdict {
    Complete,
    Failed(&'static str, &'static str),
}

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.jobs.cache().snapshot();
    let Some(job) = snapshot.get(key.as_str()).cloned() else {
        return Ok(Next::AwaitChange);
    };
    let Some(spec) = &job.spec else {
        return Ok(Next::AwaitChange);
    };
    if job.metadata.deletion_timestamp.is_some() {
        return Ok(Next::AwaitChange);
    }
    if let Some(ended) = ended_at(&job) {
        return forget_when_due(&workloads, (&job, spec), ended).await;
    }
    let tally = Tally::of(&workloads, &job, spec);
    let verdict = tally.verdict(spec);
    let is_suspended = spec.suspend == Some(true);
    if verdict.is_some() || is_suspended {
        workloads.delete_pods(&tally.active).await?;
    } else {
        start_more(&workloads, (&job, spec), &tally).await?;
    }
    let tally = Tally::of(&workloads, &job, spec);
    tell(&workloads, (&job, spec), (&tally, verdict)).await?;
    Ok(Next::AwaitChange)
}

impl Tally {
    fn of(workloads: &Workloads, job: &Job, spec: &JobSpec) -> Self {
        let owned = workloads.pods.of(&job.metadata);
        let count = |test: &dyn Fn(&Pod) -> bool| {
            i32::try_from(owned.iter().filter(|pod| test(pod)).count()).unwrap_or(i32::MAX)
        };
        let indexes = |test: &dyn Fn(&Pod) -> bool| -> BTreeSet<i32> {
            let pods = owned.iter().filter(|pod| test(pod));
            pods.filter_map(|pod| index_of(pod)).collect()
        };
        let done = indexes(&|pod| pods::phase(pod) == "Succeeded");
        let succeeded = match is_indexed(spec) {
            true => i32::try_from(done.len()).unwrap_or(i32::MAX),
            false => count(&|pod| pods::phase(pod) == "Succeeded"),
        };
        Self {
            terminating: count(&pods::is_terminating),
            ready: count(&|pod| pods::is_active(pod) && pods::is_ready(pod)),
            succeeded,
            failed: count(&|pod| pods::phase(pod) == "Failed"),
            done,
            busy: indexes(&pods::is_active),
            active: owned
                .into_iter()
                .filter(|pod| pods::is_active(pod))
                .collect(),
        }
    }

    fn verdict(&self, spec: &JobSpec) -> Option<Verdict> {
        if self.failed > spec.backoff_limit.unwrap_or(BACKOFF_LIMIT_DEFAULT) {
            return Some(Verdict::Failed(
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
            ));
        }
        let is_complete = match spec.completions {
            Some(wanted) => self.succeeded >= wanted,
            None => self.succeeded > 0 && self.active.is_empty(),
        };
        is_complete.then_some(Verdict::Complete)
    }
}

fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode.as_deref() == Some("Indexed")
}

fn index_of(pod: &Pod) -> Option<i32> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(COMPLETION_INDEX)?.parse().ok()
}

/// Starts as many pods as may run beside those that do.
async fn start_more(
    workloads: &Workloads,
    (job, spec): (&Object<Job>, &JobSpec),
    tally: &Tally,
) -> kube::Result<()> {
    let active = i32::try_from(tally.active.len()).unwrap_or(i32::MAX);
    let parallelism = spec.parallelism.unwrap_or(1);
    let left = match spec.completions {
        Some(wanted) => wanted - tally.succeeded,
        None if tally.succeeded > 0 => active,
        None => parallelism,
    };
    let missing = usize::try_from(parallelism.min(left) - active).unwrap_or_default();
    let indexes: Vec<Option<i32>> = match is_indexed(spec) {
        true => (0..spec.completions.unwrap_or_default())
            .filter(|index| !tally.done.contains(index) && !tally.busy.contains(index))
            .map(Some)
            .take(missing)
            .collect(),
        false => vec![None; missing],
    };
    let indexes = indexes.into_iter();
    let new = indexes.map(|index| pod(job, spec, index)).collect();
    workloads.create_pods(job.key.namespace(), new).await
}

fn pod(job: &Object<Job>, spec: &JobSpec, index: Option<i32>) -> Pod {
    let name = match index {
        Some(index) => format!("{}-{index}", job.key.name()),
        None => job.key.name().to_owned(),
    };
    let naming = pods::Naming::Beginning(&name);
    let mut pod = pods::from_template(&job.body, naming, &spec.template);
    let Some(index) = index.map(|index| index.to_string()) else {
        return pod;
    };
    pods::set_label(&mut pod, COMPLETION_INDEX, &index);
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(COMPLETION_INDEX.to_owned(), index.clone());
    for container in &mut pod.spec.get_or_insert_default().containers {
        container.env.get_or_insert_default().push(EnvVar {
            name: "JOB_COMPLETION_INDEX".to_owned(),
            value: Some(index.clone()),
            value_from: None,
        });
    }
    pod
}

/// Writes down how far the job is, if that is news.
async fn tell(
    workloads: &Workloads,
    (job, spec): (&Object<Job>, &JobSpec),
    (tally, verdict): (&Tally, Option<Verdict>),
) -> kube::Result<()> {
    let second = workloads.clock.now().0.as_second();
    let now = Time(Timestamp::from_second(second).expect("whole seconds stay in range"));
    let some = |count: i32| Some(count).filter(|count| *count != 0);
    let known = job.status.clone().unwrap_or_default();
    let mut status = JobStatus {
        active: some(i32::try_from(tally.active.len()).unwrap_or(i32::MAX)),
        ready: Some(tally.ready),
        succeeded: some(tally.succeeded),
        failed: some(tally.failed),
        terminating: Some(tally.terminating),
        completed_indexes: is_indexed(spec).then(|| ranges(&tally.done)),
        start_time: known.start_time.clone().or_else(|| Some(now.clone())),
        uncounted_terminated_pods: known.uncounted_terminated_pods.clone(),
        conditions: known.conditions.clone(),
        ..JobStatus::default()
    };
    if let Some(verdict) = verdict {
        if matches!(verdict, Verdict::Complete) {
            status.completion_time = Some(now.clone());
        }
        status
            .conditions
            .get_or_insert_default()
            .extend(conditions(&verdict, &now));
    }
    if known == status {
        return Ok(());
    }
    let mut next = job.body.clone();
    next.status = Some(status);
    let api: Api<Job> = workloads.api(job.key.namespace());
    match api
        .replace_status(job.key.name(), &PostParams::default(), &next)
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

/// First that the end is decided, then that it has come.
fn conditions(verdict: &Verdict, now: &Time) -> [JobCondition; 2] {
    let (types, reason, message) = match verdict {
        Verdict::Complete => (
            ["SuccessCriteriaMet", "Complete"],
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        ),
        Verdict::Failed(reason, message) => (["FailureTarget", "Failed"], *reason, *message),
    };
    types.map(|type_| JobCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_probe_time: Some(now.clone()),
        last_transition_time: Some(now.clone()),
    })
}

/// Indexes as `0-3,5`.
fn ranges(indexes: &BTreeSet<i32>) -> String {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    for &index in indexes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let texts = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

fn ended_at(job: &Job) -> Option<Time> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let end = conditions
        .iter()
        .find(|it| matches!(it.type_.as_str(), "Complete" | "Failed") && it.status == "True")?;
    end.last_transition_time.clone()
}

/// Deletes a job that has ended so long ago as it says itself.
async fn forget_when_due(
    workloads: &Workloads,
    (job, spec): (&Object<Job>, &JobSpec),
    ended: Time,
) -> kube::Result<Next> {
    let Some(lifetime) = spec.ttl_seconds_after_finished else {
        return Ok(Next::AwaitChange);
    };
    let age = workloads.clock.now().0.as_second() - ended.0.as_second();
    let left = i64::from(lifetime) - age;
    if left > 0 {
        return Ok(Next::After(Duration::from_secs(left.unsigned_abs())));
    }
    let api: Api<Job> = workloads.api(job.key.namespace());
    match api
        .delete(job.key.name(), &DeleteParams::background())
        .await
    {
        Ok(_) => Ok(Next::AwaitChange),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Next::AwaitChange),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_ranges() {
        assert_eq!(ranges(&BTreeSet::from([0, 1, 2, 3, 5])), "0-3,5");
        assert_eq!(ranges(&BTreeSet::new()), "");
    }
}
