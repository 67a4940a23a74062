//! Claims, volumes and classes of volumes stay until nobody uses them.
//!
//! The server gives each of them a finalizer at its birth; here it is taken away again when the
//! object is deleted and not in use.

use std::{sync::Arc, time::Duration};

use listwatch::{Controller, Decoder, Next, Object, ObjectKey, SharedInformer};
use listwatch_in_process::ServerSource;
use listwatch_server::{ServerHandle, registry::Definition};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::{controllers::Stop, objects::Objects};

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
    /// How what is protected is served, and what may use it.
    kind: Arc<Definition>,
    users: Vec<Arc<Definition>>,
    objects: Objects,
    seen: SharedInformer<Seen>,
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

    /// Those whose objects may use it, as far as that is not told by the object itself.
    fn users(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Claim => &[("", "v1", "pods")],
            Self::Volume => &[],
            Self::Class => &[
                ("", "v1", "persistentvolumeclaims"),
                ("", "v1", "persistentvolumes"),
            ],
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
    objects: Objects,
    protected: Protected,
    mut stop: Stop,
) {
    let Some(guard) = Guard::new(&server, objects, protected) else {
        // The built-in kinds are there for as long as the server is.
        return;
    };
    let controller = Controller::new("storage-protection", &guard.seen)
        .stop_on(async move { stop.requested().await });
    if let Err(error) = controller.run(reconcile, Arc::new(guard)).await {
        tracing::error!("storage-protection: {error}");
    }
}

async fn reconcile(key: ObjectKey, guard: Arc<Guard>) -> kube::Result<Next> {
    let found = guard.seen.cache().snapshot().get(key.as_str()).cloned();
    let Some(object) = found.filter(|object| guard.is_awaited_by(object)) else {
        return Ok(Next::AwaitChange);
    };
    if guard.is_in_use(&key, &object).await? {
        return Ok(Next::After(PAUSE));
    }
    guard.let_go(&key, &object).await?;
    Ok(Next::AwaitChange)
}

impl Guard {
    fn new(server: &ServerHandle, objects: Objects, protected: Protected) -> Option<Self> {
        let definition = |(group, version, resource)| {
            let (definition, _) = server.kind(group, version, resource)?;
            Some(definition)
        };
        let users = protected.users().iter().copied().map(definition);
        let source = ServerSource::all(server, protected.kind()).ok()?;
        Some(Self {
            protected,
            kind: definition(protected.kind())?,
            users: users.collect::<Option<_>>()?,
            objects,
            seen: SharedInformer::new(Arc::new(source.without_labels()), Decoder::json()),
        })
    }

    /// Whether an object is deleted and held by our finalizer.
    fn is_awaited_by(&self, object: &Object<Seen>) -> bool {
        let finalizer = self.protected.finalizer();
        let metadata = &object.metadata;
        metadata.deletion_timestamp.is_some()
            && metadata.finalizers.iter().any(|it| it == finalizer)
    }

    async fn is_in_use(&self, key: &ObjectKey, object: &Object<Seen>) -> kube::Result<bool> {
        let is_user = match self.protected {
            Protected::Claim => uses_claim,
            Protected::Volume => return Ok(object.status.phase == "Bound"),
            Protected::Class => names_class,
        };
        for kind in &self.users {
            let users = self.objects.list_whole(kind, key.namespace()).await?;
            if users.iter().any(|user| is_user(user, key.name())) {
                return Ok(true);
            }
        }
        Ok(false)
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
        self.objects.patch_metadata(&self.kind, key, &patch).await
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
