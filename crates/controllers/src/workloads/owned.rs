//! Objects that are found by who made them.

use std::{sync::Arc, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use listwatch::{Index, Object, SharedInformer, Version};

/// How long a cache may take to show what was written. Then it is read as it is.
const CACHE_PATIENCE: Duration = Duration::from_secs(5);

/// Objects that are found by the uid of the controller that made them, or by their namespace if
/// nobody did.
pub(crate) struct Owned<T> {
    pub(crate) informer: SharedInformer<T>,
    by_controller: Index<T, String>,
    orphans: Index<T, String>,
}

impl<T> Owned<T>
where
    T: Resource<DynamicType = ()> + Send + Sync + 'static,
{
    pub(super) fn new(informer: SharedInformer<T>) -> Self {
        let by_controller = informer.add_index("controller", |object: &Object<T>| {
            controller_reference(object.body.meta()).map(|owner| owner.uid.clone())
        });
        let orphans = informer.add_index("orphans", |object: &Object<T>| {
            let namespace = object.key.namespace().unwrap_or_default();
            match controller_reference(object.body.meta()) {
                Some(_) => None,
                None => Some(namespace.to_owned()),
            }
        });
        Self {
            by_controller: by_controller.expect("a new informer has no index"),
            orphans: orphans.expect("a new informer has one index"),
            informer,
        }
    }

    /// Those that a controller has made, in the order of their names.
    pub(super) fn of(&self, controller: &ObjectMeta) -> Vec<Arc<Object<T>>> {
        let uid = controller.uid.as_deref().unwrap_or_default();
        self.found(&self.by_controller, uid)
    }

    /// Those of a namespace that no controller has made, in the order of their names.
    pub(super) fn orphans(&self, namespace: &str) -> Vec<Arc<Object<T>>> {
        self.found(&self.orphans, namespace)
    }

    fn found(&self, index: &Index<T, String>, value: &str) -> Vec<Arc<Object<T>>> {
        let snapshot = self.informer.cache().snapshot();
        let found = snapshot.by_index(index, value).into_iter();
        let mut found: Vec<_> = found.map(Arc::clone).collect();
        found.sort_by(|one, other| one.key.cmp(&other.key));
        found
    }

    /// Waits until what was written shows.
    pub(super) async fn settle(&self, written: &ObjectMeta) {
        settle(&self.informer, written).await;
    }
}

/// Waits until what was written shows in an informer.
pub(crate) async fn settle<T>(informer: &SharedInformer<T>, written: &ObjectMeta) {
    let version = written.resource_version.as_deref().and_then(Version::parse);
    if let Some(version) = version {
        // One that takes too long is seen the next time.
        let _ = informer.wait_for(&version, CACHE_PATIENCE).await;
    }
}

/// Who made an object, if it says so.
pub(super) fn controller_reference(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}
