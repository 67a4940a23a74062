//! A controller that makes as many children as each parent wants, while others interfere.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use listwatch::{
    Controller, HandlerOptions, Next, ObjectKey, SharedInformer, Version, source::KubernetesSource,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::{sync::oneshot, time::timeout};

use super::{PATIENCE, informer};
use crate::real_server::RealServer;

const PARENTS: usize = 5;
const STEPS: usize = 60;

struct World {
    client: Client,
    parents: SharedInformer<ConfigMap>,
    children: SharedInformer<ConfigMap>,
    written: Mutex<HashMap<ObjectKey, Version>>,
    running: Mutex<HashSet<ObjectKey>>,
}

impl World {
    fn new(client: Client) -> Self {
        let of = |role: &str| {
            let source = KubernetesSource::namespaced::<ConfigMap>(client.clone(), "default");
            informer(source.labels(format!("role={role}")))
        };
        Self {
            parents: of("parent"),
            children: of("child"),
            client,
            written: Mutex::default(),
            running: Mutex::default(),
        }
    }

    fn api(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client.clone())
    }

    fn children_of(&self, parent: &ObjectKey) -> Vec<String> {
        let children = self.children.cache().snapshot();
        let children = children.iter().filter(|child| {
            let mut owners = child.owner_references().iter();
            owners.any(|owner| owner.name == parent.name())
        });
        children.map(|child| child.name_any()).collect()
    }

    fn wrote(&self, parent: &ObjectKey, child: &ConfigMap) {
        let version = Version::parse(&child.resource_version().unwrap()).unwrap();
        self.written.lock().insert(parent.clone(), version);
    }

    /// How many children each parent has at the server, and how many it wants.
    async fn at_the_server(&self) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
        let all = self.api().list(&ListParams::default()).await.unwrap();
        let (mut have, mut want) = (BTreeMap::new(), BTreeMap::new());
        for object in all {
            if let Some(owner) = object.owner_references().first() {
                *have.entry(owner.name.clone()).or_default() += 1;
            } else if let Some(copies) = copies(&object).filter(|copies| *copies > 0) {
                want.insert(object.name_any(), copies);
            }
        }
        (have, want)
    }
}

fn copies(parent: &ConfigMap) -> Option<usize> {
    let data = parent.data.as_ref()?;
    data.get("copies")?.parse().ok()
}

async fn reconcile(key: ObjectKey, world: Arc<World>) -> kube::Result<Next> {
    assert!(
        world.running.lock().insert(key.clone()),
        "two runs of {key}"
    );
    let next = make_copies(&key, &world).await;
    world.running.lock().remove(&key);
    next
}

async fn make_copies(key: &ObjectKey, world: &World) -> kube::Result<Next> {
    let written = world.written.lock().get(key).cloned();
    if let Some(version) = written {
        world.children.wait_for(&version, PATIENCE).await.unwrap();
    }
    let parents = world.parents.cache().snapshot();
    let Some(parent) = parents.get(key.as_str()) else {
        return Ok(Next::AwaitChange);
    };
    let children = world.children_of(key);
    let wanted = copies(parent).unwrap_or(0);
    let owner = parent.controller_owner_ref(&()).unwrap();
    for _ in children.len()..wanted {
        let child = json!({"metadata": {
            "generateName": format!("{}-", key.name()),
            "labels": {"role": "child"},
            "ownerReferences": [owner],
        }});
        let child = serde_json::from_value(child).unwrap();
        let child = world.api().create(&PostParams::default(), &child).await?;
        world.wrote(key, &child);
    }
    for child in children.iter().skip(wanted) {
        let deleted = world.api().delete(child, &DeleteParams::default()).await;
        match deleted {
            // Until the cache shows its end the same child is chosen, which harms nobody.
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Next::AwaitChange)
}

/// Changes a number at random, or deletes a child at random.
async fn interfere(world: &World, random: &mut Rng) {
    let parent = format!("parent-{}", random.usize(..PARENTS));
    if random.bool() {
        let copies = random.usize(..5).to_string();
        let patch = Patch::Merge(json!({"data": {"copies": copies}}));
        let api = world.api();
        let patched = api.patch(&parent, &PatchParams::default(), &patch).await;
        patched.unwrap();
        return;
    }
    let children = world.children_of(&ObjectKey::new(Some("default"), &parent));
    if let Some(child) = random.choice(children) {
        let _ = world.api().delete(&child, &DeleteParams::default()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_others_do_each_parent_ends_with_the_children_it_wants() {
    let server = RealServer::start().await;
    let world = Arc::new(World::new(server.client()));
    for number in 0..PARENTS {
        let name = format!("parent-{number}");
        let labels = json!({"role": "parent"});
        let parent = json!({
            "metadata": {"name": name, "labels": labels},
            "data": {"copies": "3"},
        });
        let parent = serde_json::from_value(parent).unwrap();
        let api = world.api();
        let created = api.create(&PostParams::default(), &parent).await;
        created.unwrap();
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let controller = Controller::new("copies", &world.parents)
        .owns(&world.children)
        .workers(3)
        .stop_on(async {
            let _ = stopped.await;
        });
    let controller = tokio::spawn(controller.run(reconcile, Arc::clone(&world)));
    let mut random = Rng::with_seed(7);
    for _ in 0..STEPS {
        interfere(&world, &mut random).await;
    }
    let mut changes = world
        .children
        .subscribe(&HandlerOptions::default())
        .unwrap();
    let settled = async {
        loop {
            let (have, want) = world.at_the_server().await;
            if have == want {
                return;
            }
            changes.next().await.unwrap();
        }
    };
    timeout(PATIENCE, settled).await.unwrap();
    drop(stop);
    timeout(PATIENCE, controller)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let (have, want) = world.at_the_server().await;
    assert_eq!(have, want);
}
