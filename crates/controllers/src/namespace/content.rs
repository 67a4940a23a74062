//! Everything in a namespace, deleted kind by kind, and what is left of it.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use listwatch_server::registry::Definition;

use super::NamespaceController;

/// How long something that is held by a finalizer is taken to need.
const FINALIZER_ESTIMATE: Duration = Duration::from_secs(15);

/// What came of deleting everything in a namespace.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// How many objects of each resource are left, such as `configmaps.`.
    pub(super) remaining: BTreeMap<String, usize>,
    /// How many objects each finalizer holds.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// What went wrong.
    pub(super) errors: Vec<String>,
    /// How long the rest may need; `None` if nothing is known of that.
    pub(super) estimate: Option<Duration>,
}

impl Content {
    /// Deletes everything in a namespace: pods first, which may need the rest until their end.
    pub(super) async fn delete(
        controller: &NamespaceController,
        namespace: &str,
        age: Duration,
    ) -> Self {
        let mut content = Self::default();
        let mut kinds = controller.inventory.namespaced_kinds();
        kinds.sort_by_key(|kind| !is_pods(kind));
        for kind in kinds {
            let deleted = content.delete_kind(controller, namespace, (&kind, age));
            if let Err(error) = deleted.await {
                content.errors.push(error);
            }
            let has_pods = is_pods(&kind) && !content.remaining.is_empty();
            if has_pods {
                break;
            }
        }
        content
    }

    /// Whether nothing is left.
    pub(super) fn is_gone(&self) -> bool {
        self.remaining.is_empty() && self.errors.is_empty()
    }

    async fn delete_kind(
        &mut self,
        controller: &NamespaceController,
        namespace: &str,
        (kind, age): (&Definition, Duration),
    ) -> Result<(), String> {
        let objects = &controller.objects;
        let failed = |error: kube::Error| error.to_string();
        if objects
            .list(kind, namespace)
            .await
            .map_err(failed)?
            .is_empty()
        {
            return Ok(());
        }
        let grace = match is_pods(kind) {
            true => grace(controller, namespace).await.map_err(failed)?,
            false => Duration::ZERO,
        };
        let grace = Some(grace).filter(|grace| age < *grace);
        self.expect(grace);
        let background = DeleteParams::background();
        let deleted = objects.delete_all(kind, namespace, &background).await;
        deleted.map_err(failed)?;
        let left = objects.list(kind, namespace).await.map_err(failed)?;
        if left.is_empty() {
            return Ok(());
        }
        let resource = format!("{}.{}", kind.resource, kind.group);
        self.remaining.insert(resource, left.len());
        let mut finalizers = left
            .iter()
            .flat_map(|object| object.finalizers.iter().flatten());
        let is_held = finalizers.clone().next().is_some();
        finalizers.by_ref().for_each(|finalizer| {
            *self.finalizers.entry(finalizer.clone()).or_default() += 1;
        });
        match (grace, is_held) {
            (Some(_), _) => Ok(()),
            (None, true) => {
                self.expect(Some(FINALIZER_ESTIMATE));
                Ok(())
            }
            (None, false) => Err(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {}/{}, \
                 Resource={}",
                kind.group, kind.version, kind.resource
            )),
        }
    }

    fn expect(&mut self, time: Option<Duration>) {
        self.estimate = self.estimate.max(time);
    }
}

fn is_pods(kind: &Definition) -> bool {
    kind.group.is_empty() && *kind.resource == *"pods"
}

/// The longest time that a pod which runs may take to end.
async fn grace(controller: &NamespaceController, namespace: &str) -> kube::Result<Duration> {
    let pods: Api<Pod> = Api::namespaced(controller.client.clone(), namespace);
    let pods = pods.list(&ListParams::default()).await?;
    let running = pods.items.into_iter().filter(|pod| {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        !matches!(phase, Some("Succeeded" | "Failed"))
    });
    let seconds = running.filter_map(|pod| pod.spec?.termination_grace_period_seconds);
    let longest = seconds
        .filter_map(|seconds| u64::try_from(seconds).ok())
        .max();
    Ok(Duration::from_secs(longest.unwrap_or_default()))
}
