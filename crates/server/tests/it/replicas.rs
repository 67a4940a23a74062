//! Several servers on one store: any of them may be behind, and none of them lets it be felt.

use std::sync::Arc;

use futures_util::future::join_all;
use listwatch_server::{Settings, random::Random};
use listwatch_store::MemoryStore;
use serde_json::{Value, json};

use crate::{
    client::version,
    replica_store::ReplicaStore,
    running::{CONFIG_MAPS, TestServer},
};

const ITEM: &str = "/api/v1/namespaces/default/configmaps/a";

/// Two servers on one store; what the second hears of can be held back.
struct Replicas {
    first: TestServer,
    second: TestServer,
    first_store: Arc<ReplicaStore>,
    second_store: Arc<ReplicaStore>,
}

async fn start() -> Replicas {
    start_with(Settings::default(), Settings::default()).await
}

async fn start_with(first: Settings, second: Settings) -> Replicas {
    let shared = Arc::new(MemoryStore::new());
    let (first_store, second_store) = (ReplicaStore::new(&shared), ReplicaStore::new(&shared));
    let (first, second) = tokio::join!(first_store.serve(first), second_store.serve(second));
    Replicas {
        first,
        second,
        first_store,
        second_store,
    }
}

impl Replicas {
    /// Creates `a` through the first server, lets the second see it and nothing that follows.
    async fn with_stale_second(&self) -> Value {
        let created = self
            .first
            .post(CONFIG_MAPS, &config_map("a"))
            .await
            .created();
        self.second.has_settled().await;
        self.second_store.hold_back();
        created
    }
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": "v"}})
}

#[tokio::test]
async fn a_change_of_a_known_object_asks_the_store_once() {
    let Replicas {
        first, first_store, ..
    } = start().await;
    first.post(CONFIG_MAPS, &config_map("a")).await.created();
    for number in 0..3 {
        first.has_settled().await;
        first_store.take_calls();
        let patch = json!({"data": {"number": number.to_string()}});
        let mut object = first.merge(ITEM, &patch).await.ok();
        assert_eq!(first_store.take_calls(), 1);
        first.has_settled().await;
        first_store.take_calls();
        object["data"]["put"] = json!(number.to_string());
        first.put(ITEM, &object).await.ok();
        assert_eq!(first_store.take_calls(), 1);
    }
    first.has_settled().await;
    first_store.take_calls();
    first.delete(ITEM).await.ok();
    assert_eq!(first_store.take_calls(), 1);
}

#[tokio::test]
async fn a_create_asks_the_store_once() {
    let Replicas {
        first, first_store, ..
    } = start().await;
    first_store.take_calls();
    first.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert_eq!(first_store.take_calls(), 1);
    first.post(CONFIG_MAPS, &config_map("a")).await.refused(409);
    assert_eq!(first_store.take_calls(), 1);
    let generated = json!({"metadata": {"generateName": "x-"}});
    first.post(CONFIG_MAPS, &generated).await.created();
    assert_eq!(first_store.take_calls(), 1);
    let nowhere = "/api/v1/namespaces/nowhere/configmaps";
    first.post(nowhere, &config_map("a")).await.refused(404);
    assert_eq!(first_store.take_calls(), 1);
}

#[tokio::test]
async fn a_lease_is_renewed_with_one_call() {
    let Replicas {
        first, first_store, ..
    } = start().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}});
    let mut lease = first.post(leases, &lease).await.created();
    first.has_settled().await;
    first_store.take_calls();
    lease["spec"]["leaseTransitions"] = json!(1);
    first.put(&format!("{leases}/l"), &lease).await.ok();
    assert_eq!(first_store.take_calls(), 1);
}

#[tokio::test]
async fn nothing_is_refused_or_left_alone_because_memory_is_behind() {
    let replicas = start().await;
    let Replicas { first, second, .. } = &replicas;
    let created = replicas.with_stale_second().await;
    let patch = json!({"data": {"k": "w", "first": "1"}});
    let patched = first.merge(ITEM, &patch).await.ok();

    // What the second remembers says that this changes nothing.
    let back = json!({"data": {"k": "v"}});
    let merged = second.merge(ITEM, &back).await.ok();
    assert_eq!(merged["data"], json!({"k": "v", "first": "1"}));

    // What it remembers is older than what its client saw elsewhere, and than what it wrote.
    let mut next = merged.clone();
    next["data"]["second"] = json!("2");
    let replaced = second.put(ITEM, &next).await.ok();
    assert!(version(&replaced) > version(&merged));

    // What it remembers agrees with what its client saw, and the store does not.
    let stale = second.put(ITEM, &created).await.refused(409);
    assert_eq!(stale["reason"], "Conflict");
    second.put(ITEM, &patched).await.refused(409);

    let newest = json!({"preconditions": {
        "resourceVersion": replaced["metadata"]["resourceVersion"],
        "uid": created["metadata"]["uid"],
    }});
    second.delete_with(ITEM, &newest).await.ok();
    first.get(ITEM).await.refused(404);
}

