//! Keeps as many pods as a replica set asks for.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{
    apps::v1::{ReplicaSet, ReplicaSetStatus},
    core::v1::Pod,
};
use kube::{Api, api::PostParams};
use listwatch::{Next, Object, ObjectKey};

use super::{Workloads, pods};

/// Pods that are made or deleted before looking again.
const BURST: usize = 500;

pub(super) async fn reconcile(key: ObjectKey, workloads: Arc<Workloads>) -> kube::Result<Next> {
    let snapshot = workloads.replica_sets.informer.cache().snapshot();
    let Some(set) = snapshot.get(key.as_str()).cloned() else {
        return Ok(Next::AwaitChange);
    };
    let Some(spec) = &set.spec else {
        return Ok(Next::AwaitChange);
    };
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or_default();
    if set.metadata.deletion_timestamp.is_none() {
        scale(&workloads, &set, wanted).await?;
    }
    tell(&workloads, &set).await
}

async fn scale(workloads: &Workloads, set: &Object<ReplicaSet>, wanted: usize) -> kube::Result<()> {
    let owned = workloads.pods.of(&set.metadata);
    let owned = owned.into_iter();
    let mut active: Vec<_> = owned.filter(|pod| pods::is_active(pod)).collect();
    if active.len() < wanted {
        let template = set.spec.as_ref().and_then(|spec| spec.template.clone());
        let template = template.unwrap_or_default();
        let pod = || {
            let naming = pods::Naming::Beginning(set.key.name());
            pods::from_template(&set.body, naming, &template)
        };
        let missing = (wanted - active.len()).min(BURST);
        let new = std::iter::repeat_with(pod).take(missing).collect();
        return workloads.create_pods(set.key.namespace(), new).await;
    }
    active.sort_by_key(|pod| usefulness(pod));
    let surplus = (active.len() - wanted).min(BURST);
    workloads.delete_pods(&active[..surplus]).await
}

/// The least useful go first: not placed, not begun, not ready, then the youngest.
fn usefulness(pod: &Object<Pod>) -> (bool, bool, bool, i64) {
    let spec = pod.spec.as_ref();
    let created = pod.metadata.creation_timestamp.as_ref();
    (
        spec.is_some_and(|spec| spec.node_name.is_some()),
        pods::phase(pod) == "Running",
        pods::is_ready(pod),
        created.map_or(0, |time| -time.0.as_second()),
    )
}

/// Writes down how many pods there are, if that is news.
async fn tell(workloads: &Workloads, set: &Object<ReplicaSet>) -> kube::Result<Next> {
    let owned = workloads.pods.of(&set.metadata);
    let now = workloads.clock.now().0;
    let seconds_min = set.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
    let seconds_min = seconds_min.unwrap_or_default();
    let active: Vec<_> = owned.iter().filter(|pod| pods::is_active(pod)).collect();
    let count = |test: &dyn Fn(&Pod) -> bool| {
        let found = active.iter().filter(|pod| test(pod)).count();
        i32::try_from(found).unwrap_or(i32::MAX)
    };
    let ready = count(&pods::is_ready);
    let available = count(&|pod| pods::is_available(pod, seconds_min, now));
    let status = ReplicaSetStatus {
        replicas: count(&|_| true),
        fully_labeled_replicas: some(count(&|_| true)),
        ready_replicas: some(ready),
        available_replicas: some(available),
        observed_generation: set.metadata.generation,
        ..ReplicaSetStatus::default()
    };
    if set.status.as_ref() != Some(&status) {
        let mut next = set.body.clone();
        next.status = Some(status);
        let api: Api<ReplicaSet> = workloads.api(set.key.namespace());
        let written = api
            .replace_status(set.key.name(), &PostParams::default(), &next)
            .await;
        match written {
            Ok(written) => workloads.replica_sets.settle(&written.metadata).await,
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(match available < ready {
        true => Next::After(Duration::from_secs(1)),
        false => Next::AwaitChange,
    })
}

/// Kubernetes leaves out what is nought.
fn some(count: i32) -> Option<i32> {
    Some(count).filter(|count| *count != 0)
}
