//! Runs the pods of a job until enough have succeeded, or too many have failed.

mod ending;
mod indexes;

use std::{collections::BTreeSet, sync::Arc};

use k8s_openapi::{
    api::{
        batch::v1::{Job, JobSpec, JobStatus},
        core::v1::{EnvVar, Pod},
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{Api, api::DeleteParams};
use listwatch::{Next, Object, ObjectKey};

pub(super) use self::ending::ended_at;
use self::ending::{Stage, Verdict};
use super::{Workloads, count, pods, some};
use crate::{moment, objects::unless_gone};

/// The annotation and label with the index of a pod of an indexed job.
const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Who works on a job that does not say so.
const OURSELVES: &str = "kubernetes.io/job-controller";

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

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.jobs.informer.cache().snapshot();
    let Some(job) = snapshot.get(key.as_str()) else {
        return Ok(Next::AwaitChange);
    };
    let is_ours = |spec: &&JobSpec| {
        let manager = spec.managed_by.as_deref().unwrap_or(OURSELVES);
        job.metadata.deletion_timestamp.is_none() && manager == OURSELVES
    };
    let Some(spec) = job.spec.as_ref().filter(is_ours) else {
        return Ok(Next::AwaitChange);
    };
    if let Some(ended) = ended_at(job) {
        return forget_when_due(&workloads, (job, spec), ended).await;
    }
    if let Some(selector) = &spec.selector {
        let everyone = |_: &Object<Pod>| true;
        let claimed = workloads.claim(job, &workloads.pods, (selector, everyone));
        claimed.await?;
    }
    let tally = Tally::of(&workloads, job, spec);
    let now = workloads.clock.now();
    let verdict = ending::decided(job).or_else(|| ending::verdict(job, &tally, &now));
    if verdict.is_some() || is_suspended(spec) {
        workloads.delete_pods(&tally.active).await?;
    } else {
        balance(&workloads, (job, spec), &tally).await?;
    }
    let tally = Tally::of(&workloads, job, spec);
    tell(&workloads, (job, spec), (&tally, verdict)).await?;
    let deadline = ending::deadline_left(job, &now);
    Ok(deadline.map_or(Next::AwaitChange, Next::After))
}

impl Tally {
    /// What was counted once stays counted, though the pods may be gone.
    fn of(workloads: &Workloads, job: &Job, spec: &JobSpec) -> Self {
        let owned = workloads.pods.of(&job.metadata);
        let known = job.status.clone().unwrap_or_default();
        let indexes = |test: &dyn Fn(&Pod) -> bool| -> BTreeSet<i32> {
            let pods = owned.iter().filter(|pod| test(pod));
            pods.filter_map(|pod| index_of(pod)).collect()
        };
        let has_succeeded = |pod: &Pod| pods::phase(pod) == "Succeeded";
        let mut done = indexes(&has_succeeded);
        done.extend(indexes::read(known.completed_indexes.as_deref()));
        let succeeded = match is_indexed(spec) {
            true => i32::try_from(done.len()).unwrap_or(i32::MAX),
            false => count(&owned, |pod| has_succeeded(pod)),
        };
        let failed = count(&owned, |pod| pods::phase(pod) == "Failed");
        Self {
            terminating: count(&owned, |pod| pods::is_terminating(pod)),
            ready: count(&owned, |pod| pods::is_active(pod) && pods::is_ready(pod)),
            succeeded: succeeded.max(known.succeeded.unwrap_or_default()),
            failed: failed.max(known.failed.unwrap_or_default()),
            done,
            busy: indexes(&pods::is_active),
            active: owned
                .into_iter()
                .filter(|pod| pods::is_active(pod))
                .collect(),
        }
    }
}

fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode.as_deref() == Some("Indexed")
}

fn is_suspended(spec: &JobSpec) -> bool {
    spec.suspend == Some(true)
}

fn index_of(pod: &Pod) -> Option<i32> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(COMPLETION_INDEX)?.parse().ok()
}

/// Starts as many pods as may run beside those that do, or ends those that are too many.
async fn balance(
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
    let missing = parallelism.min(left) - active;
    if missing < 0 {
        let surplus = usize::try_from(-missing).unwrap_or_default();
        return workloads.delete_pods(&tally.active[..surplus]).await;
    }
    let missing = usize::try_from(missing).unwrap_or_default();
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
    let pod_spec = pod.spec.get_or_insert_default();
    pod_spec.hostname = Some(name);
    for container in &mut pod_spec.containers {
        container.env.get_or_insert_default().push(EnvVar {
            name: "JOB_COMPLETION_INDEX".to_owned(),
            value: Some(index.clone()),
            value_from: None,
        });
    }
    pod
}

/// Writes down how far the job is, if that is news. Its end is told when no pod is left that runs.
async fn tell(
    workloads: &Workloads,
    (job, spec): (&Object<Job>, &JobSpec),
    (tally, verdict): (&Tally, Option<Verdict>),
) -> kube::Result<()> {
    let now = moment::second(&workloads.clock.now());
    let known = job.status.clone().unwrap_or_default();
    let start = known.start_time.clone();
    let mut status = JobStatus {
        active: some(i32::try_from(tally.active.len()).unwrap_or(i32::MAX)),
        ready: Some(tally.ready),
        succeeded: some(tally.succeeded),
        failed: some(tally.failed),
        terminating: Some(tally.terminating),
        completed_indexes: is_indexed(spec).then(|| indexes::write(&tally.done)),
        start_time: match is_suspended(spec) {
            true => None,
            false => start.or_else(|| Some(now.clone())),
        },
        uncounted_terminated_pods: known.uncounted_terminated_pods.clone(),
        conditions: known.conditions.clone(),
        ..JobStatus::default()
    };
    let conditions = status.conditions.get_or_insert_default();
    ending::tell_suspension(conditions, spec, &now);
    if let Some(verdict) = verdict {
        let is_over = tally.active.is_empty() && tally.terminating == 0;
        let stage = match is_over {
            true => Stage::Over,
            false => Stage::Decided,
        };
        ending::tell(conditions, (&verdict, stage), &now);
        if is_over && matches!(verdict, Verdict::Complete(_)) {
            status.completion_time = Some(now);
        }
    }
    status.conditions = status.conditions.filter(|them| !them.is_empty());
    if job.status.as_ref() == Some(&status) {
        return Ok(());
    }
    let mut next = job.body.clone();
    next.status = Some(status);
    workloads.write_status(&next).await.map(drop)
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
    if let Some(left) = moment::left(&ended, i64::from(lifetime), &workloads.clock.now()) {
        return Ok(Next::After(left));
    }
    let api: Api<Job> = workloads.api(job.key.namespace());
    let parameters = DeleteParams::background();
    unless_gone(api.delete(job.key.name(), &parameters).await)?;
    Ok(Next::AwaitChange)
}