#[tokio::test]
async fn an_object_that_is_gone_elsewhere_is_gone_here() {
    let replicas = start().await;
    let Replicas { first, second, .. } = &replicas;
    let created = replicas.with_stale_second().await;
    first.delete(ITEM).await.ok();
    let patch = json!({"data": {"k": "w"}});
    second.merge(ITEM, &patch).await.refused(404);
    second.put(ITEM, &created).await.refused(404);
    second.delete(ITEM).await.refused(404);
    let dry = format!("{ITEM}?dryRun=All");
    second.merge(&dry, &patch).await.refused(404);
    let again = second.post(CONFIG_MAPS, &config_map("a")).await.created();
    assert_ne!(again["metadata"]["uid"], created["metadata"]["uid"]);
}

#[tokio::test]
async fn an_object_that_is_new_elsewhere_is_there_for_writes_here() {
    let replicas = start().await;
    let Replicas { first, second, .. } = &replicas;
    replicas.second_store.hold_back();
    first.post(CONFIG_MAPS, &config_map("a")).await.created();
    second
        .post(CONFIG_MAPS, &config_map("a"))
        .await
        .refused(409);
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    second.post(&dry, &config_map("a")).await.refused(409);
    second.merge(ITEM, &json!({"data": {"k": "w"}})).await.ok();
    second.delete(ITEM).await.ok();
}

#[tokio::test]
async fn a_namespace_counts_everywhere_as_soon_as_it_is_there_and_until_it_goes() {
    let replicas = start().await;
    let Replicas { first, second, .. } = &replicas;
    replicas.second_store.hold_back();
    let namespace = json!({"metadata": {"name": "fresh"}});
    first.post("/api/v1/namespaces", &namespace).await.created();
    let inside = "/api/v1/namespaces/fresh/configmaps";
    second.post(inside, &config_map("a")).await.created();
    replicas.second_store.pass_on();
    second.has_settled().await;
    replicas.second_store.hold_back();
    first.delete("/api/v1/namespaces/fresh").await.ok();
    let refused = second.post(inside, &config_map("b")).await.refused(403);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("because it is being terminated"),
        "{message}"
    );
}

#[tokio::test]
async fn the_pages_of_a_list_may_come_from_different_servers() {
    let Replicas { first, second, .. } = start().await;
    for name in ["a", "b", "c", "d"] {
        first.post(CONFIG_MAPS, &config_map(name)).await.created();
    }
    let page = first.get(&format!("{CONFIG_MAPS}?limit=2")).await;
    assert_eq!(page.item_names(), ["a", "b"]);
    first.post(CONFIG_MAPS, &config_map("c0")).await.created();
    let token = page.ok()["metadata"]["continue"]
        .as_str()
        .unwrap()
        .to_owned();
    let rest = second
        .get(&format!("{CONFIG_MAPS}?limit=9&continue={token}"))
        .await;
    assert_eq!(rest.item_names(), ["c", "d"]);
    assert_eq!(version(&rest.ok()), version(&page.ok()));
}

#[tokio::test]
async fn servers_that_generate_the_same_name_give_it_once() {
    let same = || Settings {
        random: Random::seeded(7),
        ..Settings::default()
    };
    let replicas = start_with(same(), same()).await;
    let Replicas { first, second, .. } = &replicas;
    replicas.second_store.hold_back();
    let object = json!({"metadata": {"generateName": "x-"}});
    let mut names = Vec::new();
    for _ in 0..4 {
        for server in [first, second] {
            let created = server.post(CONFIG_MAPS, &object).await.created();
            names.push(created["metadata"]["name"].to_string());
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 8);
}

#[tokio::test]
async fn changes_through_both_servers_at_once_are_all_made() {
    let Replicas { first, second, .. } = start().await;
    first.post(CONFIG_MAPS, &config_map("a")).await.created();
    let servers = [&first, &second];
    let writers = (0..40).map(|number| async move {
        let patch = json!({"data": {format!("key-{number}"): "v"}});
        servers[number % 2].merge(ITEM, &patch).await.ok();
    });
    join_all(writers).await;
    for server in servers {
        let object = server.get(ITEM).await.ok();
        assert_eq!(object["data"].as_object().unwrap().len(), 41);
    }
}

#[tokio::test]
async fn servers_that_start_together_make_one_cluster() {
    let replicas = start().await;
    let [first, second] = [&replicas.first, &replicas.second];
    let namespaces = "/api/v1/namespaces";
    let (one, other) = (first.get(namespaces).await, second.get(namespaces).await);
    assert_eq!(one.ok()["items"], other.ok()["items"]);
    let expected = ["default", "kube-node-lease", "kube-public", "kube-system"];
    assert_eq!(one.item_names(), expected);
    let service = "/api/v1/namespaces/default/services/kubernetes";
    assert_eq!(
        first.get(service).await.ok(),
        second.get(service).await.ok()
    );
    replicas.first_store.take_calls();
}
