//! A small ReplicaSet controller: keeps as many pods as each ReplicaSet wants.
//!
//! `cargo run -p listwatch-examples --example controller [URL | KUBECONFIG]`
//!
//! It shows a scale up, the repair after a pod was deleted, and a scale down, and fails unless the
//! server ends up as it should. Without an argument it starts a server of its own; a server that
//! is given to it should have no other controller of ReplicaSets.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use k8s_openapi::{
    api::{apps::v1::ReplicaSet, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use listwatch::{
    Condition, Controller, Decoder, HandlerOptions, Index, Next, Object, ObjectKey, SharedInformer,
    Snapshot, Version, Watched, controller::generation_changed, source::KubernetesSource,
    wait_until,
};
use listwatch_examples::connect;
use serde_json::json;
use tokio::{sync::oneshot, time::timeout};

const NAMESPACE: &str = "default";
const NAME: &str = "controller-example";
const PATIENCE: Duration = Duration::from_secs(30);

/// What a run may use: caches to read, a client to write.
struct Context {
    client: Client,
    replica_sets: SharedInformer<ReplicaSet>,
    pods: SharedInformer<Pod>,
    pods_by_owner: Index<Pod, String>,
    /// The version of the last pod written for each ReplicaSet.
    written: Mutex<HashMap<ObjectKey, Version>>,
    created: AtomicUsize,
    deleted: AtomicUsize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (client, server) = connect(std::env::args().nth(1)).await?;
    let context = Arc::new(Context::new(client)?);
    let (stop, stopped) = oneshot::channel::<()>();
    let controller = Controller::new("replicasets", &context.replica_sets)
        .predicate(generation_changed)
        .owns(&context.pods)
        .workers(2)
        .stop_on(async {
            let _ = stopped.await;
        })
        .run(reconcile, Arc::clone(&context));
    let controller = tokio::spawn(controller);

    let shown = show(&context).await;
    drop(stop);
    controller.await??;
    let cleaned = clean_up(&context).await;
    if let Some(server) = server {
        server.shutdown().await;
    }
    shown.and(cleaned)
}

/// Brings the pods of one ReplicaSet to their number. No two runs for one ReplicaSet overlap.
async fn reconcile(key: ObjectKey, context: Arc<Context>) -> anyhow::Result<Next> {
    context.see_own_writes(&key).await?;
    let replica_set = context.replica_sets.cache().snapshot();
    let Some(replica_set) = replica_set.get(key.as_str()) else {
        context.forget_writes(&key);
        return Ok(Next::AwaitChange);
    };
    let owner = replica_set
        .controller_owner_ref(&())
        .context("a ReplicaSet of the server has a name and a uid")?;
    let wanted = replica_set.spec.as_ref().and_then(|spec| spec.replicas);
    let wanted = usize::try_from(wanted.unwrap_or(1))?;
    let snapshot = context.pods.cache().snapshot();
    let pods = context.pods_of(&snapshot, &owner.uid);
    if pods.len() != wanted {
        eprintln!("{key} has {} pods and wants {wanted}", pods.len());
    }
    for _ in pods.len()..wanted {
        context.create_pod(&key, replica_set, &owner).await?;
    }
    for pod in pods.iter().skip(wanted) {
        context.delete_pod(&key, &pod.name_any()).await?;
    }
    context.write_status(replica_set, pods.len()).await?;
    Ok(Next::AwaitChange)
}

impl Context {
    fn new(client: Client) -> anyhow::Result<Self> {
        let pods = KubernetesSource::namespaced::<Pod>(client.clone(), NAMESPACE);
        let pods = SharedInformer::new(Arc::new(pods), Decoder::json());
        let sets = KubernetesSource::namespaced::<ReplicaSet>(client.clone(), NAMESPACE);
        let pods_by_owner = pods.cache().add_index("owner", |pod: &Object<Pod>| {
            let owners = pod.owner_references().iter();
            owners.map(|owner| owner.uid.clone()).collect::<Vec<_>>()
        })?;
        Ok(Self {
            client,
            replica_sets: SharedInformer::new(Arc::new(sets), Decoder::json()),
            pods,
            pods_by_owner,
            written: Mutex::default(),
            created: AtomicUsize::new(0),
            deleted: AtomicUsize::new(0),
        })
    }

    /// The pods of an owner that are not on their way out.
    fn pods_of<'a>(
        &self,
        snapshot: &'a Snapshot<Pod>,
        owner_uid: &str,
    ) -> Vec<&'a Arc<Object<Pod>>> {
        let mut pods = snapshot.by_index(&self.pods_by_owner, owner_uid).sorted();
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods
    }

    async fn create_pod(
        &self,
        key: &ObjectKey,
        replica_set: &ReplicaSet,
        owner: &OwnerReference,
    ) -> anyhow::Result<()> {
        let template = replica_set.spec.as_ref();
        let template = template.and_then(|spec| spec.template.clone());
        let template = template.context("a ReplicaSet has a template")?;
        let mut metadata = template.metadata.unwrap_or_default();
        metadata.generate_name = Some(format!("{}-", key.name()));
        metadata.owner_references = Some(vec![owner.clone()]);
        let pod = Pod {
            metadata,
            spec: template.spec,
            status: None,
        };
        let created = self.pods_api().create(&PostParams::default(), &pod).await?;
        self.created.fetch_add(1, Relaxed);
        eprintln!("  created {}", created.name_any());
        self.note_write(key, &created);
        Ok(())
    }

    async fn delete_pod(&self, key: &ObjectKey, name: &str) -> anyhow::Result<()> {
        let at_once = DeleteParams::default().grace_period(0);
        let deleted = self.pods_api().delete(name, &at_once).await?;
        self.deleted.fetch_add(1, Relaxed);
        eprintln!("  deleted {name}");
        if let Some(deleted) = deleted.left() {
            self.note_write(key, &deleted);
        }
        Ok(())
    }

    async fn write_status(&self, replica_set: &ReplicaSet, replicas: usize) -> anyhow::Result<()> {
        let status = replica_set.status.as_ref();
        if status.map(|status| status.replicas) == Some(i32::try_from(replicas)?) {
            return Ok(());
        }
        let status = Patch::Merge(json!({"status": {"replicas": replicas}}));
        let name = replica_set.name_any();
        let patch = PatchParams::default();
        self.sets_api().patch_status(&name, &patch, &status).await?;
        Ok(())
    }

    /// Waits until the cache shows what earlier runs wrote, so that nothing is made up for twice.
    async fn see_own_writes(&self, key: &ObjectKey) -> anyhow::Result<()> {
        let written = self.written.lock();
        let written = written
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned();
        if let Some(version) = written {
            self.pods.wait_for(&version, PATIENCE).await?;
        }
        Ok(())
    }

    fn note_write(&self, key: &ObjectKey, pod: &Pod) {
        let version = pod.resource_version();
        if let Some(version) = version.and_then(|version| Version::parse(&version)) {
            let written = self.written.lock();
            let mut written = written.unwrap_or_else(PoisonError::into_inner);
            written.insert(key.clone(), version);
        }
    }

    fn forget_writes(&self, key: &ObjectKey) {
        let written = self.written.lock();
        written.unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn pods_api(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn sets_api(&self) -> Api<ReplicaSet> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

/// Lets the controller work, and looks at what it does.
async fn show(context: &Context) -> anyhow::Result<()> {
    let (sets, pods) = (context.sets_api(), context.pods_api());
    eprintln!("a ReplicaSet of two pods");
    sets.create(&PostParams::default(), &replica_set(2)?)
        .await?;
    pods_become(context, |pods| pods.len() == 2).await?;

    eprintln!("four pods");
    scale(&sets, 4).await?;
    let four = pods_become(context, |pods| pods.len() == 4).await?;

    eprintln!("somebody deletes {}", four[0]);
    let at_once = DeleteParams::default().grace_period(0);
    pods.delete(&four[0], &at_once).await?;
    pods_become(context, |pods| pods.len() == 4 && !pods.contains(&four[0])).await?;

    eprintln!("one pod");
    scale(&sets, 1).await?;
    pods_become(context, |pods| pods.len() == 1).await?;

    let sets = Watched::Informer(context.replica_sets.clone());
    let key = ObjectKey::new(Some(NAMESPACE), NAME);
    let told = Condition::json("/status/replicas", json!(1));
    wait_until(&sets, &key, &told, PATIENCE).await?;
    let left = pods.list(&ListParams::default().labels(&label())).await?;
    ensure!(
        left.items.len() == 1,
        "the server has {} pods",
        left.items.len()
    );
    let created = context.created.load(Relaxed);
    let deleted = context.deleted.load(Relaxed);
    ensure!(
        (created, deleted) == (5, 3),
        "{created} created, {deleted} deleted"
    );
    eprintln!("as it should be: {created} pods created, {deleted} deleted, none in vain");
    Ok(())
}

/// Waits until the pods of the example are as wanted, and returns their names.
async fn pods_become(
    context: &Context,
    as_wanted: impl Fn(&[String]) -> bool,
) -> anyhow::Result<Vec<String>> {
    let mut changes = context.pods.subscribe(&HandlerOptions::default())?;
    let becoming = async {
        loop {
            let snapshot = context.pods.cache().snapshot();
            let pods = snapshot
                .iter()
                .filter(|pod| pod.labels.get("app") == Some(NAME));
            let pods: Vec<String> = pods.map(|pod| pod.name_any()).collect();
            if as_wanted(&pods) {
                return Ok(pods);
            }
            changes
                .next()
                .await
                .context("the informer of pods has stopped")?;
        }
    };
    timeout(PATIENCE, becoming)
        .await
        .context("the pods did not come to be as wanted")?
}

async fn scale(sets: &Api<ReplicaSet>, replicas: i32) -> anyhow::Result<()> {
    let spec = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    sets.patch(NAME, &PatchParams::default(), &spec).await?;
    Ok(())
}

fn replica_set(replicas: i32) -> serde_json::Result<ReplicaSet> {
    let labels = json!({"app": NAME});
    let container = json!({
        "name": "web",
        "image": "registry.k8s.io/pause:3.10",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    });
    let pod = json!({
        "containers": [container],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 0,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
    });
    serde_json::from_value(json!({
        "metadata": {"name": NAME, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }))
}

fn label() -> String {
    format!("app={NAME}")
}

async fn clean_up(context: &Context) -> anyhow::Result<()> {
    let at_once = DeleteParams::default().grace_period(0);
    context.sets_api().delete(NAME, &at_once).await?;
    let ours = ListParams::default().labels(&label());
    context
        .pods_api()
        .delete_collection(&at_once, &ours)
        .await?;
    Ok(())
}
