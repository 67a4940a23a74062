//! Controllers that make pods, for those who want to see them live: by choice.
//!
//! Each waits after its own writes until its informers show them, so that it never acts twice on
//! one cause.

mod claim;
mod cron_job;
mod daemon_set;
mod deployment;
mod history;
mod job;
mod owned;
mod pods;
mod replicas;
mod revision;
mod stateful_set;

use std::{fmt, sync::Arc};

use k8s_openapi::api::{
    apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::{CronJob, Job},
    core::v1::{Node, Pod, ReplicationController},
};
use kube::{Api, Client, Resource, api::PostParams, core::NamespaceResourceScope};
use listwatch::{
    Controller, Decoder, Next, Notification, ObjectKey, SharedInformer, wall_clock::WallClock,
};
use listwatch_in_process::ServerSource;
use listwatch_server::ServerHandle;
use serde::{Serialize, de::DeserializeOwned};
use tokio::task::JoinSet;

use self::{
    claim::{claimants, controller_of},
    owned::Owned,
};
use crate::{
    choice::{Choice, Name},
    controllers::Stop,
    objects::unless_gone,
    worker::again_on_conflict,
};

pub(crate) use self::{
    owned::settle,
    pods::{is_ready, reference_to},
};

/// Objects of one kind that are worked on at the same time.
const WORKERS: usize = 2;

/// What the controllers of workloads see and write with.
pub(crate) struct Workloads {
    pub(crate) client: Client,
    pub(crate) clock: WallClock,
    pub(crate) pods: Owned<Pod>,
    replica_sets: Owned<ReplicaSet>,
    revisions: Owned<ControllerRevision>,
    replication_controllers: SharedInformer<ReplicationController>,
    deployments: SharedInformer<Deployment>,
    stateful_sets: SharedInformer<StatefulSet>,
    daemon_sets: SharedInformer<DaemonSet>,
    jobs: Owned<Job>,
    cron_jobs: SharedInformer<CronJob>,
    pub(crate) nodes: SharedInformer<Node>,
}

/// Where the controllers of workloads are started.
struct Start<'a> {
    workloads: &'a Arc<Workloads>,
    choice: &'a Choice,
    stop: &'a Stop,
    tasks: &'a mut JoinSet<()>,
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
            revisions: Owned::new(informer(server)?),
            replication_controllers: informer(server)?,
            deployments: informer(server)?,
            stateful_sets: informer(server)?,
            daemon_sets: informer(server)?,
            jobs: Owned::new(informer(server)?),
            cron_jobs: informer(server)?,
            nodes: informer(server)?,
        }))
    }

    /// Starts the controllers that were chosen.
    pub(crate) fn spawn(self: &Arc<Self>, choice: &Choice, stop: &Stop, tasks: &mut JoinSet<()>) {
        let mut start = Start {
            workloads: self,
            choice,
            stop,
            tasks,
        };
        start.deployments();
        start.replicas();
        start.stateful_sets();
        start.daemon_sets();
        start.jobs();
    }

    fn api<K>(&self, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace.unwrap_or_default())
    }

    /// Writes the status of an object; `None` if it is gone.
    async fn write_status<K>(&self, object: &K) -> kube::Result<Option<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let metadata = object.meta();
        let name = metadata.name.as_deref().unwrap_or_default();
        let api: Api<K> = self.api(metadata.namespace.as_deref());
        let parameters = PostParams::default();
        unless_gone(api.replace_status(name, &parameters, object).await)
    }
}

