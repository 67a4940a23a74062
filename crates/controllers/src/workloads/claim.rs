//! Who an object belongs to: it says so, and its labels do.
//!
//! A controller takes what it selects and nobody has, and lets go what it has and does not select.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kube::{
    Api, Resource,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use listwatch::{Object, ObjectKey, SharedInformer};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{
    Workloads,
    owned::{Owned, controller_reference},
    pods::reference_to,
};
use crate::{
    objects::unless_gone,
    selection::{read, selects},
};

/// The controller of one kind that made an object.
pub(super) fn controller_of<T>(
    kind: &'static str,
) -> impl Fn(&Object<T>) -> Option<ObjectKey> + Send + 'static
where
    T: Resource<DynamicType = ()>,
{
    move |object| {
        let owner = controller_reference(object.body.meta())?;
        (owner.kind == kind).then(|| ObjectKey::new(object.key.namespace(), &owner.name))
    }
}

/// Whom a change of an object concerns: the controller that has it, or, as long as none has, all
/// that select it.
pub(super) fn claimants<K, T>(
    controllers: &SharedInformer<K>,
    selector: impl Fn(&K) -> Option<LabelSelector> + Send + 'static,
) -> impl Fn(&Object<T>) -> Vec<ObjectKey> + Send + 'static
where
    K: Resource<DynamicType = ()> + Send + Sync + 'static,
    T: Resource<DynamicType = ()>,
{
    let controllers = controllers.clone();
    move |object| {
        let namespace = object.key.namespace();
        match controller_reference(object.body.meta()) {
            Some(owner) if owner.kind == K::kind(&()) => {
                vec![ObjectKey::new(namespace, &owner.name)]
            }
            Some(_) => Vec::new(),
            None => {
                let snapshot = controllers.cache().snapshot();
                let near = snapshot.namespace(namespace.unwrap_or_default());
                let would = |it: &Object<K>| {
                    selector(&it.body).is_some_and(|selector| selects(&selector, &object.labels))
                };
                near.filter(|controller| would(controller))
                    .map(|controller| controller.key.clone())
                    .collect()
            }
        }
    }
}

impl Workloads {
    /// The objects that a controller has, after those were let go that it does not select and
    /// those taken that it does and nobody has. `may_take` says which of them it would take.
    pub(super) async fn claim<K, T>(
        &self,
        owner: &Object<K>,
        objects: &Owned<T>,
        (selector, may_take): (&LabelSelector, impl Fn(&Object<T>) -> bool),
    ) -> kube::Result<Vec<Arc<Object<T>>>>
    where
        K: Namespaced,
        T: Namespaced,
    {
        let Some(selector) = read(selector) else {
            return Ok(Vec::new());
        };
        let metadata = owner.body.meta();
        let is_selected = |it: &Object<T>| selector.matches(|name| it.labels.get(name));
        let had = objects.of(metadata);
        if metadata.deletion_timestamp.is_some() {
            return Ok(had.into_iter().filter(|it| is_selected(it)).collect());
        }
        let mut last = None;
        for object in had.iter().filter(|it| !is_selected(it)) {
            let uid = metadata.uid.as_deref().unwrap_or_default();
            let others = object.body.meta().owner_references.iter().flatten();
            let others = others.filter(|it| it.uid != uid).cloned().collect();
            last = self.give(object, others).await?.or(last);
        }
        let lost = objects.orphans(owner.key.namespace().unwrap_or_default());
        let lost = lost.iter().filter(|it| {
            is_selected(it) && may_take(it) && it.body.meta().deletion_timestamp.is_none()
        });
        let lost: Vec<_> = lost.collect();
        if !lost.is_empty() && self.is_itself(owner).await? {
            for object in lost {
                let mut owners = object.body.meta().owner_references.clone();
                owners
                    .get_or_insert_default()
                    .extend(reference_to(&owner.body));
                last = self
                    .give(object, owners.unwrap_or_default())
                    .await?
                    .or(last);
            }
        }
        if let Some(last) = last {
            objects.settle(&last).await;
        }
        let has = objects.of(metadata).into_iter();
        Ok(has.filter(|it| is_selected(it)).collect())
    }

    /// Writes down whose an object is, unless it has changed since it was seen.
    async fn give<T: Namespaced>(
        &self,
        object: &Object<T>,
        owners: Vec<OwnerReference>,
    ) -> kube::Result<Option<ObjectMeta>> {
        let metadata = object.body.meta();
        let patch = json!({"metadata": {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "ownerReferences": owners,
        }});
        let api: Api<T> = self.api(object.key.namespace());
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = api.patch_metadata(object.key.name(), &parameters, &patch);
        let patched = unless_gone(patched.await)?;
        Ok(patched.map(|object| object.metadata))
    }

    /// Whether a controller is still there, and stays: the cache may be behind.
    async fn is_itself<K: Namespaced>(&self, owner: &Object<K>) -> kube::Result<bool> {
        let api: Api<K> = self.api(owner.key.namespace());
        let found = api.get_metadata_opt(owner.key.name()).await?;
        Ok(found.is_some_and(|found| {
            let metadata = found.metadata;
            metadata.uid == owner.body.meta().uid && metadata.deletion_timestamp.is_none()
        }))
    }
}

/// What controllers and what they make have in common.
pub(super) trait Namespaced:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + fmt::Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<T> Namespaced for T where
    T: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + fmt::Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}
