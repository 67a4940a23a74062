//! Holds the rules of kinds against what a kube-apiserver answered.
//!
//! Objects are not decoded here, so a value that decoding adds or drops (null, empty) counts as
//! absent, and metadata that the server gives counts as well.

use std::collections::BTreeMap;
use std::path::Path;

use listwatch_api::FieldError;
use listwatch_kinds::service::allocation::{self, Family};
use listwatch_kinds::{Change, Rules, rules};
use serde_json::{Value, json};

const DEFAULTS: &str = include_str!("../../../conformance/golden/07-built-in-defaults.jsonl");
const VALIDATION: &str = include_str!("../../../conformance/golden/08-built-in-validation.jsonl");

/// Exchanges that other parts of the server answer.
const ELSEWHERE: [&str; 4] = [
    // Names are checked for all kinds alike.
    "is invalid: metadata.name:",
    // Conflicts and forbidden changes are found before or after the rules of a kind.
    "Operation cannot be fulfilled",
    "only dynamically provisioned pvc can be resized",
    "Internal error occurred",
];

struct Exchange {
    method: String,
    group: String,
    resource: String,
    /// The path of the object itself.
    place: String,
    is_status: bool,
    body: Value,
    status: u64,
    response: Value,
    warnings: Vec<String>,
}

