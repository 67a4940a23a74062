//! Keeps as many pods as a replica set or a replication controller asks for.

mod kinds;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use listwatch::{Next, Object, ObjectKey};

use self::kinds::Counts;
pub(super) use self::kinds::Replicated;
use super::{Workloads, count, pods};
use crate::selection::selects;

/// Pods that are made or deleted before looking again.
const BURST: usize = 500;

type OwnedPod = Arc<Object<Pod>>;

pub(super) async fn reconcile<K: Replicated>(
    key: ObjectKey,
    workloads: Arc<Workloads>,
) -> kube::Result<Next> {
    let snapshot = K::informer(&workloads).cache().snapshot();
    let Some(set) = snapshot.get(key.as_str()).cloned() else {
        return Ok(Next::AwaitChange);
    };
    let Some(selector) = set.selector() else {
        return Ok(Next::AwaitChange);
    };
    let claimed = workloads.claim(&set, &workloads.pods, (&selector, |_: &Object<Pod>| true));
    let owned = claimed.await?;
    let scaled = match set.meta().deletion_timestamp {
        Some(_) => Ok(()),
        None => scale(&workloads, &set, owned).await,
    };
    let failure = scaled.as_ref().err().map(ToString::to_string);
    let next = tell(&workloads, &set, failure).await?;
    scaled.map(|()| next)
}

async fn scale<K: Replicated>(
    workloads: &Workloads,
    set: &Object<K>,
    owned: Vec<OwnedPod>,
) -> kube::Result<()> {
    let wanted = usize::try_from(set.replicas()).unwrap_or_default();
    let owned = owned.into_iter();
    let mut active: Vec<_> = owned.filter(|pod| pods::is_active(pod)).collect();
    if active.len() < wanted {
        let template = set.template();
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
async fn tell<K: Replicated>(
    workloads: &Workloads,
    set: &Object<K>,
    failure: Option<String>,
) -> kube::Result<Next> {
    let now = workloads.clock.now();
    let selector = set.selector().unwrap_or_default();
    let owned = workloads.pods.of(set.meta()).into_iter();
    let owned: Vec<_> = owned
        .filter(|pod| selects(&selector, &pod.labels))
        .collect();
    let active: Vec<_> = owned.iter().filter(|pod| pods::is_active(pod)).collect();
    let template = set.template().metadata.unwrap_or_default().labels;
    let is_fully_labeled = |pod: &Object<Pod>| {
        let mut labels = template.iter().flatten();
        labels.all(|(name, value)| pod.labels.get(name) == Some(value.as_str()))
    };
    let counts = Counts {
        replicas: count(&active, |_| true),
        fully_labeled: count(&active, |pod| is_fully_labeled(pod)),
        ready: count(&active, |pod| pods::is_ready(pod)),
        available: count(&active, |pod| {
            pods::is_available(pod, set.min_ready_seconds(), now.0)
        }),
        terminating: count(&owned, |pod| pods::is_terminating(pod)),
        failure,
    };
    if let Some(next) = set.told(&counts, &now)
        && let Some(written) = workloads.write_status(&next).await?
    {
        super::settle(K::informer(workloads), written.meta()).await;
    }
    Ok(match counts.available < counts.ready {
        true => Next::After(pods::AVAILABLE_PAUSE),
        false => Next::AwaitChange,
    })
}
