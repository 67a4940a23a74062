//! New objects and the end of their namespace, at the same moment: nothing comes in after it.

use std::sync::Arc;

use listwatch_server::Settings;
use listwatch_store::{Commit, Condition, MemoryStore, Store, Write};
use serde_json::{Value, json};

use crate::{
    client::Answer,
    replica_store::{ReplicaStore, entry},
    running::TestServer,
};

const HOME: &str = "/registry/namespaces/home";
const CONFIG_MAPS: &str = "/api/v1/namespaces/home/configmaps";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/home/leases/put";

/// A server with a namespace, on a store that others write too.
struct Scene {
    server: TestServer,
    store: Arc<ReplicaStore>,
    /// Makes the namespace as it was in the beginning.
    home: Commit,
}

/// The ways to create something, and where it then is.
#[derive(Clone, Copy, Debug)]
enum Way {
    Post,
    Put,
    Apply,
}

impl Way {
    const ALL: [Self; 3] = [Self::Post, Self::Put, Self::Apply];

    fn key(self) -> &'static str {
        match self {
            Self::Post => "/registry/configmaps/home/posted",
            Self::Put => "/registry/leases/home/put",
            Self::Apply => "/registry/configmaps/home/applied",
        }
    }

    async fn create(self, server: &TestServer) -> Answer {
        match self {
            Self::Post => server.post(CONFIG_MAPS, &named("posted")).await,
            Self::Put => server.put(LEASE, &named("put")).await,
            Self::Apply => {
                let path = format!("{CONFIG_MAPS}/applied?fieldManager=m");
                let mut wanted = named("applied");
                wanted["apiVersion"] = json!("v1");
                wanted["kind"] = json!("ConfigMap");
                let apply = "application/apply-patch+yaml";
                server.patch(&path, apply, &wanted).await
            }
        }
    }
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

async fn start() -> Scene {
    let store = ReplicaStore::new(&Arc::new(MemoryStore::new()));
    let server = store.serve(Settings::default()).await;
    let namespaces = "/api/v1/namespaces";
    server.post(namespaces, &named("home")).await.created();
    server.has_settled().await;
    let home = entry(&*store, HOME).await.unwrap();
    let home = Commit::one(HOME.into(), Condition::Any, Write::put(home.value));
    Scene {
        server,
        store,
        home,
    }
}

impl Scene {
    /// A change of the namespace that somebody else makes.
    async fn home_with(&self, change: impl FnOnce(&mut Value)) -> Commit {
        let home = entry(&*self.store, HOME).await.unwrap();
        let mut home: Value = serde_json::from_slice(&home.value).unwrap();
        change(&mut home);
        let write = Write::put(serde_json::to_vec(&home).unwrap());
        Commit::one(HOME.into(), Condition::Any, write)
    }

    async fn home_going(&self) -> Commit {
        let mark = |home: &mut Value| {
            home["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
        };
        self.home_with(mark).await
    }

    /// Creates something in the namespace, which somebody else changes right before the write.
    async fn create_overtaken(&self, way: Way, rival: &Commit) -> Answer {
        self.store.commit(self.home.clone()).await.unwrap();
        self.server.has_settled().await;
        self.store.overtake(way.key(), rival.clone());
        let answer = way.create(&self.server).await;
        assert!(!self.store.has_rival(), "{way:?} wrote nothing");
        answer
    }

    async fn holds(&self, way: Way) -> bool {
        entry(&*self.store, way.key()).await.is_some()
    }
}

#[tokio::test]
async fn nothing_comes_into_a_namespace_that_was_marked_a_moment_before() {
    let scene = start().await;
    let going = scene.home_going().await;
    for way in Way::ALL {
        let refused = scene.create_overtaken(way, &going).await.refused(403);
        let message = refused["message"].as_str().unwrap();
        let expected = "is forbidden: unable to create new content in namespace home because it is \
                        being terminated";
        assert!(message.ends_with(expected), "{way:?}: {message}");
        assert!(!scene.holds(way).await, "{way:?}");
    }
}

#[tokio::test]
async fn nothing_comes_into_a_namespace_that_went_a_moment_before() {
    let scene = start().await;
    let gone = Commit::one(HOME.into(), Condition::Any, Write::Delete);
    for way in Way::ALL {
        let refused = scene.create_overtaken(way, &gone).await.refused(404);
        assert_eq!(refused["message"], "namespaces \"home\" not found");
        assert!(!scene.holds(way).await, "{way:?}");
    }
}

#[tokio::test]
async fn a_namespace_may_change_while_something_is_created_in_it() {
    let scene = start().await;
    let label = |home: &mut Value| home["metadata"]["labels"]["new"] = json!("label");
    let relabelled = scene.home_with(label).await;
    for way in Way::ALL {
        scene.create_overtaken(way, &relabelled).await.created();
        assert!(scene.holds(way).await, "{way:?}");
    }
}

#[tokio::test]
async fn a_namespace_that_was_made_anew_takes_what_is_meant_for_it() {
    let Scene {
        server,
        store,
        home,
    } = start().await;
    store.hold_back();
    let gone = Commit::one(HOME.into(), Condition::Any, Write::Delete);
    store.commit(gone).await.unwrap();
    store.commit(home).await.unwrap();
    for way in Way::ALL {
        way.create(&server).await.created();
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_object_is_said_only_of_one_that_may_come_in() {
    let scene = start().await;
    let going = scene.home_going().await;
    scene.store.hold_back();
    scene.store.commit(going).await.unwrap();
    let invalid = named("NOT A NAME");
    scene.server.post(CONFIG_MAPS, &invalid).await.refused(403);
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    scene.server.post(&dry, &named("a")).await.refused(403);
}
