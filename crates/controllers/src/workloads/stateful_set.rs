//! Keeps the pods of a stateful set, each with its number, one after the other.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetStatus},
    core::v1::{PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, Volume},
};
use kube::{Api, api::PostParams};
use listwatch::{Next, Object, ObjectKey};

use super::{
    Workloads, pods,
    revision::{CONTROLLER_REVISION_HASH, hash},
};
use crate::objects::exists_already;

/// The label with the name of a pod, by which a service can choose one.
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// The label with the number of a pod.
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

type OwnedPod = Arc<Object<Pod>>;

/// What is to be done next.
enum Step {
    /// The pods with these numbers are missing.
    Create(Vec<i32>),
    /// These pods are too many, or of a former template.
    Delete(Vec<OwnedPod>),
    /// A pod has to begin or to end first.
    Wait,
}

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.stateful_sets.cache().snapshot();
    let Some(set) = snapshot.get(key.as_str()).cloned() else {
        return Ok(Next::AwaitChange);
    };
    let Some(spec) = &set.spec else {
        return Ok(Next::AwaitChange);
    };
    let revision = format!("{}-{}", set.key.name(), hash(&spec.template, 0));
    if set.metadata.deletion_timestamp.is_none() {
        match next_step(spec, &workloads.pods.of(&set.metadata), &revision) {
            Step::Create(numbers) => {
                create(&workloads, (&set, spec), (&numbers, &revision)).await?
            }
            Step::Delete(surplus) => {
                workloads.delete_pods(&surplus).await?;
            }
            Step::Wait => {}
        }
    }
    tell(&workloads, &set, &revision).await?;
    Ok(Next::AwaitChange)
}

/// In order: pods that have ended are replaced, missing ones come from the lowest number on,
/// surplus ones go from the highest on, then outdated ones do. Each waits for the one before it,
/// unless the set says that all may go ahead.
fn next_step(spec: &StatefulSetSpec, owned: &[OwnedPod], revision: &str) -> Step {
    let first = spec
        .ordinals
        .as_ref()
        .and_then(|it| it.start)
        .unwrap_or_default();
    let wanted = first..first + spec.replicas.unwrap_or(1);
    let at_once = spec.pod_management_policy.as_deref() == Some("Parallel");
    let of = |number: i32| owned.iter().find(|pod| number_of(pod) == Some(number));
    let ended = owned.iter().find(|pod| {
        matches!(pods::phase(pod), "Failed" | "Succeeded")
            && pod.metadata.deletion_timestamp.is_none()
    });
    if let Some(ended) = ended {
        return Step::Delete(vec![Arc::clone(ended)]);
    }
    let mut missing = Vec::new();
    for number in wanted.clone() {
        match of(number) {
            None => missing.push(number),
            Some(pod) if !at_once && (pods::is_terminating(pod) || !pods::is_ready(pod)) => {
                return match missing.is_empty() {
                    true => Step::Wait,
                    false => Step::Create(missing),
                };
            }
            Some(_) => {}
        }
        if !at_once && !missing.is_empty() {
            break;
        }
    }
    if !missing.is_empty() {
        return Step::Create(missing);
    }
    let mut surplus: Vec<_> = owned
        .iter()
        .filter(|pod| number_of(pod).is_none_or(|number| !wanted.contains(&number)))
        .cloned()
        .collect();
    surplus.sort_by_key(|pod| std::cmp::Reverse(number_of(pod)));
    if !surplus.is_empty() {
        return match surplus.iter().any(|pod| pods::is_terminating(pod)) && !at_once {
            true => Step::Wait,
            false if at_once => Step::Delete(surplus),
            false => Step::Delete(surplus[..1].to_vec()),
        };
    }
    outdated(spec, owned, revision)
}

fn outdated(spec: &StatefulSetSpec, owned: &[OwnedPod], revision: &str) -> Step {
    let strategy = spec.update_strategy.as_ref();
    if strategy.and_then(|it| it.type_.as_deref()) == Some("OnDelete") {
        return Step::Wait;
    }
    let rolling = strategy.and_then(|it| it.rolling_update.as_ref());
    let partition = rolling.and_then(|it| it.partition).unwrap_or_default();
    let is_settled = owned
        .iter()
        .all(|pod| pods::is_ready(pod) && pod.metadata.deletion_timestamp.is_none());
    let outdated = owned.iter().filter(|pod| {
        revision_of(pod) != Some(revision) && number_of(pod).is_some_and(|it| it >= partition)
    });
    match outdated.max_by_key(|pod| number_of(pod)) {
        Some(pod) if is_settled => Step::Delete(vec![Arc::clone(pod)]),
        Some(_) | None => Step::Wait,
    }
}

