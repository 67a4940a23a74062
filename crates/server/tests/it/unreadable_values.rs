//! Values that nobody can decode: each costs only itself.

use std::sync::Arc;

use listwatch_server::{Settings, watch_cache::CacheLimits};
use listwatch_store::{Commit, Condition, Key, MemoryStore, Store, Write};
use serde_json::{Value, json};

use crate::{
    client::{Client, version},
    replica_store::{ReplicaStore, entry, put},
    running::{CONFIG_MAPS, start_on, start_server, start_with},
};

const KEY: &str = "/registry/configmaps/default/bad";
const ITEM: &str = "/api/v1/namespaces/default/configmaps/bad";

/// What cannot be decoded, and what is said of it.
const UNREADABLE: [(&[u8], &str); 6] = [
    (b"\xff\xfe garbage", "it is neither JSON nor protobuf"),
    (b"k8s:enc:aescbc:v1:key1:\x01", "it is encrypted"),
    (
        b"k8s\0\x0a\x0c\x0a\x02v9\x12\x06Widget\x12\x02\x0a\0",
        r#"it says that it is "Widget" of "v9""#,
    ),
    (
        br#"{"kind":"ConfigMap","apiVersion":"v1"}"#,
        "it has no metadata",
    ),
    (
        br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"other"}}"#,
        r#"its metadata.name is "other""#,
    ),
    (
        br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"bad"},"data":{"k":1}}"#,
        "cannot unmarshal number",
    ),
];

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": "v"}})
}

async fn unreadable(client: &Client) -> usize {
    let text = client.get("/metrics").await.text();
    let start = r#"listwatch_unreadable_objects{group="",version="v1",resource="configmaps"} "#;
    let line = text.lines().find_map(|line| line.strip_prefix(start));
    line.expect("the gauge is there").parse().unwrap()
}

#[tokio::test]
async fn a_value_that_cannot_be_decoded_costs_only_itself() {
    let server = start_server().await;
    server
        .post(CONFIG_MAPS, &config_map("good"))
        .await
        .created();
    let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    events.shows(&["ADDED good"]).await;
    for (value, reason) in UNREADABLE {
        let revision = put(&*server.store, KEY, value).await;
        assert_eq!(server.get(CONFIG_MAPS).await.item_names(), ["good"]);
        let status = server.get(ITEM).await.refused(500);
        assert_eq!(status["reason"], "InternalError");
        let message = status["message"].as_str().unwrap();
        let begin = format!(
            "Internal error occurred: StorageError: corrupt object, Code: 7, Key: {KEY}, \
             ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision={revision}: "
        );
        let told = message.strip_prefix(&begin).expect(message);
        assert!(told.contains(reason), "{told}");
        assert!(told.ends_with("; it can be deleted by its name"), "{told}");
    }
    assert_eq!(unreadable(&server).await, 1);
    // Nothing was told of it, and the next that happens is.
    server
        .post(CONFIG_MAPS, &config_map("next"))
        .await
        .created();
    events.shows(&["ADDED next"]).await;
}

#[tokio::test]
async fn a_value_that_cannot_be_decoded_can_only_be_deleted() {
    let server = start_server().await;
    for (value, _) in UNREADABLE {
        put(&*server.store, KEY, value).await;
        let mut applied = config_map("bad");
        applied["kind"] = json!("ConfigMap");
        applied["apiVersion"] = json!("v1");
        let apply = format!("{ITEM}?fieldManager=m");
        let apply = server.patch(&apply, "application/apply-patch+yaml", &applied);
        let refusals = [
            apply.await,
            server.put(ITEM, &config_map("bad")).await,
            server.merge(ITEM, &json!({"data": {"k": "w"}})).await,
        ];
        for answer in refusals {
            let message = answer.refused(500)["message"].to_string();
            assert!(
                message.contains("it can be deleted by its name"),
                "{message}"
            );
        }
        let taken = server.post(CONFIG_MAPS, &config_map("bad")).await;
        assert_eq!(taken.refused(409)["reason"], "AlreadyExists");
        let dry = server.delete(&format!("{ITEM}?dryRun=All")).await.ok();
        assert_eq!(dry["status"], "Success");
        assert_eq!(entry(&*server.store, KEY).await.unwrap().value, value);
        let deleted = server.delete(ITEM).await.ok();
        assert_eq!(
            (&deleted["kind"], &deleted["status"], &deleted["details"]),
            (
                &json!("Status"),
                &json!("Success"),
                &json!({"name": "bad", "kind": "configmaps"})
            )
        );
        assert_eq!(entry(&*server.store, KEY).await, None);
        server.delete(ITEM).await.refused(404);
        server.get(ITEM).await.refused(404);
    }
    assert_eq!(unreadable(&server).await, 0);
    server.post(CONFIG_MAPS, &config_map("bad")).await.created();
    server.get(ITEM).await.ok();
}

