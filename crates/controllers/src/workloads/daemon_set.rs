//! Keeps one pod of a daemon set on every node.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        apps::v1::{ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus},
        core::v1::{Node, Pod},
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use listwatch::{Next, Object, ObjectKey};

use super::{
    Workloads, count,
    history::{Author, History},
    pods,
    revision::CONTROLLER_REVISION_HASH,
    some,
};
use crate::share::{Rounding, share};

type OwnedPod = Arc<Object<Pod>>;

/// A set with what is known of it.
struct Sight<'a> {
    set: &'a Object<DaemonSet>,
    spec: &'a DaemonSetSpec,
    nodes: Vec<String>,
    history: &'a History,
}

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.daemon_sets.cache().snapshot();
    let Some(set) = snapshot.get(key.as_str()) else {
        return Ok(Next::AwaitChange);
    };
    let is_kept = set.metadata.deletion_timestamp.is_none();
    let Some(spec) = set.spec.as_ref().filter(|_| is_kept) else {
        return Ok(Next::AwaitChange);
    };
    let history = workloads.history(Author {
        set,
        template: &spec.template,
        collisions: collisions(set),
        label: CONTROLLER_REVISION_HASH,
    });
    let history = history.await?;
    let sight = Sight {
        set,
        spec,
        nodes: nodes(&workloads, spec),
        history: &history,
    };
    let everyone = |_: &Object<Pod>| true;
    let claimed = workloads.claim(set, &workloads.pods, (&spec.selector, everyone));
    let owned = claimed.await?;
    sight.spread(&workloads, &owned).await?;
    let owned = workloads.pods.of(&set.metadata);
    let is_needed = |revision: &ControllerRevision| {
        let hash = hash_of(revision);
        owned.iter().any(|pod| pods::revision(pod) == hash)
    };
    let limit = spec.revision_history_limit;
    workloads
        .forget_history(&history, (limit, is_needed))
        .await?;
    sight.tell(&workloads, &owned).await
}

fn collisions(set: &DaemonSet) -> i32 {
    let status = set.status.as_ref();
    status
        .and_then(|status| status.collision_count)
        .unwrap_or_default()
}

fn hash_of(revision: &ControllerRevision) -> Option<&str> {
    let labels = revision.metadata.labels.as_ref()?;
    labels.get(CONTROLLER_REVISION_HASH).map(String::as_str)
}

/// The nodes that the set is meant for.
fn nodes(workloads: &Workloads, spec: &DaemonSetSpec) -> Vec<String> {
    let pod = spec.template.spec.as_ref();
    let selector = pod
        .and_then(|pod| pod.node_selector.clone())
        .unwrap_or_default();
    let fits = |node: &Object<Node>| {
        let mut wanted = selector.iter();
        wanted.all(|(name, value)| node.labels.get(name) == Some(value.as_str()))
    };
    let snapshot = workloads.nodes.cache().snapshot();
    let nodes = snapshot.iter().filter(|node| fits(node));
    nodes.map(|node| node.key.name().to_owned()).collect()
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

impl Sight<'_> {
    /// Creates what is missing, and deletes what is on the wrong node, has ended, or is of a
    /// former template and may go.
    async fn spread(&self, workloads: &Workloads, owned: &[OwnedPod]) -> kube::Result<()> {
        let is_wanted =
            |pod: &Pod| node_of(pod).is_some_and(|node| self.nodes.iter().any(|it| it == node));
        let mut surplus: Vec<_> = owned
            .iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_none())
            .filter(|pod| !is_wanted(pod) || pods::has_ended(pod))
            .cloned()
            .collect();
        surplus.extend(self.outdated(owned));
        workloads.delete_pods(&surplus).await?;
        let missing = self.nodes.iter().filter(|node| {
            let mut there = owned.iter().filter_map(|pod| node_of(pod));
            !there.any(|it| it == *node)
        });
        let hash = hash_of(&self.history.newest).unwrap_or_default();
        let new = missing.map(|node| {
            let naming = pods::Naming::Beginning(self.set.key.name());
            let mut pod = pods::from_template(&self.set.body, naming, &self.spec.template);
            pods::set_label(&mut pod, CONTROLLER_REVISION_HASH, hash);
            pod.spec.get_or_insert_default().node_name = Some(node.clone());
            pod
        });
        let new = new.collect();
        workloads.create_pods(self.set.key.namespace(), new).await
    }

    /// The pods of former templates that may go now: those that nobody can use, and as many more
    /// as may be missing at a time.
    fn outdated(&self, owned: &[OwnedPod]) -> Vec<OwnedPod> {
        let strategy = self.spec.update_strategy.as_ref();
        if strategy.and_then(|it| it.type_.as_deref()) == Some("OnDelete") {
            return Vec::new();
        }
        let rolling = strategy.and_then(|it| it.rolling_update.as_ref());
        let one = IntOrString::Int(1);
        let bound = rolling.and_then(|it| it.max_unavailable.as_ref());
        let wanted = i32::try_from(self.nodes.len()).unwrap_or(i32::MAX);
        let bound = share(bound.unwrap_or(&one), wanted, Rounding::Up).unwrap_or(1);
        let hash = hash_of(&self.history.newest);
        let is_usable = |pod: &OwnedPod| pods::is_active(pod) && pods::is_ready(pod);
        let usable = count(owned, is_usable);
        let room = usize::try_from(bound.max(1) - (wanted - usable)).unwrap_or_default();
        let outdated = owned
            .iter()
            .filter(|pod| pods::revision(pod) != hash && pods::is_active(pod));
        let (usable, unusable): (Vec<_>, Vec<_>) = outdated.cloned().partition(is_usable);
        unusable
            .into_iter()
            .chain(usable.into_iter().take(room))
            .collect()
    }

    /// Writes down how far the set is, if that is news.
    async fn tell(&self, workloads: &Workloads, owned: &[OwnedPod]) -> kube::Result<Next> {
        let now = workloads.clock.now().0;
        let wanted = i32::try_from(self.nodes.len()).unwrap_or(i32::MAX);
        let active = owned.iter().filter(|pod| pods::is_active(pod));
        let is_placed = |pod: &&OwnedPod| {
            node_of(pod).is_some_and(|it| self.nodes.iter().any(|node| node == it))
        };
        let (placed, misplaced): (Vec<_>, Vec<_>) = active.partition(is_placed);
        let seconds_min = self.spec.min_ready_seconds.unwrap_or_default();
        let ready = count(&placed, |pod| pods::is_ready(pod));
        let available = count(&placed, |pod| pods::is_available(pod, seconds_min, now));
        let hash = hash_of(&self.history.newest);
        let status = DaemonSetStatus {
            current_number_scheduled: count(&placed, |_| true),
            desired_number_scheduled: wanted,
            number_misscheduled: count(&misplaced, |_| true),
            number_ready: ready,
            number_available: some(available),
            number_unavailable: some(wanted - available),
            updated_number_scheduled: some(count(&placed, |pod| pods::revision(pod) == hash)),
            observed_generation: self.set.metadata.generation,
            collision_count: some(self.history.collisions),
            conditions: self
                .set
                .status
                .as_ref()
                .and_then(|it| it.conditions.clone()),
        };
        if self.set.status.as_ref() != Some(&status) {
            let mut next = self.set.body.clone();
            next.status = Some(status);
            workloads.write_status(&next).await?;
        }
        Ok(match available < ready {
            true => Next::After(pods::AVAILABLE_PAUSE),
            false => Next::AwaitChange,
        })
    }
}
