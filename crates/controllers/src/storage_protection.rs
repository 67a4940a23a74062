//! Claims, volumes and classes of volumes stay until nobody uses them.
//!
//! The server gives each of them a finalizer at its birth; here it is taken away again when the
//! object is deleted and not in use.

use std::{sync::Arc, time::Duration};

use kube::{
    Api, Client, Error,
    api::{DynamicObject, ListParams, Patch, PatchParams},
    discovery::ApiResource,
};
use listwatch::{Controller, Decoder, Next, Object, ObjectKey, SharedInformer};
use listwatch_in_process::ServerSource;
use listwatch_server::ServerHandle;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::controllers::Stop;

/// How long to wait before a deleted object that is in use is looked at again.
const PAUSE: Duration = Duration::from_secs(2);

/// What is protected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protected {
    /// Claims that a running pod uses.
    Claim,
    /// Volumes that a claim is bound to.
    Volume,
    /// Classes that a claim or a volume names.
    Class,
}

/// As much of an object as tells whether it waits for us.
#[derive(Debug, Deserialize)]
struct Seen {
    metadata: SeenMetadata,
    #[serde(default)]
    status: SeenStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeenMetadata {
    deletion_timestamp: Option<IgnoredAny>,
    resource_version: Option<String>,
    #[serde(default)]
    finalizers: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
struct SeenStatus {
    #[serde(default)]
    phase: String,
}

struct Guard {
    protected: Protected,
    client: Client,
    objects: SharedInformer<Seen>,
}

impl Protected {
    pub(crate) const ALL: [Self; 3] = [Self::Claim, Self::Volume, Self::Class];

    fn kind(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Claim => ("", "v1", "persistentvolumeclaims"),
            Self::Volume => ("", "v1", "persistentvolumes"),
            Self::Class => ("storage.k8s.io", "v1", "volumeattributesclasses"),
        }
    }

    fn finalizer(self) -> &'static str {
        match self {
            Self::Claim => "kubernetes.io/pvc-protection",
            Self::Volume => "kubernetes.io/pv-protection",
            Self::Class => "kubernetes.io/vac-protection",
        }
    }
}

/// Lets go what nobody uses, until told to stop.
pub(crate) async fn run(
    server: ServerHandle,
    client: Client,
    protected: Protected,
    mut stop: Stop,
) {
    let Ok(source) = ServerSource::all(&server, protected.kind()) else {
        // The built-in kinds are there for as long as the server is.
        return;
    };
    let guard = Arc::new(Guard {
        protected,
        client,
        objects: SharedInformer::new(Arc::new(source.without_labels()), Decoder::json()),
    });
    let controller = Controller::new("storage-protection", &guard.objects)
        .stop_on(async move { stop.requested().await });
    if let Err(error) = controller.run(reconcile, guard).await {
        tracing::error!("storage-protection: {error}");
    }
}

async fn reconcile(key: ObjectKey, guard: Arc<Guard>) -> kube::Result<Next> {
    let found = guard.objects.cache().snapshot().get(key.as_str()).cloned();
    let Some(object) = found.filter(|object| guard.is_awaited_by(object)) else {
        return Ok(Next::AwaitChange);
    };
    if guard.is_in_use(&key, &object).await? {
        return Ok(Next::After(PAUSE));
    }
    match guard.let_go(&key, &object).await {
        Err(Error::Api(status)) if status.is_not_found() => Ok(Next::AwaitChange),
        done => done.map(|()| Next::AwaitChange),
    }
}

impl Guard {
    /// Whether an object is deleted and held by our finalizer.
    fn is_awaited_by(&self, object: &Object<Seen>) -> bool {
        let finalizer = self.protected.finalizer();
        let metadata = &object.metadata;
        metadata.deletion_timestamp.is_some()
            && metadata.finalizers.iter().any(|it| it == finalizer)
    }

    async fn is_in_use(&self, key: &ObjectKey, object: &Object<Seen>) -> kube::Result<bool> {
        let name = key.name();
        match self.protected {
            Protected::Claim => {
                let pods = self.list("Pod", "pods", key.namespace()).await?;
                Ok(pods.iter().any(|pod| uses_claim(pod, name)))
            }
            Protected::Volume => Ok(object.status.phase == "Bound"),
            Protected::Class => {
                let claims = self.list("PersistentVolumeClaim", "persistentvolumeclaims", None);
                let claims = claims.await?;
                let volumes = self
                    .list("PersistentVolume", "persistentvolumes", None)
                    .await?;
                Ok(claims
                    .iter()
                    .chain(&volumes)
                    .any(|it| names_class(it, name)))
            }
        }
    }

    async fn let_go(&self, key: &ObjectKey, object: &Object<Seen>) -> kube::Result<()> {
        let finalizers: Vec<&String> = object
            .metadata
            .finalizers
            .iter()
            .filter(|it| *it != self.protected.finalizer())
            .collect();
        let patch = json!({"metadata": {
            "resourceVersion": object.metadata.resource_version,
            "finalizers": finalizers,
        }});
        let (group, version, resource) = self.protected.kind();
        let api = self.api((group, version, resource, ""), key.namespace());
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = api.patch_metadata(key.name(), &parameters, &patch).await;
        patched.map(drop)
    }

    async fn list(
        &self,
        kind: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> kube::Result<Vec<Value>> {
        let api = self.api(("", "v1", resource, kind), namespace);
        let list = api.list(&ListParams::default()).await?;
        Ok(list.items.into_iter().map(|object| object.data).collect())
    }

    fn api(
        &self,
        (group, version, resource, kind): (&str, &str, &str, &str),
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let api_version = match group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        };
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: resource.to_owned(),
        };
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

/// Whether a pod that runs, or is about to, has a volume of this claim.
fn uses_claim(pod: &Value, claim: &str) -> bool {
    let is_over = matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    );
    let is_placed = pod["spec"]["nodeName"]
        .as_str()
        .is_some_and(|it| !it.is_empty());
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let mut claims = volumes.map(|volume| &volume["persistentVolumeClaim"]["claimName"]);
    !is_over && is_placed && claims.any(|name| name == claim)
}

/// Whether a claim or a volume is, or is to be, of this class.
fn names_class(object: &Value, class: &str) -> bool {
    let status = &object["status"];
    object["spec"]["volumeAttributesClassName"] == class
        || status["currentVolumeAttributesClassName"] == class
        || status["modifyVolumeStatus"]["targetVolumeAttributesClassName"] == class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_used_by_pods_that_run_or_are_about_to() {
        let pod = |phase: &str, node: &str| {
            let volume = json!({"persistentVolumeClaim": {"claimName": "c"}});
            json!({
                "spec": {"nodeName": node, "volumes": [{"emptyDir": {}}, volume]},
                "status": {"phase": phase},
            })
        };
        assert!(uses_claim(&pod("Running", "n"), "c"));
        assert!(uses_claim(&pod("Pending", "n"), "c"));
        assert!(!uses_claim(&pod("Pending", ""), "c"));
        assert!(!uses_claim(&pod("Succeeded", "n"), "c"));
        assert!(!uses_claim(&pod("Running", "n"), "other"));
    }

    #[test]
    fn a_class_is_used_by_those_that_have_it_or_shall() {
        assert!(names_class(
            &json!({"spec": {"volumeAttributesClassName": "c"}}),
            "c"
        ));
        let status = json!({"modifyVolumeStatus": {"targetVolumeAttributesClassName": "c"}});
        assert!(names_class(&json!({"status": status}), "c"));
        assert!(!names_class(&json!({"spec": {}}), "c"));
    }
}