#[tokio::test]
async fn only_the_version_of_an_unreadable_value_can_be_a_precondition() {
    let server = start_server().await;
    let revision = put(&*server.store, KEY, "garbage").await;
    let with = |preconditions: Value| json!({"preconditions": preconditions});
    let by_uid = with(json!({"uid": "u"}));
    let refused = server.delete_with(ITEM, &by_uid).await.refused(409);
    assert_eq!(refused["reason"], "Conflict");
    let other = with(json!({"resourceVersion": "1"}));
    server.delete_with(ITEM, &other).await.refused(409);
    let same = with(json!({"resourceVersion": revision.to_string()}));
    server.delete_with(ITEM, &same).await.ok();
    assert_eq!(entry(&*server.store, KEY).await, None);
}

#[tokio::test]
async fn watchers_see_an_object_go_when_it_becomes_unreadable_and_come_back_after() {
    let server = start_server().await;
    let created = server.post(CONFIG_MAPS, &config_map("bad")).await.created();
    let readable = entry(&*server.store, KEY).await.unwrap().value;
    let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    events.shows(&["ADDED bad"]).await;
    let broken = put(&*server.store, KEY, "garbage").await;
    let gone = &events.shows(&["DELETED bad"]).await[0];
    assert_eq!(gone.version(), broken);
    assert_eq!(gone.object["data"], created["data"]);
    put(&*server.store, KEY, "other garbage").await;
    let repaired = put(&*server.store, KEY, readable).await;
    let back = &events.shows(&["ADDED bad"]).await[0];
    assert_eq!(back.version(), repaired);
    assert_eq!(unreadable(&server).await, 0);
}

#[tokio::test]
async fn a_watch_of_the_past_passes_over_what_was_unreadable_then() {
    let limits = CacheLimits {
        history_events_max: 1,
        ..CacheLimits::default()
    };
    let server = start_with(Settings {
        cache: limits,
        ..Settings::default()
    })
    .await;
    let created = server.post(CONFIG_MAPS, &config_map("bad")).await.created();
    let readable = entry(&*server.store, KEY).await.unwrap().value;
    put(&*server.store, KEY, "garbage").await;
    put(&*server.store, KEY, "other garbage").await;
    put(&*server.store, KEY, readable).await;
    for name in ["b", "c"] {
        server.post(CONFIG_MAPS, &config_map(name)).await.created();
    }
    server.has_settled().await;
    let after = version(&created);
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={after}");
    let mut events = server.watch(&path).await;
    let expected = ["DELETED bad", "ADDED bad", "ADDED b", "ADDED c"];
    events.shows(&expected).await;
}

#[tokio::test]
async fn a_server_starts_on_a_store_with_unreadable_values() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for number in 0..200 {
        let key = format!("/registry/configmaps/default/bad-{number}");
        put(&*store, &key, "garbage").await;
    }
    put(&*store, "/registry/pods/default/bad", "garbage").await;
    put(&*store, "/registry/pods/misplaced", "garbage").await;
    let server = start_on(store, Settings::default()).await;
    assert_eq!(unreadable(&server).await, 200);
    server
        .post(CONFIG_MAPS, &config_map("good"))
        .await
        .created();
    assert_eq!(server.get(CONFIG_MAPS).await.item_names(), ["good"]);
    server
        .call(http::Method::DELETE, CONFIG_MAPS)
        .answer()
        .await
        .ok();
    assert_eq!(unreadable(&server).await, 200);
    // Pods are answered with what they were, if that is known.
    let pod = "/api/v1/namespaces/default/pods/bad";
    assert_eq!(server.delete(pod).await.ok()["status"], "Success");
    server.assert_well().await;
}

#[tokio::test]
async fn what_became_unreadable_or_went_while_changes_were_missed_is_found() {
    let shared = Arc::new(MemoryStore::new());
    let store = ReplicaStore::new(&shared);
    let server = store.serve(Settings::default()).await;
    server.post(CONFIG_MAPS, &config_map("a")).await.created();
    put(&*shared, KEY, "garbage").await;
    let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    events.shows(&["ADDED a"]).await;
    assert_eq!(unreadable(&server).await, 1);
    store.hold_back();
    put(&*shared, "/registry/configmaps/default/a", "garbage").await;
    let delete = Commit::one(Key::new(KEY), Condition::Any, Write::Delete);
    let newest = shared.commit(delete).await.unwrap();
    shared.compact(newest).await.unwrap();
    store.pass_on();
    events.shows(&["DELETED a"]).await;
    server.get(ITEM).await.refused(404);
    server.get(&format!("{CONFIG_MAPS}/a")).await.refused(500);
    assert_eq!(unreadable(&server).await, 1);
}

#[tokio::test]
async fn a_namespace_that_cannot_be_decoded_takes_nothing_new_and_can_be_deleted() {
    let server = start_server().await;
    put(&*server.store, "/registry/namespaces/bad", "garbage").await;
    let inside = "/api/v1/namespaces/bad/configmaps";
    let refused = server.post(inside, &config_map("a")).await.refused(500);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("Key: /registry/namespaces/bad,"),
        "{message}"
    );
    server.delete("/api/v1/namespaces/bad").await.ok();
    server.post(inside, &config_map("a")).await.refused(404);
}
