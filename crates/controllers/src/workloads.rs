//! Controllers that make pods, for those who want to see them live: by choice.
//!
//! Each waits after its own writes until its informers show them, so that it never acts twice on
//! one cause.

mod daemon_set;
mod deployment;
mod job;
mod pods;
mod replica_set;
mod revision;
mod stateful_set;

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
        batch::v1::Job,
        core::v1::{Node, Pod},
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{Api, Client, Resource, core::NamespaceResourceScope};
use listwatch::{
    Controller, Decoder, Index, Next, Notification, Object, ObjectKey, SharedInformer, Version,
    wall_clock::WallClock,
};
use listwatch_in_process::ServerSource;
use listwatch_server::ServerHandle;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::{
    choice::{Choice, Name},
    controllers::Stop,
    objects::is_conflict,
};

/// How long a cache may take to show what was written. Then it is read as it is.
const CACHE_PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait after another writer was faster.
const CONFLICT_PAUSE: Duration = Duration::from_millis(20);

/// Objects of one kind that are worked on at the same time.
const WORKERS: usize = 2;

/// What the controllers of workloads see and write with.
pub(crate) struct Workloads {
    pub(crate) client: Client,
    pub(crate) clock: WallClock,
    pub(crate) pods: Owned<Pod>,
    replica_sets: Owned<ReplicaSet>,
    deployments: SharedInformer<Deployment>,
    stateful_sets: SharedInformer<StatefulSet>,
    daemon_sets: SharedInformer<DaemonSet>,
    jobs: SharedInformer<Job>,
    pub(crate) nodes: SharedInformer<Node>,
}

/// Objects that are found by the uid of the controller that made them.
pub(crate) struct Owned<T> {
    pub(crate) informer: SharedInformer<T>,
    by_controller: Index<T, String>,
}

impl Workloads {
    /// Informers of all kinds that have to do with pods. None has begun.
    pub(crate) fn new(
        server: &ServerHandle,
        client: Client,
        clock: WallClock,
    ) -> Option<Arc<Self>> {
        Some(Arc::new(Self {
            client,
            clock,
            pods: Owned::new(informer(server)?),
            replica_sets: Owned::new(informer(server)?),
            deployments: informer(server)?,
            stateful_sets: informer(server)?,
            daemon_sets: informer(server)?,
            jobs: informer(server)?,
            nodes: informer(server)?,
        }))
    }

    /// Starts the controllers that were chosen.
    pub(crate) fn spawn(self: &Arc<Self>, choice: &Choice, stop: &Stop, tasks: &mut JoinSet<()>) {
        if choice.includes(Name::Deployment) {
            let sets = self.replica_sets.informer.clone();
            let controller = Controller::new("deployment", &self.deployments)
                .owns_through(
                    &self.replica_sets.informer,
                    controller_of::<ReplicaSet>("Deployment"),
                )
                .watches(&self.pods.informer, move |change| {
                    deployment_of(&sets, change)
                });
            tasks.spawn(run(
                controller,
                stop,
                deployment::reconcile,
                Arc::clone(self),
            ));
        }
        if choice.includes(Name::ReplicaSet) {
            let controller = Controller::new("replicaset", &self.replica_sets.informer)
                .owns_through(&self.pods.informer, controller_of::<Pod>("ReplicaSet"));
            tasks.spawn(run(
                controller,
                stop,
                replica_set::reconcile,
                Arc::clone(self),
            ));
        }
        if choice.includes(Name::StatefulSet) {
            let controller = Controller::new("statefulset", &self.stateful_sets)
                .owns_through(&self.pods.informer, controller_of::<Pod>("StatefulSet"));
            tasks.spawn(run(
                controller,
                stop,
                stateful_set::reconcile,
                Arc::clone(self),
            ));
        }
        if choice.includes(Name::DaemonSet) {
            let sets = self.daemon_sets.clone();
            let controller = Controller::new("daemonset", &self.daemon_sets)
                .owns_through(&self.pods.informer, controller_of::<Pod>("DaemonSet"))
                .watches(&self.nodes, move |_| {
                    let snapshot = sets.cache().snapshot();
                    snapshot
                        .iter()
                        .map(|set| set.key.clone())
                        .collect::<Vec<_>>()
                });
            tasks.spawn(run(
                controller,
                stop,
                daemon_set::reconcile,
                Arc::clone(self),
            ));
        }
        if choice.includes(Name::Job) {
            let controller = Controller::new("job", &self.jobs)
                .owns_through(&self.pods.informer, controller_of::<Pod>("Job"));
            tasks.spawn(run(controller, stop, job::reconcile, Arc::clone(self)));
        }
    }

