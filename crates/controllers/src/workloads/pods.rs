//! Pods as their controllers see them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::{Pod, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Resource,
    api::{DeleteParams, PostParams, Preconditions},
};
use listwatch::Object;

use super::{Workloads, revision::CONTROLLER_REVISION_HASH};
use crate::objects::unless_gone;

/// How long to wait for pods that are ready to be so for long enough.
pub(super) const AVAILABLE_PAUSE: Duration = Duration::from_secs(1);

/// What a new pod is called.
pub(super) enum Naming<'a> {
    /// Exactly this.
    Exactly(&'a str),
    /// This and something that makes it unique.
    Beginning(&'a str),
}

/// The pod that a template describes.
pub(super) fn from_template<K>(owner: &K, naming: Naming<'_>, template: &PodTemplateSpec) -> Pod
where
    K: Resource<DynamicType = ()>,
{
    let given = template.metadata.clone().unwrap_or_default();
    let (name, generate_name) = match naming {
        Naming::Exactly(name) => (Some(name.to_owned()), None),
        Naming::Beginning(name) => (None, Some(format!("{name}-"))),
    };
    Pod {
        metadata: ObjectMeta {
            name,
            generate_name,
            labels: given.labels,
            annotations: given.annotations,
            finalizers: given.finalizers,
            owner_references: reference_to(owner).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// The reference by which an object says who made it.
pub(crate) fn reference_to<K: Resource<DynamicType = ()>>(owner: &K) -> Option<OwnerReference> {
    let mut reference = owner.controller_owner_ref(&())?;
    reference.block_owner_deletion = Some(true);
    Some(reference)
}

/// The label of a pod.
pub(super) fn set_label(pod: &mut Pod, name: &str, value: &str) {
    let labels = pod.metadata.labels.get_or_insert_with(BTreeMap::new);
    labels.insert(name.to_owned(), value.to_owned());
}

/// The revision of its set that a pod was made from.
pub(super) fn revision(pod: &Pod) -> Option<&str> {
    let labels = pod.metadata.labels.as_ref()?;
    labels.get(CONTROLLER_REVISION_HASH).map(String::as_str)
}

pub(super) fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|it| it.phase.as_deref())
        .unwrap_or_default()
}

/// Whether it runs or will, and stays.
pub(super) fn is_active(pod: &Pod) -> bool {
    !has_ended(pod) && pod.metadata.deletion_timestamp.is_none()
}

/// Whether its containers have ended.
pub(super) fn has_ended(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether it is going.
pub(super) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some() && !has_ended(pod)
}

/// Since when it can be used; `None` if it cannot.
pub(super) fn ready_since(pod: &Pod) -> Option<Option<Time>> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|it| it.type_ == "Ready")?;
    (ready.status == "True").then(|| ready.last_transition_time.clone())
}

/// Whether it can be used.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    ready_since(pod).is_some()
}

/// Whether it could be used for so many seconds.
pub(super) fn is_available(pod: &Pod, seconds_min: i32, now: Timestamp) -> bool {
    match ready_since(pod) {
        None => false,
        Some(_) if seconds_min <= 0 => true,
        Some(since) => since
            .is_some_and(|since| now.as_second() - since.0.as_second() >= i64::from(seconds_min)),
    }
}

impl Workloads {
    /// Creates pods, and waits until they show.
    pub(super) async fn create_pods(
        &self,
        namespace: Option<&str>,
        pods: Vec<Pod>,
    ) -> kube::Result<()> {
        let api: Api<Pod> = self.api(namespace);
        let mut last = None;
        let mut refused = Ok(());
        for pod in pods {
            match api.create(&PostParams::default(), &pod).await {
                Ok(created) => last = Some(created.metadata),
                Err(error) => {
                    refused = Err(error);
                    break;
                }
            }
        }
        if let Some(last) = last {
            self.pods.settle(&last).await;
        }
        refused
    }

    /// Deletes pods, and waits until that shows.
    pub(super) async fn delete_pods(&self, pods: &[Arc<Object<Pod>>]) -> kube::Result<()> {
        let mut last = None;
        for pod in pods {
            let api: Api<Pod> = self.api(pod.key.namespace());
            let exactly = DeleteParams::background().preconditions(Preconditions {
                uid: pod.metadata.uid.clone(),
                resource_version: None,
            });
            let deleted = unless_gone(api.delete(pod.key.name(), &exactly).await)?;
            let marked = deleted.and_then(|deleted| deleted.left());
            last = marked.map(|pod| pod.metadata).or(last);
        }
        if let Some(last) = last {
            self.pods.settle(&last).await;
        }
        Ok(())
    }
}
