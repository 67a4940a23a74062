//! Nodes that exist only as objects, and pods that live on them: placed, started, ready, ended.
//!
//! Nothing is run. What a pod says of itself follows from its spec and from time alone.

mod life;
mod registration;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{Binding, Node, ObjectReference, Pod};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, PostParams, Preconditions},
};
use listwatch::{Controller, Next, Object, ObjectKey};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{task::JoinSet, time::Instant};

use self::life::Stage;
use crate::{
    controllers::Stop, objects::unless_gone, worker::again_on_conflict, workloads::Workloads,
};

/// Pods that are worked on at the same time.
const WORKERS: usize = 2;

/// How long to wait for a node on which a pod could be placed.
const NO_NODE_PAUSE: Duration = Duration::from_secs(1);

/// The nodes of a simulation and the pods on them.
pub(crate) struct SimulatedNodes {
    workloads: Arc<Workloads>,
    names: Vec<String>,
    addresses_given: AtomicU32,
    /// When each pod goes on to its next stage. As large as the number of pods.
    due: Mutex<HashMap<ObjectKey, (String, Stage, Instant)>>,
}

impl SimulatedNodes {
    /// So many nodes, none of which is registered yet.
    pub(crate) fn new(workloads: Arc<Workloads>, count: u32) -> Arc<Self> {
        Arc::new(Self {
            workloads,
            names: (1..=count).map(|number| format!("node-{number}")).collect(),
            addresses_given: AtomicU32::new(0),
            due: Mutex::default(),
        })
    }

    /// Registers the nodes, keeps their leases, and lets pods live, until told to stop.
    pub(crate) fn spawn(self: &Arc<Self>, stop: &Stop, tasks: &mut JoinSet<()>) {
        tasks.spawn(registration::run(
            self.workloads.client.clone(),
            (self.names.clone(), self.workloads.clock.clone()),
            stop.clone(),
        ));
        let mut stop = stop.clone();
        let controller = Controller::new("simulated-node", &self.workloads.pods.informer)
            .workers(WORKERS)
            .stop_on(async move { stop.requested().await });
        let nodes = Arc::clone(self);
        tasks.spawn(async move {
            if let Err(error) = controller.run(reconcile, nodes).await {
                tracing::error!("the simulated nodes have stopped: {error}");
            }
        });
    }

    /// How long a pod still stays in its stage; `None` once it is time for the next.
    fn time_left(&self, pod: &Object<Pod>, stage: Stage) -> Option<Duration> {
        let now = Instant::now();
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let mut due = self.due.lock();
        let fresh = (uid, stage, now + stage.duration(pod));
        let known = due.entry(pod.key.clone()).or_insert_with(|| fresh.clone());
        if (&known.0, known.1) != (&fresh.0, fresh.1) {
            *known = fresh;
        }
        let left = known.2.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Gives a pod to the node that has the fewest, of those that it may be on.
    async fn place(&self, pod: &Object<Pod>) -> kube::Result<Next> {
        let Some(node) = self.emptiest(pod) else {
            return Ok(Next::After(NO_NODE_PAUSE));
        };
        let binding = Binding {
            metadata: ObjectMeta {
                name: Some(pod.key.name().to_owned()),
                uid: pod.metadata.uid.clone(),
                ..ObjectMeta::default()
            },
            target: ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Node".to_owned()),
                name: Some(node),
                ..ObjectReference::default()
            },
        };
        let parameters = PostParams::default();
        let pods = self.api(pod);
        let bound =
            pods.create_subresource::<_, Value>("binding", pod.key.name(), &parameters, &binding);
        bound.await.map(|_| Next::AwaitChange)
    }

    fn emptiest(&self, pod: &Pod) -> Option<String> {
        let spec = pod.spec.as_ref()?;
        let selector = spec.node_selector.clone().unwrap_or_default();
        let snapshot = self.workloads.pods.informer.cache().snapshot();
        let mut load: BTreeMap<&str, usize> = BTreeMap::new();
        let placed = snapshot
            .iter()
            .filter_map(|pod| pod.spec.as_ref()?.node_name.as_deref());
        placed.for_each(|node| *load.entry(node).or_default() += 1);
        let nodes = self.workloads.nodes.cache().snapshot();
        let fitting = self
            .names
            .iter()
            .filter(|name| nodes.get(name).is_some_and(|node| fits(node, &selector)));
        let found = fitting.min_by_key(|name| load.get(name.as_str()).copied().unwrap_or_default());
        found.cloned()
    }

    /// Writes the status of the next stage.
    async fn advance(&self, pod: &Object<Pod>, stage: Stage) -> kube::Result<()> {
        let number = self.addresses_given.fetch_add(1, Ordering::Relaxed);
        let address = format!(
            "10.{}.{}.{}",
            244 + (number >> 16) % 12,
            (number >> 8) & 255,
            number & 255
        );
        let mut next = pod.body.clone();
        let now = self.workloads.clock.now();
        life::advance(&mut next, stage, (&now, &address));
        let parameters = PostParams::default();
        self.api(pod)
            .replace_status(pod.key.name(), &parameters, &next)
            .await
            .map(drop)
    }

    /// Removes a pod whose containers have ended.
    async fn remove(&self, pod: &Object<Pod>) -> kube::Result<()> {
        let parameters = DeleteParams::default()
            .grace_period(0)
            .preconditions(Preconditions {
                uid: pod.metadata.uid.clone(),
                resource_version: None,
            });
        self.api(pod)
            .delete(pod.key.name(), &parameters)
            .await
            .map(drop)
    }

    fn api(&self, pod: &Object<Pod>) -> Api<Pod> {
        let namespace = pod.key.namespace().unwrap_or_default();
        Api::namespaced(self.workloads.client.clone(), namespace)
    }
}

fn fits(node: &Node, selector: &BTreeMap<String, String>) -> bool {
    let is_open = node.spec.as_ref().and_then(|spec| spec.unschedulable) != Some(true);
    let labels = node.metadata.labels.as_ref();
    let mut wanted = selector.iter();
    is_open && wanted.all(|(name, value)| labels.and_then(|it| it.get(name)) == Some(value))
}

async fn reconcile(key: ObjectKey, nodes: Arc<SimulatedNodes>) -> kube::Result<Next> {
    let snapshot = nodes.workloads.pods.informer.cache().snapshot();
    let Some(pod) = snapshot.get(key.as_str()) else {
        nodes.due.lock().remove(&key);
        return Ok(Next::AwaitChange);
    };
    let stepped = unless_gone(step(pod, &nodes).await);
    again_on_conflict(stepped.map(|next| next.unwrap_or(Next::AwaitChange)))
}

/// What a pod's stage asks for, when it has lasted long enough.
async fn step(pod: &Object<Pod>, nodes: &SimulatedNodes) -> kube::Result<Next> {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let is_ours = node.is_none_or(|node| nodes.names.iter().any(|name| name == node));
    let Some(stage) = Stage::of(pod).filter(|_| is_ours) else {
        return Ok(Next::AwaitChange);
    };
    if let Some(left) = nodes.time_left(pod, stage) {
        return Ok(Next::After(left));
    }
    match stage {
        Stage::Unplaced => nodes.place(pod).await,
        Stage::Ending => nodes.remove(pod).await.map(|()| Next::AwaitChange),
        Stage::Placed | Stage::Starting | Stage::Working => {
            nodes.advance(pod, stage).await.map(|()| Next::AwaitChange)
        }
    }
}