    fn api<K>(&self, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace.unwrap_or_default())
    }
}

impl<T> Owned<T>
where
    T: Resource<DynamicType = ()> + Send + Sync + 'static,
{
    fn new(informer: SharedInformer<T>) -> Self {
        let by_controller = informer.add_index("controller", |object: &Object<T>| {
            controller_reference(object.body.meta()).map(|owner| owner.uid.clone())
        });
        Self {
            by_controller: by_controller.expect("a new informer has no index"),
            informer,
        }
    }

    /// Those that a controller has made, in the order of their names.
    fn of(&self, controller: &ObjectMeta) -> Vec<Arc<Object<T>>> {
        let uid = controller.uid.as_deref().unwrap_or_default();
        let snapshot = self.informer.cache().snapshot();
        let found = snapshot.by_index(&self.by_controller, uid).into_iter();
        let mut found: Vec<_> = found.map(Arc::clone).collect();
        found.sort_by(|one, other| one.key.cmp(&other.key));
        found
    }

    /// Waits until what was written shows.
    async fn settle(&self, written: &ObjectMeta) {
        let version = written.resource_version.as_deref().and_then(Version::parse);
        if let Some(version) = version {
            // One that takes too long is seen the next time.
            let _ = self.informer.wait_for(&version, CACHE_PATIENCE).await;
        }
    }
}

fn informer<K>(server: &ServerHandle) -> Option<SharedInformer<K>>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    let (group, version, plural) = (K::group(&()), K::version(&()), K::plural(&()));
    let source = ServerSource::all(server, (&group, &version, &plural)).ok()?;
    Some(SharedInformer::new(Arc::new(source), Decoder::json()))
}

/// Who made an object, if it says so.
fn controller_reference(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// The controller of one kind that made an object.
fn controller_of<T>(kind: &'static str) -> impl Fn(&Object<T>) -> Option<ObjectKey> + Send + 'static
where
    T: Resource<DynamicType = ()>,
{
    move |object| {
        let owner = controller_reference(object.body.meta())?;
        (owner.kind == kind).then(|| ObjectKey::new(object.key.namespace(), &owner.name))
    }
}

/// The deployment that lost a pod: one that recreates waits for the last of them.
fn deployment_of(
    sets: &SharedInformer<ReplicaSet>,
    change: &Notification<Pod>,
) -> Option<ObjectKey> {
    let Notification::Deleted(deleted) = change else {
        return None;
    };
    let set = controller_of::<Pod>("ReplicaSet")(deleted.last.as_ref()?)?;
    let snapshot = sets.cache().snapshot();
    controller_of::<ReplicaSet>("Deployment")(snapshot.get(set.as_str())?)
}

/// Runs a controller until told to stop. Who lost a race against another writer tries again.
fn run<T, R, F>(
    controller: Controller<T>,
    stop: &Stop,
    reconcile: R,
    workloads: Arc<Workloads>,
) -> impl Future<Output = ()> + Send + 'static + use<T, R, F>
where
    T: Send + Sync + 'static,
    R: Fn(ObjectKey, Arc<Workloads>) -> F + Send + Sync + 'static,
    F: Future<Output = kube::Result<Next>> + Send + 'static,
{
    let mut stop = stop.clone();
    let controller = controller
        .workers(WORKERS)
        .stop_on(async move { stop.requested().await });
    let patient = move |key, workloads| {
        let run = reconcile(key, workloads);
        async move {
            match run.await {
                Err(error) if is_conflict(&error) => Ok(Next::After(CONFLICT_PAUSE)),
                other => other,
            }
        }
    };
    async move {
        if let Err(error) = controller.run(patient, workloads).await {
            tracing::error!("a controller of workloads has stopped: {error}");
        }
    }
}
