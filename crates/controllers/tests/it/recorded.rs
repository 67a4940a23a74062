//! What a real control plane's watches saw, step by step, and what ours see.

use std::{collections::HashMap, fs, path::Path};

use serde_json::{Value, json};

use crate::stage::{CONFIG_MAPS, Stage, Watch, config_map, owned, owner};

const BOTH: &str = "namespace,garbage-collector";

/// One recorded scene.
struct Scene {
    steps: Vec<Value>,
    events: Value,
}

impl Scene {
    fn read(name: &str) -> Self {
        let file = "../../conformance/golden/10-namespace-and-garbage-collection.jsonl";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = fs::read_to_string(file).unwrap();
        let mut scenes = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let scene: Value = scenes.find(|scene: &Value| scene["scene"] == name).unwrap();
        Self {
            steps: scene["steps"].as_array().unwrap().clone(),
            events: scene["events"].clone(),
        }
    }

    /// What the step with this name got: a code, or a code and a body, or a body.
    fn step(&self, name: &str) -> Value {
        let step = self.steps.iter().find(|step| step[0] == name).unwrap();
        match step.as_array().unwrap().as_slice() {
            [_, one] => one.clone(),
            [_, rest @ ..] => json!(rest),
            [] => unreachable!("a step has a name"),
        }
    }

    fn check(&self, name: &str, answer: (u16, Value)) {
        let recorded = self.step(name);
        let ours = match &recorded {
            Value::Number(_) => json!(answer.0),
            Value::Array(_) => json!([answer.0, answer.1]),
            _ => answer.1,
        };
        assert_eq!(neutral(&ours), neutral(&recorded), "{name}");
    }

    /// How many events a path has.
    fn count(&self, path: &str) -> usize {
        self.events[path].as_array().unwrap().len()
    }

    /// Waits for as many events as were recorded, and compares them.
    async fn compare(&self, path: &str, watch: &mut Watch) {
        while watch.seen.len() < self.count(path) {
            watch.next().await;
        }
        let ours: Vec<Value> = watch.seen.iter().map(reduced).collect();
        assert_eq!(neutral(&json!(ours)), neutral(&self.events[path]), "{path}");
    }
}

/// As much of an event as the recording has.
fn reduced(event: &Value) -> Value {
    let object = &event["object"];
    let metadata = &object["metadata"];
    let mut reduced = json!({
        "type": event["type"],
        "kind": object["kind"],
        "namespace": metadata["namespace"],
        "name": metadata["name"],
    });
    for member in ["deletionTimestamp", "finalizers", "ownerReferences"] {
        if let Some(value) = metadata.get(member) {
            reduced[member] = value.clone();
        }
    }
    if object["kind"] == "Namespace" {
        reduced["spec"] = object["spec"].clone();
        reduced["status"] = object["status"].clone();
    }
    reduced
}

/// The same without what differs from run to run: times, versions, uids but for which are equal.
fn neutral(value: &Value) -> Value {
    fn visit(value: &Value, uids: &mut HashMap<String, usize>) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| visit(item, uids)).collect(),
            Value::Object(members) => {
                let members = members.iter().filter(|(name, _)| *name != "managedFields");
                let members = members.map(|(name, value)| {
                    let value = match (&**name, value) {
                        ("uid", Value::String(uid)) => {
                            let next = uids.len();
                            json!(uids.entry(uid.clone()).or_insert(next))
                        }
                        ("resourceVersion", _) => json!("version"),
                        (name, _) if name.ends_with("imestamp") || name.ends_with("Time") => {
                            json!("time")
                        }
                        _ => visit(value, uids),
                    };
                    (name.clone(), value)
                });
                members.collect()
            }
            other => other.clone(),
        }
    }
    visit(value, &mut HashMap::new())
}

#[tokio::test]
async fn a_namespace_that_is_deleted_is_emptied_as_recorded() {
    let scene = Scene::read("namespace deletion");
    let mut stage = Stage::bare().await;
    let mut namespaces = stage.watch("/api/v1/namespaces").await;
    let mut config_maps = stage.watch("/api/v1/configmaps").await;
    let mut secrets = stage.watch("/api/v1/secrets").await;
    let namespace = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "gone"}});
    stage.create("/api/v1/namespaces", namespace).await;
    for name in ["c1", "c2"] {
        stage
            .create("/api/v1/namespaces/gone/configmaps", config_map(name))
            .await;
    }
    let secret = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s1"}});
    stage
        .create("/api/v1/namespaces/gone/secrets", secret)
        .await;
    let deleted = stage.ask("DELETE", "/api/v1/namespaces/gone", None).await;
    scene.check("DELETE namespace", deleted);
    let late = Some(config_map("late"));
    let refused = stage
        .ask("POST", "/api/v1/namespaces/gone/configmaps", late)
        .await;
    scene.check("POST configmap into it", refused);
    stage.control(BOTH);
    scene.compare("/api/v1/namespaces", &mut namespaces).await;
    scene.compare("/api/v1/configmaps", &mut config_maps).await;
    scene.compare("/api/v1/secrets", &mut secrets).await;
    let after = stage.ask("GET", "/api/v1/namespaces/gone", None).await;
    scene.check("GET namespace after", after);
    stage.end().await;
}

