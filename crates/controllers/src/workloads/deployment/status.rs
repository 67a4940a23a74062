//! What a deployment says of itself.

use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSetStatus},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use listwatch::{Next, Object};

use super::{
    Sets,
    progress::{self, PROGRESSING, Sight},
    rollout, wanted,
};
use crate::{
    moment,
    workloads::{Workloads, some},
};

/// The condition of one whose sets cannot have their pods.
const FAILURE: &str = "ReplicaFailure";

/// What a condition is, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) type_: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: String,
    pub(super) message: String,
}

/// Writes down how far it is, if that is news.
pub(super) async fn tell(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    sets: &Sets,
) -> kube::Result<Next> {
    let known = deployment.status.clone().unwrap_or_default();
    let mut status = count(deployment, sets);
    status.collision_count = known.collision_count;
    let now = workloads.clock.now();
    let mut conditions = known.conditions.clone().unwrap_or_default();
    let sight = Sight {
        deployment,
        set: sets.new.as_ref(),
        known: &known,
        now: &status,
    };
    let deadline = progress::deadline(deployment);
    match deadline {
        Some(seconds) => {
            let news = progress::news(&sight, seconds, &now);
            news.into_iter()
                .for_each(|finding| set(&mut conditions, finding, &now));
        }
        None => conditions.retain(|it| it.type_ != PROGRESSING),
    }
    let availability = availability(deployment, &status);
    if is_news(&conditions, &availability) {
        set(&mut conditions, availability, &now);
    }
    match failure(sets) {
        Some(failure) if is_news(&conditions, &failure) => set(&mut conditions, failure, &now),
        Some(_) => {}
        None => conditions.retain(|it| it.type_ != FAILURE),
    }
    let next = progress::next(&conditions, deadline, &now);
    status.conditions = Some(conditions);
    if known != status {
        write(workloads, deployment, status).await?;
    }
    Ok(next)
}

/// Remembers that the name of a set was taken, so that the next attempt takes another.
pub(super) async fn count_collision(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    collisions: i32,
) -> kube::Result<()> {
    let mut status = deployment.status.clone().unwrap_or_default();
    status.collision_count = Some(collisions);
    write(workloads, deployment, status).await
}

async fn write(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    status: DeploymentStatus,
) -> kube::Result<()> {
    let mut next = deployment.body.clone();
    next.status = Some(status);
    // What is written here does not depend on what others write elsewhere.
    next.metadata.resource_version = None;
    workloads.write_status(&next).await.map(drop)
}

fn count(deployment: &Object<Deployment>, sets: &Sets) -> DeploymentStatus {
    let sum = |number: fn(&ReplicaSetStatus) -> i32| -> i32 {
        let statuses = sets.all().filter_map(|set| set.status.as_ref());
        statuses.map(number).sum()
    };
    let replicas = sum(|status| status.replicas);
    let available = sum(|status| status.available_replicas.unwrap_or_default());
    let new = sets.new.as_ref().and_then(|set| set.status.as_ref());
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(replicas),
        updated_replicas: some(new.map_or(0, |status| status.replicas)),
        ready_replicas: some(sum(|status| status.ready_replicas.unwrap_or_default())),
        available_replicas: some(available),
        unavailable_replicas: some((wanted(deployment).max(replicas) - available).max(0)),
        terminating_replicas: Some(sum(|it| it.terminating_replicas.unwrap_or_default())),
        ..DeploymentStatus::default()
    }
}

fn availability(deployment: &Object<Deployment>, now: &DeploymentStatus) -> Finding {
    let available = now.available_replicas.unwrap_or_default();
    let unavailable = match rollout::strategy(deployment) {
        rollout::Strategy::Recreate => 0,
        rollout::Strategy::Rolling(bounds) => bounds.unavailable,
    };
    let (status, reason, message) = match available >= wanted(deployment) - unavailable {
        true => (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        ),
        false => (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        ),
    };
    Finding {
        type_: "Available",
        status,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

/// Why its sets cannot have their pods, that of the newest template first.
fn failure(sets: &Sets) -> Option<Finding> {
    let all = sets.new.iter().chain(&sets.old);
    let conditions = all.flat_map(|set| set.status.iter().flat_map(|it| &it.conditions));
    let found = conditions.flatten().find(|it| it.type_ == FAILURE)?;
    Some(Finding {
        type_: FAILURE,
        status: "True",
        reason: found.reason.clone().unwrap_or_default(),
        message: found.message.clone().unwrap_or_default(),
    })
}

fn is_news(conditions: &[DeploymentCondition], finding: &Finding) -> bool {
    let known = conditions.iter().find(|it| it.type_ == finding.type_);
    known.is_none_or(|known| {
        (known.status.as_str(), known.reason.as_deref())
            != (finding.status, Some(finding.reason.as_str()))
    })
}

fn set(conditions: &mut Vec<DeploymentCondition>, finding: Finding, now: &MicroTime) {
    let now = moment::second(now);
    let mut condition = DeploymentCondition {
        type_: finding.type_.to_owned(),
        status: finding.status.to_owned(),
        reason: Some(finding.reason),
        message: Some(finding.message),
        last_update_time: Some(now.clone()),
        last_transition_time: Some(now),
    };
    match conditions.iter_mut().find(|it| it.type_ == finding.type_) {
        Some(known) => {
            if known.status == condition.status {
                condition.last_transition_time = known.last_transition_time.clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}