fn number_of(pod: &Object<Pod>) -> Option<i32> {
    let (_, number) = pod.key.name().rsplit_once('-')?;
    number.parse().ok()
}

fn revision_of(pod: &Object<Pod>) -> Option<&str> {
    let labels = pod.metadata.labels.as_ref()?;
    labels.get(CONTROLLER_REVISION_HASH).map(String::as_str)
}

async fn create(
    workloads: &Workloads,
    (set, spec): (&Object<StatefulSet>, &StatefulSetSpec),
    (numbers, revision): (&[i32], &str),
) -> kube::Result<()> {
    let mut new = Vec::new();
    for number in numbers {
        let name = format!("{}-{number}", set.key.name());
        let naming = pods::Naming::Exactly(&name);
        let mut pod = pods::from_template(&set.body, naming, &spec.template);
        pods::set_label(&mut pod, POD_NAME, &name);
        pods::set_label(&mut pod, POD_INDEX, &number.to_string());
        pods::set_label(&mut pod, CONTROLLER_REVISION_HASH, revision);
        let pod_spec = pod.spec.get_or_insert_default();
        pod_spec.hostname = Some(name.clone());
        pod_spec.subdomain = spec.service_name.clone();
        for claim in spec.volume_claim_templates.iter().flatten() {
            let claimed = claim_volume(workloads, set, (claim, &name)).await?;
            pod_spec.volumes.get_or_insert_default().push(claimed);
        }
        new.push(pod);
    }
    match workloads.create_pods(set.key.namespace(), new).await {
        // The one of the same number is not gone yet.
        Err(error) if exists_already(&error) => Ok(()),
        other => other,
    }
}

/// The claim of one pod, made if need be, as a volume.
async fn claim_volume(
    workloads: &Workloads,
    set: &Object<StatefulSet>,
    (template, pod): (&PersistentVolumeClaim, &str),
) -> kube::Result<Volume> {
    let volume = template.metadata.name.clone().unwrap_or_default();
    let mut claim = template.clone();
    let name = format!("{volume}-{pod}");
    claim.metadata.name = Some(name.clone());
    claim.metadata.labels = set
        .spec
        .as_ref()
        .and_then(|it| it.selector.match_labels.clone());
    claim.status = None;
    let claims: Api<PersistentVolumeClaim> = workloads.api(set.key.namespace());
    match claims.create(&PostParams::default(), &claim).await {
        Ok(_) => {}
        Err(error) if exists_already(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(Volume {
        name: volume,
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: name,
            read_only: None,
        }),
        ..Volume::default()
    })
}

/// Writes down how far the set is, if that is news.
async fn tell(
    workloads: &Workloads,
    set: &Object<StatefulSet>,
    revision: &str,
) -> kube::Result<()> {
    let owned = workloads.pods.of(&set.metadata);
    let now = workloads.clock.now().0;
    let seconds_min = set.spec.as_ref().and_then(|it| it.min_ready_seconds);
    let count = |test: &dyn Fn(&Object<Pod>) -> bool| {
        i32::try_from(owned.iter().filter(|pod| test(pod)).count()).unwrap_or(i32::MAX)
    };
    let some = |count: i32| Some(count).filter(|count| *count != 0);
    let updated = count(&|pod| revision_of(pod) == Some(revision));
    let total = count(&|_| true);
    let known = set
        .status
        .as_ref()
        .and_then(|it| it.current_revision.clone());
    let current = match updated == total {
        true => revision.to_owned(),
        false => known.unwrap_or_else(|| revision.to_owned()),
    };
    let status = StatefulSetStatus {
        replicas: total,
        ready_replicas: some(count(&|pod| pods::is_ready(pod))),
        available_replicas: Some(count(&|pod| {
            pods::is_available(pod, seconds_min.unwrap_or_default(), now)
        })),
        current_replicas: some(count(&|pod| revision_of(pod) == Some(&current))),
        updated_replicas: some(updated),
        current_revision: Some(current),
        update_revision: Some(revision.to_owned()),
        observed_generation: set.metadata.generation,
        collision_count: Some(0),
        ..StatefulSetStatus::default()
    };
    if set.status.as_ref() == Some(&status) {
        return Ok(());
    }
    let mut next = set.body.clone();
    next.status = Some(status);
    let api: Api<StatefulSet> = workloads.api(set.key.namespace());
    match api
        .replace_status(set.key.name(), &PostParams::default(), &next)
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}
