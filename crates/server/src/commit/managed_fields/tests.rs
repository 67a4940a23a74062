use jiff::{SignedDuration, Timestamp};
use listwatch_api::object::{StoredObject, to_canonical};
use serde_json::{Value, json};

use super::*;

mod applying;
mod recorded;

const CREATED: &str = "1970-01-01T00:00:00Z";

fn tracker<'a>(
    registry: &'a Registry,
    definition: &'a Definition,
    (manager, second): (&str, i64),
) -> FieldTracker<'a> {
    FieldTracker {
        registry,
        definition,
        subresource: None,
        manager: manager.to_owned(),
        now: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second),
        views: &NO_VIEWS,
    }
}

/// Writes the owners of a new object into it.
fn settle_new(owners: Owners<'_>, object: &mut Value) {
    let text = owners.settle_new(object);
    put(object, text);
}

/// Writes the owners of the next state of an object into it.
fn settle_next(owners: Owners<'_>, current: &Value, next: &mut Value) {
    let stored = StoredObject::scan(to_canonical(current).into(), &[]).unwrap();
    let mut outline = Outline::of(&stored).unwrap();
    outline.parse_all().unwrap();
    let text = owners.settle_next(&outline, next);
    put(next, text);
}

fn put(object: &mut Value, text: Option<Bytes>) {
    if let Some(text) = text {
        object["metadata"][MEMBER] = serde_json::from_slice(&text).unwrap();
        assert!(is_text_of(&text, &object["metadata"][MEMBER]));
    }
}

/// A config map and those who write it, one second after the other.
struct World {
    registry: Registry,
    object: Value,
    second: i64,
}

impl World {
    fn created(data: Value) -> Self {
        let mut world = Self {
            registry: Registry::builtin(),
            object: json!({}),
            second: 0,
        };
        let definition = world.registry.find("", "v1", "configmaps").unwrap();
        let mut object = config_map(data);
        let tracker = tracker(&world.registry, &definition, ("maker", 0));
        settle_new(Owners::Changers(&tracker), &mut object);
        world.object = object;
        world
    }

    fn write(&mut self, manager: &str, next: Value) -> &mut Self {
        self.second += 1;
        let definition = self.registry.find("", "v1", "configmaps").unwrap();
        let tracker = tracker(&self.registry, &definition, (manager, self.second));
        let mut next = next;
        settle_next(Owners::Changers(&tracker), &self.object, &mut next);
        self.object = next;
        self
    }

    fn write_data(&mut self, manager: &str, data: Value) -> &mut Self {
        let mut next = self.object.clone();
        next["data"] = data;
        self.write(manager, next)
    }

    fn entries(&self) -> &Value {
        &self.object["metadata"]["managedFields"]
    }

    /// `manager@second: fields`, one for each entry.
    fn owners(&self) -> Vec<String> {
        let entries = self.entries().as_array().into_iter().flatten();
        let told = entries.map(|entry| {
            let time = timestamp_of(entry).as_second();
            let name = entry["manager"].as_str().unwrap();
            format!("{name}@{time}: {}", entry["fieldsV1"])
        });
        told.collect()
    }
}

fn timestamp_of(entry: &Value) -> Timestamp {
    let time = entry["time"].as_str().unwrap_or(CREATED);
    time.parse().unwrap()
}

fn config_map(data: Value) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}, "data": data})
}

#[test]
fn the_creator_owns_everything() {
    let world = World::created(json!({"a": "1"}));
    let entry = json!({
        "manager": "maker", "operation": "Update", "apiVersion": "v1", "time": CREATED,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
    });
    assert_eq!(world.entries(), &json!([entry]));
}

#[test]
fn a_change_takes_a_field_from_its_owner() {
    let mut world = World::created(json!({"a": "1", "b": "1"}));
    world.write_data("other", json!({"a": "2", "b": "1"}));
    let expected = [
        r#"maker@0: {"f:data":{".":{},"f:b":{}}}"#,
        r#"other@1: {"f:data":{"f:a":{}}}"#,
    ];
    assert_eq!(world.owners(), expected);
}

#[test]
fn an_owner_of_nothing_is_forgotten() {
    let mut world = World::created(json!({"a": "1"}));
    world.write_data("other", json!({"a": "1", "b": "1"}));
    world.write_data("third", json!({"a": "1", "b": "2"}));
    let expected = [
        r#"maker@0: {"f:data":{".":{},"f:a":{}}}"#,
        r#"third@2: {"f:data":{"f:b":{}}}"#,
    ];
    assert_eq!(world.owners(), expected);
}

