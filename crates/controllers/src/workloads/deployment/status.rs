//! What a deployment says of its progress.

use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSetStatus},
    apimachinery::pkg::apis::meta::v1::{MicroTime, Time},
    jiff::Timestamp,
};
use kube::{Api, api::PostParams};
use listwatch::Object;

use super::{Sets, rollout, wanted};
use crate::workloads::Workloads;

/// What a condition is, and why.
struct Finding {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Writes down how far it is, if that is news.
pub(super) async fn tell(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    sets: &Sets,
) -> kube::Result<()> {
    let known = deployment.status.clone().unwrap_or_default();
    let mut status = count(deployment, sets);
    status.collision_count = known.collision_count;
    status.conditions = known.conditions.clone();
    let now = workloads.clock.now();
    let conditions = status.conditions.get_or_insert_default();
    let findings = [
        progressing(deployment, sets, &known),
        availability(deployment, sets),
    ];
    for finding in findings.into_iter().flatten() {
        set(conditions, finding, &now);
    }
    if known == status {
        return Ok(());
    }
    write(workloads, deployment, status).await
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
    let api: Api<Deployment> = workloads.api(deployment.key.namespace());
    let parameters = PostParams::default();
    match api
        .replace_status(deployment.key.name(), &parameters, &next)
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

fn count(deployment: &Object<Deployment>, sets: &Sets) -> DeploymentStatus {
    let sum = |number: fn(&ReplicaSetStatus) -> i32| -> i32 {
        sets.all()
            .filter_map(|set| set.status.as_ref())
            .map(number)
            .sum()
    };
    let replicas = sum(|status| status.replicas);
    let available = sum(|status| status.available_replicas.unwrap_or_default());
    let new = sets.new.as_ref().and_then(|set| set.status.as_ref());
    let some = |count: i32| Some(count).filter(|count| *count != 0);
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(replicas),
        updated_replicas: some(new.map_or(0, |status| status.replicas)),
        ready_replicas: some(sum(|status| status.ready_replicas.unwrap_or_default())),
        available_replicas: some(available),
        unavailable_replicas: some((wanted(deployment).max(replicas) - available).max(0)),
        ..DeploymentStatus::default()
    }
}

fn progressing(
    deployment: &Object<Deployment>,
    sets: &Sets,
    known: &DeploymentStatus,
) -> Option<Finding> {
    let set = sets.new.as_ref()?;
    let now = count(deployment, sets);
    let wanted = Some(wanted(deployment)).filter(|wanted| *wanted != 0);
    let is_complete = now.updated_replicas == wanted
        && now.replicas == wanted
        && now.available_replicas == wanted;
    let name = set.key.name();
    let finding = |reason, message| Finding {
        type_: "Progressing",
        status: "True",
        reason,
        message,
    };
    if is_complete {
        let message = format!("ReplicaSet {name:?} has successfully progressed.");
        return Some(finding("NewReplicaSetAvailable", message));
    }
    let is_first = known.conditions.as_ref().is_none_or(Vec::is_empty);
    Some(match is_first {
        true => finding(
            "NewReplicaSetCreated",
            format!("Created new replica set {name:?}"),
        ),
        false => finding(
            "ReplicaSetUpdated",
            format!("ReplicaSet {name:?} is progressing."),
        ),
    })
}

fn availability(deployment: &Object<Deployment>, sets: &Sets) -> Option<Finding> {
    let available = count(deployment, sets)
        .available_replicas
        .unwrap_or_default();
    let unavailable = match rollout::strategy(deployment) {
        rollout::Strategy::Recreate => 0,
        rollout::Strategy::Rolling(bounds) => bounds.unavailable,
    };
    let is_available = available >= wanted(deployment) - unavailable;
    let (status, reason, message) = match is_available {
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
    Some(Finding {
        type_: "Available",
        status,
        reason,
        message: message.to_owned(),
    })
}

fn set(conditions: &mut Vec<DeploymentCondition>, finding: Finding, now: &MicroTime) {
    let now = Timestamp::from_second(now.0.as_second()).expect("whole seconds stay in range");
    let mut condition = DeploymentCondition {
        type_: finding.type_.to_owned(),
        status: finding.status.to_owned(),
        reason: Some(finding.reason.to_owned()),
        message: Some(finding.message),
        last_update_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    };
    let known = conditions.iter_mut().find(|it| it.type_ == finding.type_);
    let Some(known) = known else {
        conditions.push(condition);
        return;
    };
    if known.status == condition.status {
        condition.last_transition_time = known.last_transition_time.clone();
    }
    if (&known.status, &known.reason) == (&condition.status, &condition.reason) {
        condition.last_update_time = known.last_update_time.clone();
    }
    *known = condition;
}
