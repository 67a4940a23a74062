//! What a real kube-apiserver wrote down about the owners of 45 kinds of objects.

use std::{collections::HashMap, sync::Arc};

use super::*;

/// Fields that the recorded server itself filled in, which nobody owns.
const FILLED_IN: [(&str, &str); 17] = [
    ("Pod", "/spec/preemptionPolicy"),
    ("Pod", "/spec/priority"),
    ("Service", "/spec/clusterIP"),
    ("Service", "/spec/clusterIPs"),
    ("Service", "/spec/ipFamilies"),
    ("Service", "/spec/ipFamilyPolicy"),
    ("Service", "/spec/ports/0/nodePort"),
    ("Service", "/spec/ports/1/nodePort"),
    ("Namespace", "/spec/finalizers"),
    ("Node", "/spec/taints"),
    ("PersistentVolume", "/metadata/finalizers"),
    ("PersistentVolumeClaim", "/metadata/finalizers"),
    ("Job", "/metadata/labels"),
    ("Job", "/spec/selector"),
    ("Job", "/spec/template/metadata/labels"),
    ("SelfSubjectAccessReview", "/status"),
    ("SelfSubjectReview", "/status"),
];

struct Exchange {
    definition: Arc<Definition>,
    subresource: Option<String>,
    method: String,
    collection: String,
    name: Option<String>,
    request: Value,
    response: Value,
}

fn exchanges(registry: &Registry) -> Vec<Exchange> {
    let text = include_str!("../../../../../../conformance/golden/07-built-in-defaults.jsonl");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let done = lines.filter(|exchange| exchange["status"].as_u64().unwrap() < 300);
    done.map(|mut exchange| {
        let path = exchange["request"]["path"].as_str().unwrap().to_owned();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let (group, version, rest) = match parts[..] {
            ["api", version, ref rest @ ..] => ("", version, rest),
            ["apis", group, version, ref rest @ ..] => (group, version, rest),
            _ => panic!("{path}"),
        };
        let rest = match rest {
            ["namespaces", _, rest @ ..] => rest,
            rest => rest,
        };
        let resource = *rest.first().unwrap_or(&"namespaces");
        Exchange {
            definition: registry.find(group, version, resource).unwrap(),
            name: rest.get(1).map(|name| (*name).to_owned()),
            subresource: rest.get(2).map(|name| (*name).to_owned()),
            method: exchange["request"]["method"].as_str().unwrap().to_owned(),
            collection: format!("{group}/{resource}"),
            request: exchange["request"]["body"].take(),
            response: exchange["response"].take(),
        }
    })
    .collect()
}

/// The recorded writer at the recorded time.
fn golden<'a>(registry: &'a Registry, exchange: &'a Exchange) -> FieldTracker<'a> {
    let entries = metadata(&exchange.response)
        .get(MEMBER)
        .and_then(Value::as_array);
    let times = entries.into_iter().flatten().map(timestamp_of);
    FieldTracker {
        subresource: exchange.subresource.as_deref(),
        now: times.max().unwrap_or(Timestamp::UNIX_EPOCH),
        views: &NO_VIEWS,
        ..tracker(registry, &exchange.definition, ("golden", 0))
    }
}

/// The owners without times; the stored form of the object without owners.
fn split(registry: &Registry, exchange: &Exchange) -> (Value, Value) {
    let mut object = exchange.response.clone();
    let mut entries = metadata_mut(&mut object).remove(MEMBER).unwrap_or_default();
    forget_times(&mut entries);
    registry.to_stored(exchange.definition.conversion, &mut object);
    (entries, object)
}

fn forget_times(entries: &mut Value) {
    for entry in entries.as_array_mut().into_iter().flatten() {
        entry.as_object_mut().unwrap().remove("time");
    }
}

fn without_what_was_filled_in(mut object: Value, request: &Value) -> Value {
    let kind = object["kind"].as_str().unwrap().to_owned();
    for (_, pointer) in FILLED_IN.iter().filter(|(of, _)| **of == kind) {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        if request.pointer(pointer).is_none()
            && let Some(Value::Object(members)) = object.pointer_mut(parent)
        {
            members.remove(member);
        }
    }
    if kind == "Pod" && request["spec"].get("tolerations").is_none() {
        object["spec"]
            .as_object_mut()
            .unwrap()
            .remove("tolerations");
    }
    object
}

fn owners_of(object: &Value) -> Value {
    let mut entries = metadata(object).get(MEMBER).cloned().unwrap_or_default();
    forget_times(&mut entries);
    entries
}

#[test]
fn creators_own_what_the_recorded_creators_own() {
    let registry = Registry::builtin();
    let mut count = 0;
    for exchange in exchanges(&registry) {
        if exchange.method != "POST" {
            continue;
        }
        let (recorded, object) = split(&registry, &exchange);
        let mut object = without_what_was_filled_in(object, &exchange.request);
        settle_new(Owners::Changers(&golden(&registry, &exchange)), &mut object);
        assert_eq!(owners_of(&object), recorded, "{}", exchange.collection);
        count += 1;
    }
    assert_eq!(count, 47);
}

#[test]
fn owners_change_as_the_recorded_owners_change() {
    let registry = Registry::builtin();
    let mut states: HashMap<String, Value> = HashMap::new();
    let mut count = 0;
    for exchange in exchanges(&registry) {
        let (recorded, mut next) = split(&registry, &exchange);
        let name = match &exchange.name {
            Some(name) => name.clone(),
            None => next["metadata"]["name"].to_string().replace('"', ""),
        };
        let place = format!("{}/{name}", exchange.collection);
        if exchange.method == "POST" {
            states.insert(place, exchange.response.clone());
            continue;
        }
        let current = &states[&place];
        if exchange.subresource.as_deref() == Some("scale") {
            next = current.clone();
            next["spec"]["replicas"] = exchange.response["spec"]["replicas"].clone();
        }
        if exchange.method == "PUT" && exchange.collection == "/services" {
            // The recorded server dropped fields of it afterwards, as it does for nobody's sake.
            next = exchange.request.clone();
        }
        settle_next(
            Owners::Changers(&golden(&registry, &exchange)),
            current,
            &mut next,
        );
        if exchange.subresource.as_deref() != Some("scale") {
            assert_eq!(owners_of(&next), recorded, "{place}: {}", exchange.request);
            next = exchange.response.clone();
            count += 1;
        }
        states.insert(place, next);
    }
    assert_eq!(count, 17);
}