#[test]
fn a_removed_field_has_no_owner_and_its_removal_no_time() {
    let mut world = World::created(json!({"a": "1", "b": "1"}));
    world.write_data("maker", json!({"a": "1"}));
    assert_eq!(world.owners(), [r#"maker@0: {"f:data":{".":{},"f:a":{}}}"#]);
}

#[test]
fn a_change_of_an_own_field_is_new_in_time_only() {
    let mut world = World::created(json!({"a": "1"}));
    world.write_data("maker", json!({"a": "2"}));
    assert_eq!(world.owners(), [r#"maker@1: {"f:data":{".":{},"f:a":{}}}"#]);
}

#[test]
fn a_write_that_changes_nothing_leaves_every_byte() {
    let mut world = World::created(json!({"a": "1"}));
    let before = world.object.clone();
    world.write("other", before.clone());
    assert_eq!(world.object, before);
    let mut without = before.clone();
    without["metadata"].as_object_mut().unwrap().remove(MEMBER);
    world.write("other", without);
    assert_eq!(world.object, before);
    let mut later = before.clone();
    later["metadata"][MEMBER][0]["time"] = json!("2001-01-01T00:00:00Z");
    world.write("other", later);
    assert_eq!(world.object, before);
}

#[test]
fn owners_are_forgotten_for_good_on_request() {
    for request in [json!([]), json!([{}])] {
        let mut world = World::created(json!({"a": "1"}));
        let mut next = config_map(json!({"a": "2"}));
        next["metadata"][MEMBER] = request;
        keep_reset(&mut next);
        world.write("other", next);
        assert_eq!(world.entries(), &Value::Null);
        world.write_data("other", json!({"a": "3"}));
        assert_eq!(world.entries(), &Value::Null);
    }
}

#[test]
fn clients_may_give_ownership_away() {
    let mut world = World::created(json!({"a": "1"}));
    let mut next = world.object.clone();
    next["metadata"][MEMBER][0]["manager"] = json!("heir");
    world.write("maker", next);
    assert_eq!(world.owners(), [r#"heir@0: {"f:data":{".":{},"f:a":{}}}"#]);
    let mut broken = world.object.clone();
    broken["metadata"][MEMBER][0]["fieldsType"] = json!("FieldsV9");
    world.write("maker", broken);
    assert_eq!(world.owners(), [r#"heir@0: {"f:data":{".":{},"f:a":{}}}"#]);
}

#[test]
fn the_oldest_of_more_than_ten_changes_are_thrown_together() {
    let mut world = World::created(json!({"a": "1"}));
    let mut data = json!({"a": "1"});
    for number in 1..=11 {
        data[format!("k{number}")] = json!("x");
        world.write_data(&format!("m{number}"), data.clone());
    }
    let owners = world.owners();
    assert_eq!(owners.len(), 10);
    assert_eq!(
        owners[0],
        r#"ancient-changes@2: {"f:data":{".":{},"f:a":{},"f:k1":{},"f:k2":{}}}"#
    );
    assert_eq!(owners[1], r#"m3@3: {"f:data":{"f:k3":{}}}"#);
    assert_eq!(owners[9], r#"m11@11: {"f:data":{"f:k11":{}}}"#);
}

#[test]
fn a_part_has_owners_of_its_own() {
    let registry = Registry::builtin();
    let definition = registry.find("", "v1", "pods").unwrap();
    let mut pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "resources": {}}]},
        "status": {"phase": "Pending"},
    });
    settle_new(
        Owners::Changers(&tracker(&registry, &definition, ("maker", 0))),
        &mut pod,
    );
    assert_eq!(pod["metadata"][MEMBER][0]["fieldsV1"].get("f:status"), None);
    let status = FieldTracker {
        subresource: Some("status"),
        ..tracker(&registry, &definition, ("kubelet", 1))
    };
    let mut next = pod.clone();
    next["status"]["phase"] = json!("Running");
    next["metadata"][MEMBER] = json!([{}]);
    settle_next(Owners::Changers(&status), &pod, &mut next);
    let entries = next["metadata"][MEMBER].as_array().unwrap();
    assert_eq!(entries[0], pod["metadata"][MEMBER][0]);
    let expected = json!({
        "manager": "kubelet", "operation": "Update", "apiVersion": "v1",
        "time": "1970-01-01T00:00:01Z", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:phase": {}}}, "subresource": "status",
    });
    assert_eq!(entries[1..], [expected]);
}

#[test]
fn ownership_in_another_version_follows_the_change() {
    let registry = Registry::builtin();
    let first = registry.find("autoscaling", "v1", "horizontalpodautoscalers");
    let second = registry.find("autoscaling", "v2", "horizontalpodautoscalers");
    let (first, second) = (first.unwrap(), second.unwrap());
    let mut scaler = json!({
        "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "maxReplicas": 3,
            "minReplicas": 1,
        },
        "status": {"desiredReplicas": 0, "currentMetrics": null},
    });
    settle_new(
        Owners::Changers(&tracker(&registry, &second, ("maker", 0))),
        &mut scaler,
    );
    let mut next = scaler.clone();
    next["spec"]["maxReplicas"] = json!(5);
    settle_next(
        Owners::Changers(&tracker(&registry, &first, ("other", 1))),
        &scaler,
        &mut next,
    );
    let entries = &next["metadata"][MEMBER];
    let taken = json!({"f:spec": {"f:maxReplicas": {}}});
    assert_eq!(entries[1]["apiVersion"], "autoscaling/v1");
    assert_eq!(entries[1]["fieldsV1"], taken);
    assert_eq!(entries[0]["apiVersion"], "autoscaling/v2");
    let left = &entries[0]["fieldsV1"]["f:spec"];
    assert_eq!(left.get("f:maxReplicas"), None);
    assert_eq!(left.get("f:minReplicas"), Some(&json!({})));
}
