//! Replaces the pods of a deployment by those of its newest template, a few at a time.

mod annotations;
mod progress;
mod rollout;
mod status;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use listwatch::{Next, Object, ObjectKey};
use serde_json::{Value, json};

use self::annotations::{REVISION, revision};
use super::{
    Workloads, pods,
    revision::{POD_TEMPLATE_HASH, hash, is_same},
};
use crate::objects::{exists_already, unless_gone};

/// How many replica sets without pods are kept to go back to.
const HISTORY_DEFAULT: i32 = 10;

type Set = Arc<Object<ReplicaSet>>;

/// The replica sets of a deployment.
struct Sets {
    /// The one of the newest template, once there is one.
    new: Option<Set>,
    /// Those of former templates, oldest first.
    old: Vec<Set>,
}

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.deployments.cache().snapshot();
    let Some(deployment) = snapshot.get(key.as_str()).cloned() else {
        return Ok(Next::AwaitChange);
    };
    if deployment.metadata.deletion_timestamp.is_some() {
        return Ok(Next::AwaitChange);
    }
    let is_paused = spec(&deployment).and_then(|spec| spec.paused) == Some(true);
    let sets = Sets::claim(&workloads, &deployment).await?;
    match (is_paused, rollout::strategy(&deployment)) {
        (true, _) => rollout::keep_size(&workloads, &deployment, &sets).await?,
        (false, rollout::Strategy::Recreate) => {
            rollout::recreate(&workloads, &deployment, sets).await?;
        }
        (false, rollout::Strategy::Rolling(bounds)) => {
            rollout::roll(&workloads, &deployment, (sets, bounds)).await?;
        }
    }
    let sets = Sets::of(&workloads, &deployment);
    forget_old(&workloads, &deployment, &sets).await?;
    status::tell(&workloads, &deployment, &sets).await
}

impl Sets {
    /// Those that it has, after it took what is its own.
    async fn claim(workloads: &Workloads, deployment: &Object<Deployment>) -> kube::Result<Self> {
        if let Some(spec) = spec(deployment) {
            let everyone = |_: &Object<ReplicaSet>| true;
            let selector = (&spec.selector, everyone);
            workloads
                .claim(deployment, &workloads.replica_sets, selector)
                .await?;
        }
        Ok(Self::of(workloads, deployment))
    }

    fn of(workloads: &Workloads, deployment: &Object<Deployment>) -> Self {
        let mut old = workloads.replica_sets.of(&deployment.metadata);
        old.sort_by_key(|set| (revision(&set.metadata), set.key.clone()));
        let template = spec(deployment).map(|spec| &spec.template);
        let of_template = |set: &Set| {
            let own = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            matches!((own, template), (Some(own), Some(wanted)) if is_same(own, wanted))
        };
        let new = old
            .iter()
            .position(of_template)
            .map(|place| old.remove(place));
        Self { new, old }
    }

    fn all(&self) -> impl Iterator<Item = &Set> {
        self.old.iter().chain(&self.new)
    }
}

fn spec(deployment: &Object<Deployment>) -> Option<&k8s_openapi::api::apps::v1::DeploymentSpec> {
    deployment.spec.as_ref()
}

/// How many pods are wanted.
fn wanted(deployment: &Object<Deployment>) -> i32 {
    spec(deployment).and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How many pods a set is asked for.
fn size(set: &ReplicaSet) -> i32 {
    set.spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1)
}

/// The set of the newest template, made if need be, with the newest revision.
async fn newest_set(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    (sets, replicas): (&Sets, i32),
) -> kube::Result<()> {
    let newest_old = sets.old.iter().map(|set| revision(&set.metadata)).max();
    let next = newest_old.unwrap_or_default() + 1;
    match &sets.new {
        Some(set) => {
            let number = revision(&set.metadata).max(next);
            let wanted = annotations::wanted_of(deployment, (number, &set.metadata));
            let known = set.metadata.annotations.clone().unwrap_or_default();
            let mut wanted_pairs = wanted.iter();
            if wanted_pairs.any(|(name, value)| known.get(name) != Some(value)) {
                let patch = json!({"metadata": {"annotations": wanted}});
                patch_set(workloads, set, &patch).await?;
            }
            number_deployment(workloads, deployment, number).await
        }
        None => {
            create_set(workloads, deployment, (replicas, next)).await?;
            number_deployment(workloads, deployment, next).await
        }
    }
}

