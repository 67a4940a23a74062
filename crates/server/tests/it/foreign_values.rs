//! Values that other tools have written: understood, and shown as if they were the server's own.

use std::sync::Arc;

use listwatch_api::object::to_canonical;
use listwatch_server::{
    Settings,
    registry::{Conversion, Definition, Expected, Registry, Scope, ValueReader},
    watch_cache::CacheLimits,
};
use listwatch_store::{Key, MemoryStore, Store};
use serde_json::{Value, json};

use crate::{
    client::version,
    protobuf::{Record, records},
    replica_store::{entry, put},
    running::{CONFIG_MAPS, start_on, start_server, start_with},
};

const KEY: &str = "/registry/configmaps/default/a";

const PRETTY: &str = r#"{
  "apiVersion": "v1",
  "kind": "ConfigMap",
  "data": {"k": "v"},
  "metadata": {
    "namespace": "default", "name": "a", "uid": "u-1", "resourceVersion": "999999",
    "selfLink": "/api/v1/namespaces/default/configmaps/a",
    "labels": {"app.kubernetes.io\/name": "web"}
  }
}
"#;

/// A config map named `a` as Kubernetes keeps it in etcd.
const PROTOBUF: &[u8] = b"k8s\0\
    \x0a\x0f\x0a\x02v1\x12\x09ConfigMap\
    \x12\x1c\x0a\x10\x0a\x01a\x12\0\x1a\x07default\x22\0\x12\x08\x0a\x01k\x12\x03one\
    \x1a\0\x22\0";

#[tokio::test]
async fn json_in_any_form_is_shown_in_ours_with_the_version_of_the_store() {
    let server = start_server().await;
    let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    let written = put(&*server.store, KEY, PRETTY).await;
    let item = format!("{CONFIG_MAPS}/a");
    let answer = server.get(&item).await;
    let version = written.to_string();
    let expected = json!({
        "kind": "ConfigMap", "apiVersion": "v1", "data": {"k": "v"},
        "metadata": {
            "name": "a", "namespace": "default", "uid": "u-1", "resourceVersion": version,
            "labels": {"app.kubernetes.io/name": "web"},
        },
    });
    assert_eq!(answer.ok(), expected);
    assert_eq!(answer.text().matches("resourceVersion").count(), 1);
    assert_eq!(
        events.shows(&["ADDED a"]).await[0].object["metadata"],
        expected["metadata"]
    );
    let selected = format!("{CONFIG_MAPS}?labelSelector=app.kubernetes.io/name%3Dweb");
    assert_eq!(server.get(&selected).await.item_names(), ["a"]);
}

