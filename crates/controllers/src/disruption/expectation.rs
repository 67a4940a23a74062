//! How many pods a budget is about, and how many of them have to be healthy.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::policy::v1::PodDisruptionBudgetSpec,
    apimachinery::pkg::{apis::meta::v1::OwnerReference, util::intstr::IntOrString},
};
use listwatch::ObjectKey;
use listwatch_server::{ServerHandle, registry::Definition};

use super::member::Members;
use crate::{
    objects::Objects,
    share::{Rounding, share},
};

/// How many pods there should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    pub(super) pods: i32,
    pub(super) healthy: i32,
}

/// Finds out how many pods those who made some of them want.
pub(super) struct Scales {
    server: ServerHandle,
    objects: Objects,
}

impl Scales {
    pub(super) fn new(server: ServerHandle, objects: Objects) -> Self {
        Self { server, objects }
    }

    /// What a budget expects of its pods, or why that is not known. A whole number that have to
    /// be available asks nobody; what is said otherwise is of the number that is wanted in all.
    pub(super) async fn expectation(
        &self,
        spec: &PodDisruptionBudgetSpec,
        pods: &Members,
    ) -> Result<Expectation, String> {
        let part = |value: &IntOrString, whole| {
            let part = share(value, whole, Rounding::Up);
            part.ok_or_else(|| format!("invalid value for IntOrString: {value:?}"))
        };
        match (&spec.max_unavailable, &spec.min_available) {
            (Some(unavailable), _) => {
                let wanted = self.wanted(pods).await?;
                Ok(Expectation {
                    pods: wanted,
                    healthy: (wanted - part(unavailable, wanted)?).max(0),
                })
            }
            (None, Some(IntOrString::Int(healthy))) => Ok(Expectation {
                pods: i32::try_from(pods.len()).unwrap_or(i32::MAX),
                healthy: *healthy,
            }),
            (None, Some(available)) => {
                let wanted = self.wanted(pods).await?;
                Ok(Expectation {
                    pods: wanted,
                    healthy: part(available, wanted)?,
                })
            }
            (None, None) => Ok(Expectation {
                pods: 0,
                healthy: 0,
            }),
        }
    }

    /// How many pods are wanted by all that made some of these. Pods that nobody made do not
    /// count.
    async fn wanted(&self, pods: &Members) -> Result<i32, String> {
        let mut wanted: BTreeMap<String, i32> = BTreeMap::new();
        let mut asked: Vec<&str> = Vec::new();
        for pod in pods {
            let Some(controller) = &pod.controller else {
                continue;
            };
            if asked.contains(&controller.uid.as_str()) {
                continue;
            }
            let found = self.scale(controller, pod.key.namespace()).await?;
            let (uid, replicas) = found
                .ok_or_else(|| format!("found no controllers for pod {:?}", pod.key.name()))?;
            wanted.insert(uid, replicas);
            asked.push(&controller.uid);
        }
        Ok(wanted
            .into_values()
            .fold(0, |sum, replicas| sum.saturating_add(replicas)))
    }

    /// Who decides how many pods there are of a controller's, and how many; a deployment decides
    /// for its replica sets. `None` if the controller is gone.
    async fn scale(
        &self,
        controller: &OwnerReference,
        namespace: Option<&str>,
    ) -> Result<Option<(String, i32)>, String> {
        let kind = self.kind(controller)?;
        if (&*kind.group, &*kind.kind) == ("apps", "ReplicaSet") {
            let key = ObjectKey::new(namespace, &controller.name);
            let set = self.objects.get(&kind, &key).await.map_err(to_text)?;
            let set = set.filter(|set| set.uid.as_deref() == Some(controller.uid.as_str()));
            let mut owners = set
                .and_then(|set| set.owner_references)
                .into_iter()
                .flatten();
            let is_deployment =
                |it: &OwnerReference| it.controller == Some(true) && it.kind == "Deployment";
            if let Some(deployment) = owners.find(is_deployment)
                && let Some(found) = self.own_scale(&deployment, namespace).await?
            {
                return Ok(Some(found));
            }
        }
        self.own_scale(controller, namespace).await
    }

    async fn own_scale(
        &self,
        controller: &OwnerReference,
        namespace: Option<&str>,
    ) -> Result<Option<(String, i32)>, String> {
        let kind = self.kind(controller)?;
        if !kind.subresources.iter().any(|it| *it.name == *"scale") {
            let name = match &*kind.group {
                "" => kind.resource.to_string(),
                group => format!("{}.{group}", kind.resource),
            };
            return Err(format!("{name} does not implement the scale subresource"));
        }
        let key = ObjectKey::new(namespace, &controller.name);
        let scale = self.objects.scale(&kind, &key).await.map_err(to_text)?;
        let is_same = |uid: &Option<String>| uid.as_deref() == Some(controller.uid.as_str());
        let scale = scale.filter(|scale| is_same(&scale.metadata.uid));
        Ok(scale.map(|scale| {
            let replicas = scale.spec.and_then(|spec| spec.replicas);
            (controller.uid.clone(), replicas.unwrap_or_default())
        }))
    }

    fn kind(&self, owner: &OwnerReference) -> Result<Arc<Definition>, String> {
        let (group, version) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        let mut kinds = self.server.definitions().into_iter();
        let found = kinds.find(|kind| (&*kind.group, &*kind.kind) == (group, &*owner.kind));
        found.ok_or_else(|| {
            let group_version = match group {
                "" => version.to_owned(),
                group => format!("{group}/{version}"),
            };
            format!(
                "no matches for kind {:?} in version {group_version:?}",
                owner.kind
            )
        })
    }
}

fn to_text(error: kube::Error) -> String {
    error.to_string()
}
