//! What a real server answered, asked of the rules alone; `conformance/golden/record.py` asks it.

use std::collections::BTreeMap;
use std::path::Path;

use listwatch_api::field_error::aggregate;
use listwatch_api::patch::{Patch, PatchFormat};
use serde_json::{Map, Value, json};

use crate::rules::{Change, Rules};
use crate::{rules, running};

fn lines(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/golden");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A recorded request to a kind of this module.
struct Case {
    line: Value,
    rules: &'static Rules,
    resource: String,
    /// The resource and the name of the object that is meant.
    stored_under: String,
    subresource: String,
}

impl Case {
    fn of(line: Value) -> Option<Self> {
        let path = line["request"]["path"].as_str()?;
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", "v1", "namespaces", _, rest @ ..] => ("", rest),
            ["apis", group, "v1", "namespaces", _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let of_body = line["request"]["body"]["metadata"]["name"].as_str();
        let (resource, name, subresource) = match rest {
            [resource] => (*resource, of_body.unwrap_or_default(), ""),
            [resource, name] => (*resource, *name, ""),
            [resource, name, subresource] => (*resource, *name, *subresource),
            _ => return None,
        };
        let is_ours = matches!(group, "apps" | "batch")
            || matches!(resource, "pods" | "podtemplates" | "replicationcontrollers");
        Some(Self {
            rules: is_ours.then(|| rules(group, resource))??,
            resource: resource.to_owned(),
            stored_under: format!("{resource}/{name}"),
            subresource: subresource.to_owned(),
            line,
        })
    }

    fn method(&self) -> &str {
        self.line["request"]["method"].as_str().unwrap()
    }

    fn body(&self) -> Value {
        self.line["request"]["body"].clone()
    }

    fn response(&self) -> &Value {
        &self.line["response"]
    }
}

fn cases(file: &str) -> Vec<Case> {
    lines(file).into_iter().filter_map(Case::of).collect()
}

/// The object as decoding leaves it, and with the uid that it was given.
fn decoded(case: &Case) -> Value {
    let mut object = case.body();
    object["metadata"]["namespace"] = json!("default");
    let uid = &case.response()["metadata"]["uid"];
    if uid.is_string() {
        object["metadata"]["uid"] = uid.clone();
    }
    if object["metadata"]["uid"].is_null() {
        object["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000001");
    }
    with_canonical_amounts(&mut object);
    without_nulls(object)
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            members
                .map(|(name, value)| (name, without_nulls(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Array(elements) => elements.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

/// Amounts in the one form that each has.
fn with_canonical_amounts(value: &mut Value) {
    const AMOUNTS: [&str; 3] = ["limits", "requests", "overhead"];
    match value {
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                match value
                    .as_object_mut()
                    .filter(|_| AMOUNTS.contains(&name.as_str()))
                {
                    Some(amounts) => amounts.values_mut().for_each(canonicalize),
                    None if name == "sizeLimit" || name == "divisor" => canonicalize(value),
                    None => with_canonical_amounts(value),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(with_canonical_amounts),
        _ => {}
    }
}

fn canonicalize(amount: &mut Value) {
    if let Value::Number(number) = amount {
        *amount = json!(number.to_string());
    }
    if let Some(text) = amount.as_str() {
        *amount = json!(listwatch_api::quantity::canonical(text).unwrap());
    }
}

/// What is left of an object when all that decoding adds or drops is gone.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), pruned(value)));
            let kept = members.filter(|(name, value)| {
                let is_empty = match value {
                    Value::Null => true,
                    Value::String(text) => text.is_empty(),
                    Value::Array(elements) => elements.is_empty(),
                    Value::Object(members) => members.is_empty(),
                    _ => false,
                };
                !is_empty && !matches!(name.as_str(), "managedFields" | "lastTransitionTime")
            });
            kept.collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => elements.iter().map(pruned).collect(),
        value => value.clone(),
    }
}

fn message(errors: &[listwatch_api::FieldError]) -> String {
    match errors {
        [] => String::new(),
        errors => aggregate(errors),
    }
}

/// The part of the recorded message that tells errors apart from the object's name.
fn recorded_message(case: &Case) -> String {
    let message = case.response()["message"].as_str().unwrap_or_default();
    match message.split_once(" is invalid: ") {
        Some((_, errors)) => errors.to_owned(),
        None => message.to_owned(),
    }
}

fn differences(file: &str) -> Vec<String> {
    let mut stored: BTreeMap<String, Value> = BTreeMap::new();
    let mut differences = Vec::new();
    for case in cases(file) {
        let told = format!("{} {}", case.method(), case.line["request"]["path"]);
        let note = case.line["request"]["note"].as_str().unwrap_or_default();
        let key = case.stored_under.clone();
        for difference in replay(&case, stored.get(&key)) {
            differences.push(format!("{told} {note}\n{difference}"));
        }
        let response = case.response();
        let is_object = response["metadata"].is_object() && response["kind"] != "Scale";
        let is_stored = case.line["request"].get("dryRun").is_none();
        if case.line["status"].as_i64() < Some(300) && is_object && is_stored {
            stored.insert(key, case.response().clone());
        }
    }
    differences
}

fn replay(case: &Case, before: Option<&Value>) -> Vec<String> {
    match (case.method(), case.line["status"].as_i64().unwrap(), before) {
        ("POST", 201, _) => replay_accepted(case),
        ("POST", 422, _) => replay_refused(case),
        ("PUT", status @ (200 | 422), Some(before)) => replay_change(case, before, status),
        _ => Vec::new(),
    }
}

fn replay_accepted(case: &Case) -> Vec<String> {
    let mut object = decoded(case);
    (case.rules.default)(&mut object);
    let begun = {
        (case.rules.begin)(&mut object);
        object.clone()
    };
    let errors = (case.rules.check_new)(&begun);
    let mut differences = Vec::new();
    if !errors.is_empty() {
        differences.push(format!("refused: {}", message(&errors)));
    }
    let (mut ours, mut theirs) = (pruned(&begun), pruned(case.response()));
    for object in [&mut ours, &mut theirs] {
        let members = object.as_object_mut().unwrap();
        members.retain(|name, _| !matches!(name.as_str(), "kind" | "apiVersion"));
        let metadata = object["metadata"].as_object_mut().unwrap();
        for name in [
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "namespace",
            "uid",
        ] {
            metadata.remove(name);
        }
        if case.resource != "pods" {
            object.as_object_mut().unwrap().remove("status");
        }
    }
    if ours != theirs {
        differences.push(format!("ours   {ours}\ntheirs {theirs}"));
    }
    let warnings = (case.rules.warn)(&begun);
    let recorded = case
        .line
        .get("warnings")
        .cloned()
        .unwrap_or_else(|| json!([]));
    if recorded != json!(warnings) {
        differences.push(format!("ours   {warnings:?}\ntheirs {recorded}"));
    }
    differences
}

fn replay_refused(case: &Case) -> Vec<String> {
    let theirs = recorded_message(case);
    if theirs.contains("metadata.") && !theirs.contains("template.metadata.") {
        return Vec::new();
    }
    let mut object = decoded(case);
    (case.rules.default)(&mut object);
    (case.rules.begin)(&mut object);
    let ours = message(&(case.rules.check_new)(&object));
    same_message(&ours, &theirs)
}

fn replay_change(case: &Case, before: &Value, status: i64) -> Vec<String> {
    let mut next = match case.line["request"].get("patch") {
        Some(operations) => patched(before, operations),
        None => case.body(),
    };
    next = without_nulls(next);
    with_canonical_amounts(&mut next);
    (case.rules.default)(&mut next);
    match case.subresource.as_str() {
        "" => (case.rules.adjust)(before, &mut next),
        "resize" => running::keep_all_but_resources(before, &mut next),
        _ => {}
    }
    let change = Change {
        before,
        next: &next,
    };
    let errors = match case.subresource.as_str() {
        "" => (case.rules.check_change)(change),
        "status" => (case.rules.check_status)(change),
        "resize" => running::check_resize(change),
        "ephemeralcontainers" => running::check_ephemeral_containers(change),
        other => return vec![format!("nothing is known of {other}")],
    };
    let theirs = match status {
        200 => String::new(),
        _ => recorded_message(case),
    };
    same_message(&message(&errors), &theirs)
}

/// The stored object with the recorded changes, which are a JSON patch.
fn patched(before: &Value, operations: &Value) -> Value {
    let operations = operations.to_string();
    let patch = Patch::decode(PatchFormat::Json, operations.as_bytes()).unwrap();
    patch.patch.apply_without_schema(before.clone()).unwrap()
}

fn same_message(ours: &str, theirs: &str) -> Vec<String> {
    match ours == theirs {
        true => Vec::new(),
        false => vec![format!("ours   {ours}\ntheirs {theirs}")],
    }
}

fn assert_no_differences(file: &str) {
    let differences = differences(file);
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn the_smallest_objects_become_what_a_real_server_makes_of_them() {
    assert_no_differences("07-built-in-defaults.jsonl");
}

#[test]
fn what_a_real_server_refuses_is_refused_in_its_words() {
    assert_no_differences("08-built-in-validation.jsonl");
}

#[test]
fn hundreds_of_good_and_bad_pods_fare_as_on_a_real_server() {
    assert_no_differences("11-pods.jsonl");
}

#[test]
fn of_a_pod_only_that_changes_which_may() {
    assert_no_differences("11-pod-changes.jsonl");
}

#[test]
fn hundreds_of_other_workloads_fare_as_on_a_real_server() {
    assert_no_differences("11-workloads.jsonl");
}