#[tokio::test]
async fn an_update_writes_a_foreign_value_anew_in_our_form() {
    let server = start_server().await;
    for foreign in [PRETTY.as_bytes(), PROTOBUF] {
        put(&*server.store, KEY, foreign).await;
        server.has_settled().await;
        let item = format!("{CONFIG_MAPS}/a");
        let patch = json!({"data": {"new": "1"}});
        let mut patched = server.merge(&item, &patch).await.ok();
        assert_eq!(patched["data"]["new"], "1");
        let stored = entry(&*server.store, KEY).await.unwrap();
        assert_eq!(version(&patched), stored.revision.get());
        patched["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("resourceVersion");
        assert_eq!(stored.value, to_canonical(&patched));
    }
}

#[tokio::test]
async fn an_update_that_changes_nothing_migrates_a_foreign_value_once() {
    let server = start_server().await;
    let item = format!("{CONFIG_MAPS}/a");
    for foreign in [PRETTY.as_bytes(), PROTOBUF] {
        let written = put(&*server.store, KEY, foreign).await;
        server.has_settled().await;
        let object = server.get(&item).await.ok();
        let migrated = server.put(&item, &object).await.ok();
        assert!(version(&migrated) > written);
        server.has_settled().await;
        let again = server.put(&item, &migrated).await.ok();
        assert_eq!(again, migrated);
    }
}

#[tokio::test]
async fn an_object_of_any_name_is_recognized_as_our_own() {
    let server = start_server().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = json!({"metadata": {"name": "a<b>:\"é"}});
    let created = server.post(roles, &role).await.created();
    server.has_settled().await;
    let item = format!("{roles}/a%3Cb%3E:%22%C3%A9");
    assert_eq!(server.put(&item, &created).await.ok(), created);
}

#[tokio::test]
async fn the_past_is_read_as_the_present_is() {
    let limits = CacheLimits {
        history_events_max: 1,
        ..CacheLimits::default()
    };
    let server = start_with(Settings {
        cache: limits,
        ..Settings::default()
    })
    .await;
    let before = version(&server.get(CONFIG_MAPS).await.ok());
    let first = put(&*server.store, KEY, PROTOBUF).await;
    let second = put(&*server.store, KEY, PRETTY).await;
    for number in 0..4 {
        let object = json!({"metadata": {"name": format!("b{number}")}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    server.has_settled().await;
    let exactly = format!("{CONFIG_MAPS}?resourceVersion={first}&resourceVersionMatch=Exact");
    let list = server.get(&exactly).await.ok();
    assert_eq!(list["items"][0]["data"], json!({"k": "one"}));
    let after = format!("{CONFIG_MAPS}?watch=1&resourceVersion={before}");
    let mut events = server.watch(&after).await;
    let seen = events.shows(&["ADDED a", "MODIFIED a", "ADDED b0"]).await;
    assert_eq!([seen[0].version(), seen[1].version()], [first, second]);
    assert_eq!(seen[0].object["data"], json!({"k": "one"}));
}

/// A recorded object of every stored kind, under the key it would have.
fn recorded(registry: &Registry) -> Vec<(&Definition, Record)> {
    let stored = |definition: &&Definition| {
        definition.storage_version_hash.is_some() && definition.conversion == Conversion::None
    };
    let definitions = registry.definitions().iter().map(|it| &**it);
    let mut found = Vec::new();
    let mut recordings = records("full");
    for definition in definitions.filter(stored) {
        let is_it = |record: &mut Record| {
            record.group_version() == (&*definition.group, &*definition.version)
                && *record.kind == *definition.kind
        };
        let record = recordings.extract_if(.., is_it).next();
        found.push((definition, record.expect("every kind is recorded")));
    }
    found
}

fn place<'a>(definition: &Definition, object: &'a Value) -> (Option<&'a str>, &'a str) {
    let text = |member| object["metadata"][member].as_str();
    let namespace = text("namespace").filter(|_| definition.scope == Scope::Namespaced);
    (namespace, text("name").unwrap())
}

#[tokio::test]
async fn protobuf_of_every_kind_is_served_as_the_json_it_stands_for() {
    let registry = Registry::builtin();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut expected = Vec::new();
    for (definition, record) in recorded(&registry) {
        let mut message = record.message();
        let mut object = record.json.clone();
        if definition.scope == Scope::Cluster {
            // Recorded with every field, also with the namespace that such a kind never has.
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.remove("namespace");
            message = encoded(&registry, definition, &record, &object);
        }
        let (namespace, name) = place(definition, &object);
        let namespace = namespace.map(|namespace| format!("{namespace}/"));
        let namespace = namespace.unwrap_or_default();
        let key = format!("{}{namespace}{name}", definition.storage_prefix);
        let version = put(&*store, &key, message).await;
        let known = Expected::from(definition);
        registry.decode(known, &mut object, b"").unwrap();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("selfLink");
        expected.push((path(definition, &object), object));
    }
    assert!(expected.len() > 55);
    let server = start_on(store, Settings::default()).await;
    for (path, object) in expected {
        let found = server.get(&path).await.ok();
        match object["kind"].as_str() {
            // The server itself says what became of them.
            Some("CustomResourceDefinition" | "APIService" | "ValidatingAdmissionPolicy") => {
                assert_eq!(found["spec"], object["spec"], "{path}");
            }
            _ => assert_eq!(found, object, "{path}"),
        }
    }
}

#[test]
fn what_has_been_normalized_stays_as_it_is() {
    let registry = Arc::new(Registry::builtin());
    let mut count = 0;
    for record in ["unset", "full", "edge"].into_iter().flat_map(records) {
        let stored = registry.definitions().iter().find(|definition| {
            definition.storage_version_hash.is_some()
                && record.group_version() == (&*definition.group, &*definition.version)
                && *record.kind == *definition.kind
        });
        let Some(definition) = stored else {
            continue;
        };
        let mut object = record.json;
        object["metadata"]["name"] = json!("a");
        let (namespace, place) = match definition.scope {
            Scope::Namespaced => (json!("default"), "default/a"),
            Scope::Cluster => (Value::Null, "a"),
        };
        object["metadata"]["namespace"] = namespace;
        let reader = ValueReader::new(&registry, &definition.storage_prefix).unwrap();
        let key = Key::new(format!("{}{place}", definition.storage_prefix));
        let once = reader.normalize(&key, object.to_string().as_bytes());
        let once = once.unwrap_or_else(|reason| panic!("{}: {reason}", record.kind));
        assert_eq!(
            reader.normalize(&key, &once).unwrap(),
            once,
            "{}",
            record.kind
        );
        count += 1;
    }
    assert!(count > 150, "{count}");
}

fn encoded(
    registry: &Registry,
    definition: &Definition,
    record: &Record,
    object: &Value,
) -> Vec<u8> {
    use listwatch_api::protobuf::{Surroundings, TypeMeta, encode};
    let type_id = definition.schema.unwrap();
    let message = encode(registry.schema(), type_id, object.to_string().as_bytes()).unwrap();
    let type_meta = TypeMeta {
        api_version: &record.api_version,
        kind: &record.kind,
    };
    Surroundings::of_object(type_meta, message.len()).around(&message)
}

fn path(definition: &Definition, object: &Value) -> String {
    let root = match &*definition.group {
        "" => "/api".to_owned(),
        group => format!("/apis/{group}"),
    };
    let (version, resource) = (&definition.version, &definition.resource);
    match place(definition, object) {
        (Some(namespace), name) => {
            format!("{root}/{version}/namespaces/{namespace}/{resource}/{name}")
        }
        (None, name) => format!("{root}/{version}/{resource}/{name}"),
    }
}
