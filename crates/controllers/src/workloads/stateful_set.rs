//! Keeps the pods of a stateful set, each with its number, one after the other.

use std::{cmp::Reverse, ops::Range, sync::Arc};

use k8s_openapi::{
    api::{
        apps::v1::{ControllerRevision, StatefulSet, StatefulSetSpec, StatefulSetStatus},
        core::v1::{
            PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume,
        },
    },
    apimachinery::pkg::util::intstr::IntOrString,
    jiff::Timestamp,
};
use kube::{Api, api::PostParams};
use listwatch::{Next, Object, ObjectKey};

use super::{
    Workloads, count,
    history::{self, Author, History},
    pods,
    revision::CONTROLLER_REVISION_HASH,
    some,
};
use crate::{
    objects::exists_already,
    share::{Rounding, share},
};

/// The label with the name of a pod, by which a service can choose one.
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// The label with the number of a pod.
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The label with the hash of a revision.
const REVISION_HASH: &str = "controller.kubernetes.io/hash";

type OwnedPod = Arc<Object<Pod>>;

/// A set with the templates that count: that of the present, and the one before as long as pods
/// are to have it.
struct Sight<'a> {
    set: &'a Object<StatefulSet>,
    spec: &'a StatefulSetSpec,
    current: &'a ControllerRevision,
    update: &'a ControllerRevision,
    collisions: i32,
}

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
    let Some(set) = snapshot.get(key.as_str()) else {
        return Ok(Next::AwaitChange);
    };
    let is_kept = set.metadata.deletion_timestamp.is_none();
    let Some(spec) = set.spec.as_ref().filter(|_| is_kept) else {
        return Ok(Next::AwaitChange);
    };
    let known = set.status.as_ref();
    let history = workloads.history(Author {
        set,
        template: &spec.template,
        collisions: known.and_then(|it| it.collision_count).unwrap_or_default(),
        label: REVISION_HASH,
    });
    let history = history.await?;
    let sight = Sight {
        set,
        spec,
        current: history.find(known.and_then(|it| it.current_revision.as_deref())),
        update: &history.newest,
        collisions: history.collisions,
    };
    let is_numbered = |pod: &Object<Pod>| number_of(set, pod).is_some();
    let claimed = workloads.claim(set, &workloads.pods, (&spec.selector, is_numbered));
    match sight.next_step(&claimed.await?) {
        Step::Create(numbers) => sight.create(&workloads, &numbers).await?,
        Step::Delete(surplus) => workloads.delete_pods(&surplus).await?,
        Step::Wait => {}
    }
    let owned = workloads.pods.of(&set.metadata);
    sight.forget(&workloads, (&history, &owned)).await?;
    sight.tell(&workloads, &owned).await
}

/// The number of a pod of a set; `None` if it is not named after it.
fn number_of(set: &Object<StatefulSet>, pod: &Object<Pod>) -> Option<i32> {
    let (name, number) = pod.key.name().rsplit_once('-')?;
    let number = number.parse().ok()?;
    (name == set.key.name()).then_some(number)
}