fn exchanges(recording: &str) -> impl Iterator<Item = Exchange> {
    recording.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("a line is JSON");
        let request = &record["request"];
        let path = request["path"].as_str().expect("a request has a path");
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, rest) = match parts[0] {
            "api" => ("", &parts[2..]),
            _ => (parts[1], &parts[3..]),
        };
        let rest = match rest {
            ["namespaces", _, rest @ ..] if !rest.is_empty() && rest[0] != "status" => rest,
            rest => rest,
        };
        let is_status = rest.get(2) == Some(&"status");
        let name = record["response"]["metadata"]["name"]
            .as_str()
            .unwrap_or_default();
        let place = match record["request"]["method"].as_str() {
            Some("POST") => format!("{path}/{name}"),
            _ => path.trim_end_matches("/status").to_owned(),
        };
        Exchange {
            method: text(&request["method"]),
            group: group.to_owned(),
            resource: rest[0].to_owned(),
            place,
            is_status,
            body: stored_form(&request["body"]),
            status: record["status"].as_u64().unwrap_or_default(),
            response: stored_form(&record["response"]),
            warnings: serde_json::from_value(record["warnings"].clone()).unwrap_or_default(),
        }
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Events in the form of the core group, in which they are stored; others as they are.
fn stored_form(object: &Value) -> Value {
    let names = [
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("reportingController", "reportingComponent"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ];
    let mut object = object.clone();
    if object["apiVersion"] == "events.k8s.io/v1" {
        let members = object.as_object_mut().expect("an object has members");
        for (new, old) in names {
            if let Some(value) = members.remove(new) {
                members.insert(old.to_owned(), value);
            }
        }
    }
    object
}

/// What the rules make of a request: the object, or what is wrong with it.
type Outcome = Result<Value, Vec<FieldError>>;

fn create(rules: &Rules, exchange: &Exchange) -> Outcome {
    let mut object = exchange.body.clone();
    object["metadata"]["namespace"] = json!(namespace(&exchange.place));
    (rules.default)(&mut object);
    if exchange.resource == "services" {
        allocate(&mut object, &Value::Null, &exchange.response)?;
    }
    (rules.begin)(&mut object);
    refuse((rules.check_new)(&object))?;
    Ok(object)
}

fn update(rules: &Rules, exchange: &Exchange, before: &Value) -> Outcome {
    let mut object = exchange.body.clone();
    (rules.default)(&mut object);
    if exchange.is_status {
        object["spec"] = before["spec"].clone();
        let change = Change {
            before,
            next: &object,
        };
        refuse((rules.check_status)(change))?;
        return Ok(object);
    }
    if !before["status"].is_null() {
        object["status"] = before["status"].clone();
    }
    if exchange.resource == "services" {
        allocate(&mut object, before, &exchange.response)?;
    }
    (rules.adjust)(before, &mut object);
    let change = Change {
        before,
        next: &object,
    };
    refuse((rules.check_change)(change))?;
    Ok(object)
}

fn refuse(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Gives a service the addresses and ports that it got, or any where it was refused.
fn allocate(service: &mut Value, before: &Value, answer: &Value) -> Result<(), Vec<FieldError>> {
    let message = answer["message"].as_str().unwrap_or_default();
    allocation::settle(service, before, &[Family::V4])?;
    let wish = allocation::wish(service, before);
    for wanted in &wish.addresses {
        let granted = answer["spec"]["clusterIPs"][wanted.index].as_str();
        match &wanted.choice {
            allocation::Choice::This(address) if message.contains("already allocated") => {
                let why = allocation::ADDRESS_TAKEN;
                return Err(vec![allocation::refuse_address(service, address, why)]);
            }
            allocation::Choice::This(address) if !address.starts_with("10.0.") => {
                let why = allocation::ADDRESS_OUT_OF_RANGE;
                return Err(vec![allocation::refuse_address(service, address, why)]);
            }
            allocation::Choice::This(address) => {
                allocation::grant_address(service, wanted, address);
            }
            allocation::Choice::Any => {
                allocation::grant_address(service, wanted, granted.unwrap_or("10.0.0.77"));
            }
        }
    }
    let mut taken = Vec::new();
    for wanted in &wish.node_ports {
        let granted = answer["spec"]["ports"][wanted.index]["nodePort"].as_i64();
        match wanted.choice {
            allocation::Choice::This(port) if !(30_000..32_768).contains(&port) => {
                let why = allocation::port_out_of_range("30000-32767");
                return Err(vec![allocation::refuse_node_port(wanted.index, port, &why)]);
            }
            allocation::Choice::This(port) if taken.contains(&port) => {
                let why = allocation::PORT_TAKEN;
                return Err(vec![allocation::refuse_node_port(wanted.index, port, why)]);
            }
            allocation::Choice::This(port) => {
                taken.push(port);
                allocation::grant_node_port(service, wanted, port);
            }
            allocation::Choice::Any => {
                allocation::grant_node_port(service, wanted, granted.unwrap_or(30_777));
            }
        }
    }
    if wish.health_port.is_some() {
        let granted = answer["spec"]["healthCheckNodePort"]
            .as_i64()
            .unwrap_or(30_778);
        service["spec"]["healthCheckNodePort"] = json!(granted);
    }
    Ok(())
}

fn namespace(place: &str) -> Option<&str> {
    let mut parts = place
        .split('/')
        .skip_while(|part| *part != "namespaces")
        .skip(1);
    let namespace = parts.next();
    parts.next().and(namespace)
}

/// The object without what is empty, and without what the server gives every object.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| {
                !matches!(
                    name.as_str(),
                    "uid"
                        | "resourceVersion"
                        | "creationTimestamp"
                        | "managedFields"
                        | "generation"
                        | "lastPhaseTransitionTime"
                        | "username"
                        | "groups"
                )
            })
            .map(|(name, value)| (name.clone(), pruned(value)))
            .filter(|(_, value)| !is_empty(value))
            .collect(),
        Value::Array(elements) => elements.iter().map(pruned).collect(),
        Value::String(text) => match listwatch_api::quantity::canonical(text) {
            Ok(amount) => Value::from(amount),
            Err(_) => value.clone(),
        },
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// What is told; the same is told once.
fn told(errors: &[FieldError]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for error in errors.iter().map(ToString::to_string) {
        if !told.contains(&error) {
            told.push(error);
        }
    }
    told
}

fn causes(response: &Value) -> Vec<String> {
    let causes = response["details"]["causes"]
        .as_array()
        .into_iter()
        .flatten();
    let told = causes.map(|cause| {
        let field = cause["field"].as_str().unwrap_or_default();
        format!("{field}: {}", cause["message"].as_str().unwrap_or_default())
    });
    told.collect()
}

