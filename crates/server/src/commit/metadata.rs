//! The part of an object that the server itself keeps.

use listwatch_api::timestamp;
use serde_json::{Map, Value, json};

use crate::{
    clock::Clock,
    random::Random,
    registry::{Definition, Generation, Scope},
};

/// Members of `metadata` that only the server sets; an update keeps what is stored.
const KEPT_BY_THE_SERVER: [&str; 7] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "namespace",
    "name",
];

/// The `metadata` of an object; empty when it has none.
pub(crate) fn metadata(object: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    object
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&EMPTY)
}

/// The `metadata` of an object, made if need be.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    let members = object
        .as_object_mut()
        .expect("objects are decoded as JSON objects");
    let metadata = members
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut().expect("made an object above")
}

/// A text member of `metadata`.
pub(crate) fn text<'a>(object: &'a Value, member: &str) -> Option<&'a str> {
    metadata(object)
        .get(member)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// A number member of `metadata`.
pub(crate) fn number(object: &Value, member: &str) -> Option<i64> {
    metadata(object).get(member).and_then(Value::as_i64)
}

/// The finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    let listed = metadata(object).get("finalizers").and_then(Value::as_array);
    listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Gives a new object its identity, whatever the client claimed.
pub(crate) fn stamp_new(
    definition: &Definition,
    object: &mut Value,
    namespace: Option<&str>,
    (clock, random): (&Clock, &Random),
) {
    let metadata = metadata_mut(object);
    for claimed in [
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        metadata.remove(claimed);
    }
    match (definition.scope, namespace) {
        (Scope::Namespaced, Some(namespace)) => {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
        _ => drop(metadata.remove("namespace")),
    }
    metadata.insert("uid".to_owned(), json!(random.uuid()));
    let now = timestamp::format_seconds(clock.now());
    metadata.insert("creationTimestamp".to_owned(), json!(now));
    match definition.generation {
        Generation::Untracked | Generation::SpecAfterCreate => drop(metadata.remove("generation")),
        Generation::Constant
        | Generation::Spec
        | Generation::OutsideStatus
        | Generation::OutsideMetadata
        | Generation::OutsideMetadataAndLabels => {
            metadata.insert("generation".to_owned(), json!(1));
        }
    }
}

/// Puts back what an update may not change, and lets the generation grow when it must.
pub(crate) fn carry_over(definition: &Definition, current: &Value, next: &mut Value) {
    let stored = metadata(current);
    let metadata = metadata_mut(next);
    metadata.remove("selfLink");
    for member in KEPT_BY_THE_SERVER {
        match stored.get(member) {
            Some(value) => drop(metadata.insert(member.to_owned(), value.clone())),
            None => drop(metadata.remove(member)),
        }
    }
    if generation_grows(definition.generation, current, next) {
        let generation = number(next, "generation").unwrap_or_default();
        metadata_mut(next).insert("generation".to_owned(), json!(generation + 1));
    }
}

/// Counts the generation up, where the object has one.
pub(crate) fn grow_generation(object: &mut Value) {
    if let Some(generation) = number(object, "generation").filter(|number| *number > 0) {
        metadata_mut(object).insert("generation".to_owned(), json!(generation + 1));
    }
}

fn generation_grows(rule: Generation, current: &Value, next: &Value) -> bool {
    let differs = |left_out: &[&str]| content(current, left_out).ne(content(next, left_out));
    match rule {
        Generation::Untracked | Generation::Constant => false,
        Generation::Spec | Generation::SpecAfterCreate => current.get("spec") != next.get("spec"),
        Generation::OutsideStatus => differs(&["metadata", "status"]),
        Generation::OutsideMetadata => differs(&["metadata"]),
        Generation::OutsideMetadataAndLabels => {
            differs(&["metadata"])
                || metadata(current).get("labels") != metadata(next).get("labels")
        }
    }
}

/// The members of an object but for some.
fn content<'a>(
    object: &'a Value,
    left_out: &'a [&str],
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(name, _)| !left_out.contains(&name.as_str()))
}