impl Sight<'_> {
    /// The numbers of the pods that should be there.
    fn wanted(&self) -> Range<i32> {
        let ordinals = self.spec.ordinals.as_ref();
        let first = ordinals.and_then(|it| it.start).unwrap_or_default();
        first..first + self.spec.replicas.unwrap_or(1)
    }

    fn number_of(&self, pod: &Object<Pod>) -> Option<i32> {
        number_of(self.set, pod)
    }

    fn is_rolling(&self) -> bool {
        let strategy = self.spec.update_strategy.as_ref();
        strategy.and_then(|it| it.type_.as_deref()) != Some("OnDelete")
    }

    /// The numbers from which on pods get the newest template, and how many of them may be
    /// missing at a time.
    fn rolling(&self) -> (i32, i32) {
        let strategy = self.spec.update_strategy.as_ref();
        let rolling = strategy.and_then(|it| it.rolling_update.as_ref());
        let partition = rolling.and_then(|it| it.partition).unwrap_or_default();
        let one = IntOrString::Int(1);
        let bound = rolling.and_then(|it| it.max_unavailable.as_ref());
        let replicas = self.spec.replicas.unwrap_or(1);
        let bound = share(bound.unwrap_or(&one), replicas, Rounding::Up);
        (self.wanted().start + partition, bound.unwrap_or(1).max(1))
    }

    /// In order: pods that have ended are replaced, missing ones come from the lowest number on,
    /// surplus ones go from the highest on, then outdated ones do. Each waits for the one before
    /// it, unless the set says that all may go ahead.
    fn next_step(&self, owned: &[OwnedPod]) -> Step {
        let at_once = self.spec.pod_management_policy.as_deref() == Some("Parallel");
        let wanted = self.wanted();
        let ended = owned
            .iter()
            .find(|pod| pods::has_ended(pod) && pod.metadata.deletion_timestamp.is_none());
        if let Some(ended) = ended {
            return Step::Delete(vec![Arc::clone(ended)]);
        }
        let mut missing = Vec::new();
        for number in wanted.clone() {
            match owned.iter().find(|pod| self.number_of(pod) == Some(number)) {
                None => missing.push(number),
                Some(pod) if !at_once && (pods::is_terminating(pod) || !pods::is_ready(pod)) => {
                    return Step::Wait;
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
        let is_surplus = |pod: &&OwnedPod| {
            self.number_of(pod)
                .is_none_or(|number| !wanted.contains(&number))
        };
        let mut surplus: Vec<_> = owned.iter().filter(is_surplus).cloned().collect();
        surplus.sort_by_key(|pod| Reverse(self.number_of(pod)));
        match surplus.as_slice() {
            [] => self.outdated(owned),
            all if at_once => Step::Delete(all.to_vec()),
            all if all.iter().any(|pod| pods::is_terminating(pod)) => Step::Wait,
            all => Step::Delete(all[..1].to_vec()),
        }
    }

    fn outdated(&self, owned: &[OwnedPod]) -> Step {
        if !self.is_rolling() {
            return Step::Wait;
        }
        let (first, bound) = self.rolling();
        let is_missing = |pod: &OwnedPod| !pods::is_active(pod) || !pods::is_ready(pod);
        let room = usize::try_from(bound - count(owned, is_missing)).unwrap_or_default();
        let update = history::name(self.update);
        let mut outdated: Vec<_> = owned
            .iter()
            .filter(|pod| {
                pods::is_active(pod)
                    && pods::revision(pod) != Some(update)
                    && self.number_of(pod).is_some_and(|it| it >= first)
            })
            .cloned()
            .collect();
        outdated.sort_by_key(|pod| Reverse(self.number_of(pod)));
        outdated.truncate(room);
        match outdated.is_empty() {
            true => Step::Wait,
            false => Step::Delete(outdated),
        }
    }

    /// The template of the pod with this number, and its revision.
    fn template(&self, number: i32) -> (PodTemplateSpec, &str) {
        let (first, _) = self.rolling();
        let current = history::template(self.current);
        match current.filter(|_| self.is_rolling() && number < first) {
            Some(template) => (template, history::name(self.current)),
            None => (self.spec.template.clone(), history::name(self.update)),
        }
    }

    async fn create(&self, workloads: &Workloads, numbers: &[i32]) -> kube::Result<()> {
        let mut new = Vec::new();
        for &number in numbers {
            let name = format!("{}-{number}", self.set.key.name());
            let (template, revision) = self.template(number);
            let naming = pods::Naming::Exactly(&name);
            let mut pod = pods::from_template(&self.set.body, naming, &template);
            pods::set_label(&mut pod, POD_NAME, &name);
            pods::set_label(&mut pod, POD_INDEX, &number.to_string());
            pods::set_label(&mut pod, CONTROLLER_REVISION_HASH, revision);
            let pod_spec = pod.spec.get_or_insert_default();
            pod_spec.hostname = Some(name.clone());
            pod_spec.subdomain = self.spec.service_name.clone();
            for claim in self.spec.volume_claim_templates.iter().flatten() {
                let claimed = claim_volume(workloads, self.set, (claim, &name)).await?;
                let volumes = pod_spec.volumes.get_or_insert_default();
                volumes.retain(|volume| volume.name != claimed.name);
                volumes.push(claimed);
            }
            new.push(pod);
        }
        match workloads.create_pods(self.set.key.namespace(), new).await {
            // The one of the same number is not gone yet.
            Err(error) if exists_already(&error) => Ok(()),
            other => other,
        }
    }

    async fn forget(
        &self,
        workloads: &Workloads,
        (history, owned): (&History, &[OwnedPod]),
    ) -> kube::Result<()> {
        let current = history::name(self.current);
        let is_needed = |revision: &ControllerRevision| {
            let name = history::name(revision);
            let mut made = owned.iter().filter_map(|pod| pods::revision(pod));
            name == current || made.any(|revision| revision == name)
        };
        let limit = self.spec.revision_history_limit;
        workloads.forget_history(history, (limit, is_needed)).await
    }

    /// Writes down how far the set is, if that is news.
    async fn tell(&self, workloads: &Workloads, owned: &[OwnedPod]) -> kube::Result<Next> {
        let status = self.status(owned, workloads.clock.now().0);
        let ready = status.ready_replicas.unwrap_or_default();
        let is_settled = status.available_replicas.unwrap_or_default() >= ready;
        if self.set.status.as_ref() != Some(&status) {
            let mut next = self.set.body.clone();
            next.status = Some(status);
            workloads.write_status(&next).await?;
        }
        Ok(match is_settled {
            true => Next::AwaitChange,
            false => Next::After(pods::AVAILABLE_PAUSE),
        })
    }

    fn status(&self, owned: &[OwnedPod], now: Timestamp) -> StatefulSetStatus {
        let (current, update) = (history::name(self.current), history::name(self.update));
        let seconds_min = self.spec.min_ready_seconds.unwrap_or_default();
        let made_from = |revision: &str| {
            count(owned, |pod| {
                pods::is_active(pod) && pods::revision(pod) == Some(revision)
            })
        };
        let replicas = count(owned, |_| true);
        let ready = count(owned, |pod| pods::is_ready(pod));
        let updated = made_from(update);
        let wanted = self.spec.replicas.unwrap_or(1);
        let is_complete =
            self.is_rolling() && [replicas, ready, updated].iter().all(|it| *it == wanted);
        let current = match is_complete {
            true => update,
            false => current,
        };
        StatefulSetStatus {
            replicas,
            ready_replicas: some(ready),
            available_replicas: Some(count(owned, |pod| {
                pods::is_available(pod, seconds_min, now)
            })),
            current_replicas: some(made_from(current)),
            updated_replicas: some(updated),
            current_revision: Some(current.to_owned()),
            update_revision: Some(update.to_owned()),
            observed_generation: self.set.metadata.generation,
            collision_count: Some(self.collisions),
            conditions: self
                .set
                .status
                .as_ref()
                .and_then(|it| it.conditions.clone()),
        }
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