async fn create_set(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    (replicas, number): (i32, i64),
) -> kube::Result<()> {
    let Some(spec) = spec(deployment) else {
        return Ok(());
    };
    let status = deployment.status.as_ref();
    let collisions = status.and_then(|it| it.collision_count).unwrap_or_default();
    let hash = hash(&spec.template, collisions);
    let mut template = spec.template.clone();
    let metadata = template.metadata.get_or_insert_default();
    let labels = metadata.labels.get_or_insert_with(BTreeMap::new);
    labels.insert(POD_TEMPLATE_HASH.to_owned(), hash.clone());
    let labels = labels.clone();
    let mut selector = spec.selector.clone();
    let matched = selector.match_labels.get_or_insert_with(BTreeMap::new);
    matched.insert(POD_TEMPLATE_HASH.to_owned(), hash.clone());
    let set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", deployment.key.name())),
            labels: Some(labels),
            annotations: Some(annotations::wanted_of(
                deployment,
                (number, &ObjectMeta::default()),
            )),
            owner_references: pods::reference_to(&deployment.body).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(replicas),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    };
    let api: Api<ReplicaSet> = workloads.api(deployment.key.namespace());
    match api.create(&PostParams::default(), &set).await {
        Ok(created) => {
            workloads.replica_sets.settle(&created.metadata).await;
            Ok(())
        }
        Err(error) if exists_already(&error) => {
            status::count_collision(workloads, deployment, collisions + 1).await
        }
        Err(error) => Err(error),
    }
}

/// Asks a set for another number of pods.
async fn resize(workloads: &Workloads, set: &Set, replicas: i32) -> kube::Result<()> {
    match size(set) == replicas {
        true => Ok(()),
        false => patch_set(workloads, set, &json!({"spec": {"replicas": replicas}})).await,
    }
}

async fn patch_set(workloads: &Workloads, set: &Set, patch: &Value) -> kube::Result<()> {
    let api: Api<ReplicaSet> = workloads.api(set.key.namespace());
    let parameters = PatchParams::default();
    let patched = api
        .patch(set.key.name(), &parameters, &Patch::Merge(patch))
        .await?;
    workloads.replica_sets.settle(&patched.metadata).await;
    Ok(())
}

async fn number_deployment(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    number: i64,
) -> kube::Result<()> {
    if revision(&deployment.metadata) == number {
        return Ok(());
    }
    let api: Api<Deployment> = workloads.api(deployment.key.namespace());
    let patch = json!({"metadata": {"annotations": {REVISION: number.to_string()}}});
    let parameters = PatchParams::default();
    let patch = Patch::Merge(&patch);
    let patched = api.patch(deployment.key.name(), &parameters, &patch).await;
    patched.map(drop)
}

/// Deletes the oldest sets that have no pods, beyond those that are kept.
async fn forget_old(
    workloads: &Workloads,
    deployment: &Object<Deployment>,
    sets: &Sets,
) -> kube::Result<()> {
    let limit = spec(deployment).and_then(|spec| spec.revision_history_limit);
    let limit = usize::try_from(limit.unwrap_or(HISTORY_DEFAULT)).unwrap_or_default();
    let idle = sets.old.iter().filter(|set| {
        size(set) == 0
            && set
                .status
                .as_ref()
                .is_none_or(|status| status.replicas == 0)
    });
    let idle: Vec<_> = idle.collect();
    let surplus = idle.len().saturating_sub(limit);
    let api: Api<ReplicaSet> = workloads.api(deployment.key.namespace());
    for set in idle.into_iter().take(surplus) {
        let parameters = DeleteParams::background();
        unless_gone(api.delete(set.key.name(), &parameters).await)?;
    }
    Ok(())
}