#[tokio::test]
async fn a_namespace_with_something_held_says_so_as_recorded() {
    let scene = Scene::read("namespace deletion held by a finalizer");
    let stage = Stage::with(BOTH).await;
    let mut namespaces = stage.watch("/api/v1/namespaces").await;
    let mut config_maps = stage.watch("/api/v1/configmaps").await;
    let namespace = json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "stuck"}});
    stage.create("/api/v1/namespaces", namespace).await;
    let mut held = config_map("held");
    held["metadata"]["finalizers"] = json!(["x.io/hold"]);
    let path = "/api/v1/namespaces/stuck/configmaps";
    stage.create(path, held).await;
    stage.create(path, config_map("free")).await;
    let deleted = stage.ask("DELETE", "/api/v1/namespaces/stuck", None).await;
    scene.check("DELETE namespace with a held object", deleted);
    for _ in 0..3 {
        namespaces.next().await;
    }
    let waiting = stage.ask("GET", "/api/v1/namespaces/stuck", None).await;
    scene.check("GET namespace", waiting);
    let patch = json!({"metadata": {"finalizers": null}});
    let released = stage
        .ask("PATCH", &format!("{path}/held"), Some(patch))
        .await;
    scene.check("remove finalizer", (released.0, Value::Null));
    scene.compare("/api/v1/namespaces", &mut namespaces).await;
    scene.compare("/api/v1/configmaps", &mut config_maps).await;
    stage.end().await;
}

#[tokio::test]
async fn dependents_go_in_the_background_as_recorded() {
    collect("Background").await;
}

#[tokio::test]
async fn dependents_go_first_in_the_foreground_as_recorded() {
    collect("Foreground").await;
}

#[tokio::test]
async fn dependents_are_orphaned_as_recorded() {
    collect("Orphan").await;
}

/// An owner, its dependent, and a dependent of that; then the owner is deleted.
async fn collect(policy: &str) {
    let scene = Scene::read(&format!("garbage collection {policy}"));
    let stage = Stage::with(BOTH).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let suffix = policy.to_lowercase();
    let name = |role: &str| format!("{role}-{suffix}");
    let first = stage.create(CONFIG_MAPS, config_map(&name("own"))).await;
    let mut reference = owner(&first);
    reference["controller"] = json!(true);
    if policy == "Foreground" {
        reference["blockOwnerDeletion"] = json!(true);
    }
    let second = owned(config_map(&name("dep")), &[reference]);
    let second = stage.create(CONFIG_MAPS, second).await;
    let third = owned(config_map(&name("dep2")), &[owner(&second)]);
    stage.create(CONFIG_MAPS, third).await;
    let path = format!("{CONFIG_MAPS}/{}", name("own"));
    let deleted = stage.delete(&path, policy).await;
    scene.check(&format!("DELETE owner {policy}"), deleted);
    scene.compare(CONFIG_MAPS, &mut watch).await;
    let path = format!("{CONFIG_MAPS}/{}", name("dep"));
    let dependent = stage.ask("GET", &path, None).await;
    scene.check("dependent after", dependent);
    stage.end().await;
}

#[tokio::test]
async fn an_object_whose_owner_never_existed_goes_as_recorded() {
    let scene = Scene::read("owner that never existed");
    let stage = Stage::with(BOTH).await;
    let mut watch = stage.watch(CONFIG_MAPS).await;
    let reference = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "never",
        "uid": "00000000-0000-0000-0000-000000000001",
    });
    let object = owned(config_map("absent-owner"), &[reference]);
    stage.create(CONFIG_MAPS, object).await;
    scene.compare(CONFIG_MAPS, &mut watch).await;
    let path = format!("{CONFIG_MAPS}/absent-owner");
    let after = stage.ask("GET", &path, None).await;
    scene.check("after", (after.0, Value::Null));
    stage.end().await;
}
