//! Keeps one pod of a daemon set on every node.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::{
    apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetStatus},
    core::v1::{Node, Pod},
};
use kube::{Api, api::PostParams};
use listwatch::{Next, Object, ObjectKey};

use super::{
    Workloads, pods,
    revision::{CONTROLLER_REVISION_HASH, hash},
};

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.daemon_sets.cache().snapshot();
    let Some(set) = snapshot.get(key.as_str()).cloned() else {
        return Ok(Next::AwaitChange);
    };
    let Some(spec) = &set.spec else {
        return Ok(Next::AwaitChange);
    };
    let revision = hash(&spec.template, 0);
    if set.metadata.deletion_timestamp.is_none() {
        spread(&workloads, (&set, spec), &revision).await?;
    }
    tell(&workloads, (&set, spec), &revision).await?;
    Ok(Next::AwaitChange)
}

/// The nodes that the set is meant for.
fn nodes(workloads: &Workloads, spec: &DaemonSetSpec) -> Vec<String> {
    let pod = spec.template.spec.as_ref();
    let selector = pod
        .and_then(|pod| pod.node_selector.clone())
        .unwrap_or_default();
    let fits = |node: &Node| {
        let labels = node.metadata.labels.clone().unwrap_or_default();
        selector
            .iter()
            .all(|(name, value)| labels.get(name) == Some(value))
    };
    let snapshot = workloads.nodes.cache().snapshot();
    let nodes = snapshot.iter().filter(|node| fits(node));
    nodes.map(|node| node.key.name().to_owned()).collect()
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Creates what is missing, and deletes what is on the wrong node or of a former template: of the
/// latter one at a time, while all others are ready.
async fn spread(
    workloads: &Workloads,
    (set, spec): (&Object<DaemonSet>, &DaemonSetSpec),
    revision: &str,
) -> kube::Result<()> {
    let nodes = nodes(workloads, spec);
    let owned = workloads.pods.of(&set.metadata);
    let is_wanted = |pod: &Pod| node_of(pod).is_some_and(|node| nodes.iter().any(|it| it == node));
    let has_ended = |pod: &Pod| matches!(pods::phase(pod), "Succeeded" | "Failed");
    let mut surplus: Vec<_> = owned
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .filter(|pod| !is_wanted(pod) || has_ended(pod))
        .cloned()
        .collect();
    let is_settled = owned.len() == nodes.len() && owned.iter().all(|pod| pods::is_ready(pod));
    if is_settled {
        let outdated = owned.iter().find(|pod| revision_of(pod) != Some(revision));
        surplus.extend(outdated.cloned());
    }
    workloads.delete_pods(&surplus).await?;
    let missing = nodes.iter().filter(|node| {
        let mut there = owned.iter().filter_map(|pod| node_of(pod));
        !there.any(|it| it == *node)
    });
    let new = missing.map(|node| {
        let naming = pods::Naming::Beginning(set.key.name());
        let mut pod = pods::from_template(&set.body, naming, &spec.template);
        pods::set_label(&mut pod, CONTROLLER_REVISION_HASH, revision);
        pod.spec.get_or_insert_default().node_name = Some(node.clone());
        pod
    });
    let new = new.collect();
    workloads.create_pods(set.key.namespace(), new).await
}

fn revision_of(pod: &Pod) -> Option<&str> {
    let labels: &BTreeMap<_, _> = pod.metadata.labels.as_ref()?;
    labels.get(CONTROLLER_REVISION_HASH).map(String::as_str)
}

/// Writes down how far the set is, if that is news.
async fn tell(
    workloads: &Workloads,
    (set, spec): (&Object<DaemonSet>, &DaemonSetSpec),
    revision: &str,
) -> kube::Result<()> {
    let wanted = i32::try_from(nodes(workloads, spec).len()).unwrap_or(i32::MAX);
    let owned = workloads.pods.of(&set.metadata);
    let active: Vec<_> = owned.iter().filter(|pod| pods::is_active(pod)).collect();
    let count = |test: &dyn Fn(&Pod) -> bool| {
        i32::try_from(active.iter().filter(|pod| test(pod)).count()).unwrap_or(i32::MAX)
    };
    let some = |count: i32| Some(count).filter(|count| *count != 0);
    let ready = count(&pods::is_ready);
    let status = DaemonSetStatus {
        current_number_scheduled: count(&|_| true),
        desired_number_scheduled: wanted,
        number_misscheduled: 0,
        number_ready: ready,
        number_available: some(ready),
        number_unavailable: some(wanted - ready),
        updated_number_scheduled: some(count(&|pod| revision_of(pod) == Some(revision))),
        observed_generation: set.metadata.generation,
        ..DaemonSetStatus::default()
    };
    if set.status.as_ref() == Some(&status) {
        return Ok(());
    }
    let mut next = set.body.clone();
    next.status = Some(status);
    let api: Api<DaemonSet> = workloads.api(set.key.namespace());
    match api
        .replace_status(set.key.name(), &PostParams::default(), &next)
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}
