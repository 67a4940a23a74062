//! Makes jobs at the times that cron jobs name.

mod schedule;

use std::sync::Arc;

use k8s_openapi::{
    api::{
        batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job},
        core::v1::ObjectReference,
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use listwatch::{Next, Object, ObjectKey};

use self::schedule::Schedule;
use super::{Workloads, job, pods::reference_to};
use crate::{
    moment,
    objects::{exists_already, unless_gone},
};

/// The annotation with the time for which a job was made.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// How many jobs are kept that ended well, or badly, unless told otherwise.
const SUCCESSFUL_DEFAULT: i32 = 3;
const FAILED_DEFAULT: i32 = 1;

type OwnedJob = Arc<Object<Job>>;

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.cron_jobs.cache().snapshot();
    let Some(cron) = snapshot.get(key.as_str()) else {
        return Ok(Next::AwaitChange);
    };
    let is_kept = cron.metadata.deletion_timestamp.is_none();
    let Some(spec) = cron.spec.as_ref().filter(|_| is_kept) else {
        return Ok(Next::AwaitChange);
    };
    forget_old(&workloads, (cron, spec)).await?;
    let jobs = workloads.jobs.of(&cron.metadata);
    let mut status = status(cron, &jobs);
    let is_utc = matches!(spec.time_zone.as_deref(), None | Some("UTC" | "Etc/UTC"));
    let schedule = Schedule::parse(&spec.schedule).filter(|_| is_utc);
    let schedule = schedule.filter(|_| spec.suspend != Some(true));
    let now = workloads.clock.now();
    if let Some(due) = schedule
        .as_ref()
        .and_then(|it| due(cron, (spec, it), now.0))
    {
        let started = start(&workloads, (cron, spec), (due, &jobs)).await?;
        if let Some(started) = started {
            status.last_schedule_time = Some(Time(due));
            let jobs = workloads.jobs.of(&cron.metadata);
            status.active = active(&jobs).or_else(|| Some(vec![started]));
        }
    }
    if cron.status.as_ref() != Some(&status) {
        let mut next = cron.body.clone();
        next.status = Some(status);
        workloads.write_status(&next).await?;
    }
    let next = schedule.and_then(|schedule| schedule.next(now.0));
    let left = next.and_then(|next| moment::left(&Time(next), 0, &now));
    Ok(left.map_or(Next::AwaitChange, Next::After))
}

/// The last time that was named and for which nothing was made, if it is not too late for it.
fn due(
    cron: &CronJob,
    (spec, schedule): (&CronJobSpec, &Schedule),
    now: Timestamp,
) -> Option<Timestamp> {
    let status = cron.status.as_ref();
    let told = status.and_then(|status| status.last_schedule_time.as_ref());
    let since = told.or(cron.metadata.creation_timestamp.as_ref())?.0;
    let due = schedule.last(since, now)?;
    let late = now.as_second() - due.as_second();
    let is_too_late = spec
        .starting_deadline_seconds
        .is_some_and(|deadline| late > deadline);
    (!is_too_late).then_some(due)
}

/// Makes the job of a time, unless another one is in its way.
async fn start(
    workloads: &Workloads,
    (cron, spec): (&Object<CronJob>, &CronJobSpec),
    (due, jobs): (Timestamp, &[OwnedJob]),
) -> kube::Result<Option<ObjectReference>> {
    let running = jobs.iter().filter(|job| job::ended_at(job).is_none());
    let running: Vec<_> = running.collect();
    let api: Api<Job> = workloads.api(cron.key.namespace());
    match spec.concurrency_policy.as_deref() {
        Some("Forbid") if !running.is_empty() => return Ok(None),
        Some("Replace") => {
            for job in running {
                let parameters = DeleteParams::background();
                unless_gone(api.delete(job.key.name(), &parameters).await)?;
            }
        }
        Some(_) | None => {}
    }
    let name = format!("{}-{}", cron.key.name(), due.as_second() / 60);
    let given = spec.job_template.metadata.clone().unwrap_or_default();
    let mut annotations = given.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED.to_owned(), due.to_string());
    let job = Job {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: given.labels,
            annotations: Some(annotations),
            owner_references: reference_to(&cron.body).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: spec.job_template.spec.clone(),
        status: None,
    };
    let created = match api.create(&PostParams::default(), &job).await {
        Err(error) if exists_already(&error) => api.get(&name).await?,
        created => created?,
    };
    workloads.jobs.settle(&created.metadata).await;
    Ok(Some(reference(&created.metadata)))
}

fn reference(metadata: &ObjectMeta) -> ObjectReference {
    ObjectReference {
        api_version: Some("batch/v1".to_owned()),
        kind: Some("Job".to_owned()),
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        field_path: None,
    }
}

/// The jobs that run.
fn active(jobs: &[OwnedJob]) -> Option<Vec<ObjectReference>> {
    let running = jobs
        .iter()
        .filter(|job| job::ended_at(job).is_none() && job.metadata.deletion_timestamp.is_none());
    let active: Vec<_> = running.map(|job| reference(&job.metadata)).collect();
    Some(active).filter(|active| !active.is_empty())
}

fn status(cron: &CronJob, jobs: &[OwnedJob]) -> CronJobStatus {
    let known = cron.status.clone().unwrap_or_default();
    let ended = jobs
        .iter()
        .filter_map(|job| job.status.as_ref()?.completion_time.clone());
    let ended = ended.chain(known.last_successful_time);
    CronJobStatus {
        active: keep_versions(active(jobs), known.active),
        last_schedule_time: known.last_schedule_time,
        last_successful_time: ended.max_by_key(|time| time.0),
    }
}

/// The versions of the jobs as they were first told: that they change is no news.
fn keep_versions(
    active: Option<Vec<ObjectReference>>,
    known: Option<Vec<ObjectReference>>,
) -> Option<Vec<ObjectReference>> {
    let known = known.unwrap_or_default();
    let told = |job: ObjectReference| {
        let same = known.iter().find(|it| it.uid == job.uid);
        same.cloned().unwrap_or(job)
    };
    active.map(|active| active.into_iter().map(told).collect())
}

/// Deletes the oldest jobs that have ended, beyond those that are kept.
async fn forget_old(
    workloads: &Workloads,
    (cron, spec): (&Object<CronJob>, &CronJobSpec),
) -> kube::Result<()> {
    let jobs = workloads.jobs.of(&cron.metadata).into_iter();
    let mut ended: Vec<_> = jobs
        .filter(|job| job::ended_at(job).is_some() && job.metadata.deletion_timestamp.is_none())
        .collect();
    ended.sort_by_key(|job| job.metadata.creation_timestamp.clone().map(|time| time.0));
    let has_succeeded = |job: &OwnedJob| {
        let status = job.status.as_ref();
        status.is_some_and(|status| status.completion_time.is_some())
    };
    let (well, badly): (Vec<_>, Vec<_>) = ended.into_iter().partition(has_succeeded);
    let api: Api<Job> = workloads.api(cron.key.namespace());
    for (jobs, limit, default) in [
        (well, spec.successful_jobs_history_limit, SUCCESSFUL_DEFAULT),
        (badly, spec.failed_jobs_history_limit, FAILED_DEFAULT),
    ] {
        let limit = usize::try_from(limit.unwrap_or(default)).unwrap_or_default();
        let surplus = jobs.len().saturating_sub(limit);
        for job in jobs.into_iter().take(surplus) {
            let parameters = DeleteParams::background();
            unless_gone(api.delete(job.key.name(), &parameters).await)?;
        }
    }
    Ok(())
}
