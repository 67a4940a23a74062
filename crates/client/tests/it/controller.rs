//! Controllers of objects on a real server.

mod copies;

use std::{convert::Infallible, sync::Arc, time::Duration};

use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use listwatch::{
    Controller, Decoder, Next, ObjectKey, SharedInformer, Version, controller::generation_changed,
    source::KubernetesSource,
};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::{sync::mpsc, time::timeout};

use crate::real_server::RealServer;

const PATIENCE: Duration = Duration::from_secs(30);

/// What was reconciled: a key, and whether the object was there.
type Runs = mpsc::Receiver<(ObjectKey, bool)>;

fn informer<K>(source: KubernetesSource) -> SharedInformer<K>
where
    K: DeserializeOwned + Send + Sync + 'static,
{
    SharedInformer::new(Arc::new(source), Decoder::json())
}

/// Runs a controller of ReplicaSets and their pods that only tells what it reconciles.
fn observe(client: &Client, sets: &SharedInformer<ReplicaSet>) -> Runs {
    let (sender, runs) = mpsc::channel(1000);
    let pods = informer::<Pod>(KubernetesSource::all::<Pod>(client.clone()));
    let controller = Controller::new("observer", sets)
        .predicate(generation_changed)
        .owns(&pods);
    let reconcile = |key: ObjectKey, context: Arc<(SharedInformer<ReplicaSet>, _)>| async move {
        let (sets, sender): &(_, mpsc::Sender<_>) = &context;
        let is_there = sets.cache().snapshot().get(key.as_str()).is_some();
        let _ = sender.send((key, is_there)).await;
        Ok::<_, Infallible>(Next::AwaitChange)
    };
    tokio::spawn(controller.run(reconcile, Arc::new((sets.clone(), sender))));
    runs
}

async fn next(runs: &mut Runs) -> (String, bool) {
    let run = timeout(PATIENCE, runs.recv()).await.unwrap();
    let (key, is_there) = run.unwrap();
    (key.to_string(), is_there)
}

fn replica_set(name: &str) -> ReplicaSet {
    let labels = json!({"app": name});
    let containers = json!([{"name": "web", "image": "web:1"}]);
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }))
    .unwrap()
}

fn pod_of(owner: &ReplicaSet) -> Pod {
    let owner = kube::Resource::controller_owner_ref(owner, &()).unwrap();
    serde_json::from_value(json!({
        "metadata": {"generateName": "web-", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }))
    .unwrap()
}

#[tokio::test]
async fn objects_are_reconciled_for_themselves_and_for_what_they_own() {
    let server = RealServer::start().await;
    let sets: Api<ReplicaSet> = Api::default_namespaced(server.client());
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let create = PostParams::default();
    let web = sets.create(&create, &replica_set("web")).await.unwrap();
    let cached = informer(KubernetesSource::all::<ReplicaSet>(server.client()));
    let mut runs = observe(&server.client(), &cached);
    assert_eq!(next(&mut runs).await, ("default/web".to_owned(), true));

    let pod = pods.create(&create, &pod_of(&web)).await.unwrap();
    assert_eq!(next(&mut runs).await, ("default/web".to_owned(), true));

    let at_once = DeleteParams::default().grace_period(0);
    let pod = pod.metadata.name.unwrap();
    pods.delete(&pod, &at_once).await.unwrap();
    assert_eq!(next(&mut runs).await, ("default/web".to_owned(), true));

    sets.delete("web", &at_once).await.unwrap();
    assert_eq!(next(&mut runs).await, ("default/web".to_owned(), false));
}

#[tokio::test]
async fn a_status_wakes_nobody_who_asked_for_changes_of_the_generation() {
    let server = RealServer::start().await;
    let sets: Api<ReplicaSet> = Api::default_namespaced(server.client());
    let create = PostParams::default();
    sets.create(&create, &replica_set("web")).await.unwrap();
    let cached = informer(KubernetesSource::all::<ReplicaSet>(server.client()));
    let mut runs = observe(&server.client(), &cached);
    assert_eq!(next(&mut runs).await.0, "default/web");

    let patch = PatchParams::default();
    let status = Patch::Merge(json!({"status": {"replicas": 1}}));
    let patched = sets.patch_status("web", &patch, &status).await.unwrap();
    let version = patched.metadata.resource_version.unwrap();
    let version = Version::parse(&version).unwrap();
    cached.wait_for(&version, PATIENCE).await.unwrap();
    // One worker takes keys in their order, so a run of `web` would come before this one.
    sets.create(&create, &replica_set("marker")).await.unwrap();
    assert_eq!(next(&mut runs).await.0, "default/marker");

    let spec = Patch::Merge(json!({"spec": {"replicas": 2}}));
    sets.patch("web", &patch, &spec).await.unwrap();
    assert_eq!(next(&mut runs).await.0, "default/web");
}