fn difference(exchange: &Exchange, outcome: &Outcome) -> Option<String> {
    let request = format!(
        "{} {}\n  {}",
        exchange.method, exchange.place, exchange.body
    );
    match outcome {
        Err(errors) if exchange.status == 422 && told(errors) == causes(&exchange.response) => None,
        Ok(object) if exchange.status < 300 && pruned(object) == pruned(&exchange.response) => None,
        Err(errors) => Some(format!(
            "{request}\n  ours: {:#?}\n  theirs {}: {:#?}",
            told(errors),
            exchange.status,
            causes(&exchange.response)
        )),
        Ok(object) => Some(format!(
            "{request}\n  ours: {}\n  theirs {}: {}",
            pruned(object),
            exchange.status,
            match exchange.status {
                422 => json!(causes(&exchange.response)),
                _ => pruned(&exchange.response),
            }
        )),
    }
}

/// Replays recordings; returns how many exchanges were compared.
fn replay(recordings: &[&str]) -> usize {
    let mut differences = Vec::new();
    let compared = recordings
        .iter()
        .map(|recording| replay_one(recording, &mut differences))
        .sum();
    let count = differences.len();
    assert!(
        differences.is_empty(),
        "{count} differences:\n{}",
        differences.join("\n")
    );
    compared
}

fn replay_one(recording: &str, differences: &mut Vec<String>) -> usize {
    let mut stored: BTreeMap<String, Value> = BTreeMap::new();
    let mut compared = 0;
    for exchange in exchanges(recording) {
        let message = exchange.response["message"].as_str().unwrap_or_default();
        let is_elsewhere = ELSEWHERE.iter().any(|text| message.contains(text));
        let rules = rules(&exchange.group, &exchange.resource).filter(|_| is_ours(&exchange));
        let before = stored.get(&exchange.place);
        let outcome = match (rules, exchange.method.as_str(), before) {
            (Some(rules), "POST", _) => Some(create(rules, &exchange)),
            (Some(rules), "PUT", Some(before)) => Some(update(rules, &exchange, before)),
            _ => None,
        };
        if let Some(outcome) = outcome.filter(|_| !is_elsewhere && exchange.status != 400) {
            compared += 1;
            differences.extend(difference(&exchange, &outcome));
            let warned = rules.filter(|_| !exchange.is_status && exchange.status < 300);
            if let (Some(rules), Ok(object)) = (warned, &outcome) {
                let warnings = (rules.warn)(object);
                let is_told = recording.contains("\"warnings\":") && exchange.resource != "secrets";
                if is_told && warnings != exchange.warnings {
                    let theirs = &exchange.warnings;
                    differences.push(format!(
                        "{}: warnings\n ours {warnings:?}\n theirs {theirs:?}",
                        exchange.place
                    ));
                }
            }
        }
        if exchange.status < 300 {
            stored.insert(exchange.place, exchange.response);
        }
    }
    compared
}

/// Whether this file, and not the one about what runs containers, speaks of the kind.
fn is_ours(exchange: &Exchange) -> bool {
    let runs_containers = ["pods", "podtemplates", "replicationcontrollers"];
    !matches!(exchange.group.as_str(), "apps" | "batch")
        && !runs_containers.contains(&exchange.resource.as_str())
        && exchange.body["note"].is_null()
}

#[test]
fn the_smallest_objects_become_what_they_become_there() {
    assert!(replay(&[DEFAULTS]) > 30);
}

#[test]
fn what_is_wrong_is_told_in_their_words() {
    assert!(replay(&[VALIDATION]) > 10);
}

#[test]
fn other_kinds_are_filled_in_and_refused_as_there() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../conformance/golden/12-other-kinds"
    );
    let entries = std::fs::read_dir(folder).expect("the recordings are there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    // What a cluster of two families of addresses answers is held against the whole server.
    let is_elsewhere = |path: &Path| path.ends_with("dual_stack.jsonl");
    let recordings: Vec<String> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .filter(|path| !is_elsewhere(path))
        .map(|path| std::fs::read_to_string(path).expect("a recording is text"))
        .collect();
    let recordings: Vec<&str> = recordings.iter().map(String::as_str).collect();
    let compared = replay(&recordings);
    assert!(compared > 700, "only {compared} exchanges were compared");
}