impl Start<'_> {
    fn deployments(&mut self) {
        let Workloads {
            deployments,
            replica_sets,
            pods,
            ..
        } = &**self.workloads;
        let sets = replica_sets.informer.clone();
        let selector = |it: &Deployment| Some(it.spec.as_ref()?.selector.clone());
        let controller = Controller::new("deployment", deployments)
            .owns_through(&replica_sets.informer, claimants(deployments, selector))
            .watches(&pods.informer, move |change| deployment_of(&sets, change));
        self.run(Name::Deployment, controller, deployment::reconcile);
    }

    fn replicas(&mut self) {
        let Workloads {
            replica_sets,
            replication_controllers,
            pods,
            ..
        } = &**self.workloads;
        let sets = &replica_sets.informer;
        let controller = Controller::new("replicaset", sets).owns_through(
            &pods.informer,
            claimants(sets, replicas::Replicated::selector),
        );
        self.run(
            Name::ReplicaSet,
            controller,
            replicas::reconcile::<ReplicaSet>,
        );
        let controller = Controller::new("replicationcontroller", replication_controllers)
            .owns_through(
                &pods.informer,
                claimants(replication_controllers, replicas::Replicated::selector),
            );
        self.run(
            Name::ReplicationController,
            controller,
            replicas::reconcile::<ReplicationController>,
        );
    }

    fn stateful_sets(&mut self) {
        let Workloads {
            stateful_sets,
            pods,
            ..
        } = &**self.workloads;
        let selector = |it: &StatefulSet| Some(it.spec.as_ref()?.selector.clone());
        let controller = Controller::new("statefulset", stateful_sets)
            .owns_through(&pods.informer, claimants(stateful_sets, selector))
            .owns_through(
                &self.workloads.revisions.informer,
                controller_of("StatefulSet"),
            );
        self.run(Name::StatefulSet, controller, stateful_set::reconcile);
    }

    fn daemon_sets(&mut self) {
        let Workloads {
            daemon_sets,
            nodes,
            pods,
            ..
        } = &**self.workloads;
        let all = daemon_sets.clone();
        let selector = |it: &DaemonSet| Some(it.spec.as_ref()?.selector.clone());
        let controller = Controller::new("daemonset", daemon_sets)
            .owns_through(&pods.informer, claimants(daemon_sets, selector))
            .owns_through(
                &self.workloads.revisions.informer,
                controller_of("DaemonSet"),
            )
            .watches(nodes, move |_| {
                let snapshot = all.cache().snapshot();
                let keys = snapshot.iter().map(|set| set.key.clone());
                keys.collect::<Vec<_>>()
            });
        self.run(Name::DaemonSet, controller, daemon_set::reconcile);
    }

    fn jobs(&mut self) {
        let Workloads {
            jobs,
            pods,
            cron_jobs,
            ..
        } = &**self.workloads;
        let jobs = &jobs.informer;
        let selector = |it: &Job| it.spec.as_ref()?.selector.clone();
        let controller =
            Controller::new("job", jobs).owns_through(&pods.informer, claimants(jobs, selector));
        self.run(Name::Job, controller, job::reconcile);
        let controller =
            Controller::new("cronjob", cron_jobs).owns_through(jobs, controller_of("CronJob"));
        self.run(Name::CronJob, controller, cron_job::reconcile);
    }

    /// Runs a controller, if it was chosen, until told to stop.
    fn run<T, R, F>(&mut self, name: Name, controller: Controller<T>, reconcile: R)
    where
        T: Send + Sync + 'static,
        R: Fn(ObjectKey, Arc<Workloads>) -> F + Send + Sync + 'static,
        F: Future<Output = kube::Result<Next>> + Send + 'static,
    {
        if !self.choice.includes(name) {
            return;
        }
        let mut stop = self.stop.clone();
        let controller = controller
            .workers(WORKERS)
            .stop_on(async move { stop.requested().await });
        let patient = move |key, workloads| {
            let run = reconcile(key, workloads);
            async move { again_on_conflict(run.await) }
        };
        let workloads = Arc::clone(self.workloads);
        self.tasks.spawn(async move {
            if let Err(error) = controller.run(patient, workloads).await {
                tracing::error!("the controller {name} has stopped: {error}");
            }
        });
    }
}

/// An informer of all objects of a kind, with their labels.
pub(crate) fn informer<K>(server: &ServerHandle) -> Option<SharedInformer<K>>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
{
    let (group, version, plural) = (K::group(&()), K::version(&()), K::plural(&()));
    let source = ServerSource::all(server, (&group, &version, &plural)).ok()?;
    Some(SharedInformer::new(Arc::new(source), Decoder::json()))
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

/// Kubernetes leaves out what is nought.
fn some(count: i32) -> Option<i32> {
    Some(count).filter(|count| *count != 0)
}

/// How many of these pass, as fields count.
fn count<T>(objects: &[T], test: impl Fn(&T) -> bool) -> i32 {
    let found = objects.iter().filter(|object| test(object)).count();
    i32::try_from(found).unwrap_or(i32::MAX)
}
