//! Who owns a Kubernetes object, by its owner references.

use std::any::TypeId;

use k8s_openapi::{ClusterResourceScope, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{Resource, ResourceExt};

use super::Controller;
use crate::{Object, ObjectKey, SharedInformer};

impl<T> Controller<T>
where
    T: Resource<DynamicType = ()> + Send + Sync + 'static,
    T::Scope: 'static,
{
    /// Reconciles the owners of the objects of another informer when those change: those that
    /// their owner references name, if they are of this controller's kind.
    #[must_use]
    pub fn owns<C>(self, children: &SharedInformer<C>) -> Self
    where
        C: Resource + Send + Sync + 'static,
    {
        self.owns_through(children, owners::<T, C>)
    }
}

/// The keys of the owners of a kind. The version of that kind does not matter.
fn owners<T, C>(child: &Object<C>) -> Vec<ObjectKey>
where
    T: Resource<DynamicType = ()>,
    T::Scope: 'static,
    C: Resource,
{
    let has_namespace = TypeId::of::<T::Scope>() != TypeId::of::<ClusterResourceScope>();
    let namespace = child.key.namespace().filter(|_| has_namespace);
    let references = child.owner_references().iter();
    references
        .filter(|owner| owner.kind == T::kind(&()) && group(owner) == T::group(&()))
        .map(|owner| ObjectKey::new(namespace, &owner.name))
        .collect()
}

fn group(owner: &OwnerReference) -> &str {
    let group = owner.api_version.split_once('/');
    group.map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::ReplicaSet,
        core::v1::{Node, Pod},
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::{Labels, Version};

    fn pod_owned_by(owners: &Value) -> Object<Pod> {
        let pod = json!({"metadata": {"name": "web-1", "ownerReferences": owners}});
        Object {
            key: "default/web-1".into(),
            version: Version::from(1),
            uid: None,
            labels: Labels::default(),
            body: serde_json::from_value(pod).unwrap(),
        }
    }

    fn owner(api_version: &str, kind: &str, name: &str) -> Value {
        json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": name})
    }

    #[test]
    fn owners_are_those_of_the_kind_and_group_in_any_version() {
        let pod = pod_owned_by(&json!([
            owner("apps/v1", "ReplicaSet", "web"),
            owner("apps/v1beta2", "ReplicaSet", "old"),
            owner("example.com/v1", "ReplicaSet", "foreign"),
            owner("v1", "ReplicaSet", "foreign"),
            owner("v1", "Node", "node-1"),
        ]));
        let keys: Vec<ObjectKey> = vec!["default/web".into(), "default/old".into()];
        assert_eq!(owners::<ReplicaSet, Pod>(&pod), keys);
    }

    #[test]
    fn an_owner_without_a_namespace_is_found_without() {
        let pod = pod_owned_by(&json!([owner("v1", "Node", "node-1")]));
        assert_eq!(owners::<Node, Pod>(&pod), ["node-1".into()]);
    }
}
