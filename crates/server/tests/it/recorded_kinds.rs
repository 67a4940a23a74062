//! What a kube-apiserver made of good and bad objects of many kinds, asked of this server.
//!
//! The recordings are `conformance/golden/12-other-kinds/*.jsonl`. Addresses and ports that one
//! server chooses stand for those that the other one chose.

use std::{fs, path::Path};

use listwatch_server::Settings;
use serde_json::{Value, json};

use crate::{
    client::Answer,
    running::{TestServer, start_with, within},
};

/// Requests that are answered otherwise on purpose: a part of their line, and why.
const DIFFERENCES: [(&str, &str); 10] = [
    (
        "resourcequotas/x31",
        "What a quota counts is counted by the server itself, so its status is not empty.",
    ),
    (
        "validatingadmissionpolicies/kinds-x86\"",
        "Whether its expressions fit is told by the server itself, so its status is not empty.",
    ),
    (
        r#""kind":"Endpoints""#,
        "That Endpoints are deprecated is told with what is taken, not with what is refused.",
    ),
    (
        r#""kind":"Ingress","metadata":{"name":"x2"},"spec":{"rules":[]}"#,
        "An empty list is none, so the refusal shows none.",
    ),
    (r#""spec":{"rules":[]},"status""#, "The same, in a change."),
    (
        r#""kind":"CSINode","metadata":{"name":"kinds-x20"}"#,
        "An empty list that was sent stays one, where theirs becomes null in their store.",
    ),
    (
        r#""scaleDown":{"stabilizationWindowSeconds":4000,"policies":[]"#,
        "An empty list is none, so it is filled in instead of refused.",
    ),
    (
        r#""annotations":{"volume.beta.kubernetes.io/storage-class":"x"}"#,
        "Rules of a kind are asked only when something beyond the metadata changes.",
    ),
    (
        "persistentvolumeclaims/x20\"",
        "The claim that the line before changed here and not there.",
    ),
    (
        "persistentvolumeclaims/x20/status\"",
        "The claim that the line before changed here and not there.",
    ),
];

/// What servers choose for services.
const CHOSEN: [&str; 4] = ["clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"];

/// What is never the same twice.
const FLEETING: [&str; 9] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "lastPhaseTransitionTime",
    "lastTransitionTime",
    "lastUpdateTime",
    "username",
    "groups",
];

struct Replay {
    server: TestServer,
    /// What was chosen there, and what was chosen here.
    chosen: Vec<(String, String)>,
    differences: Vec<String>,
}

#[tokio::test]
async fn many_kinds_are_filled_in_and_refused_as_there() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/golden/12-other-kinds");
    let (mut compared, mut differences) = (0, Vec::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let mut replay = Replay::start(settings(&path)).await;
            for line in fs::read_to_string(path).unwrap().lines() {
                compared += 1;
                replay.exchange(line).await;
            }
            differences.append(&mut replay.differences);
        }
    }
    assert!(compared > 700, "only {compared} exchanges were compared");
    let count = differences.len();
    assert_eq!(count, 0, "{}", differences.join("\n"));
}

/// As the server was started that a file was recorded from. Our ranges are larger, so that nobody
/// is given by chance what the recording asks for by name.
fn settings(path: &Path) -> Settings {
    let mut settings = Settings::default();
    if path.ends_with("dual_stack.jsonl") {
        settings.service_addresses = "10.7.0.0/16,fd00:7::/112".parse().unwrap();
    }
    settings
}

impl Replay {
    async fn start(settings: Settings) -> Self {
        let server = start_with(settings).await;
        let namespace = json!({"metadata": {"name": "kinds"}});
        server
            .post("/api/v1/namespaces", &namespace)
            .await
            .created();
        Self {
            server,
            chosen: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// An object once the server has said of it what it has to say.
    async fn settled(&self, place: &str) -> Value {
        within(async {
            loop {
                let found = self.server.get(place).await.json();
                let is_policy = found["kind"] == "ValidatingAdmissionPolicy";
                let seen = &found["status"]["observedGeneration"];
                if !is_policy || *seen == found["metadata"]["generation"] {
                    return found;
                }
            }
        })
        .await
    }

    async fn exchange(&mut self, line: &str) {
        let line = self
            .chosen
            .iter()
            .fold(line.to_owned(), |line, (theirs, ours)| {
                line.replace(theirs, ours)
            });
        let record: Value = serde_json::from_str(&line).unwrap();
        let request = &record["request"];
        let path = request["path"].as_str().unwrap();
        let mut body = request["body"].clone();
        let answer = match request["method"].as_str() {
            Some("PUT") => {
                let place = path.trim_end_matches("/status");
                let current = self.settled(place).await;
                body["metadata"]["resourceVersion"] =
                    current["metadata"]["resourceVersion"].clone();
                self.server.put(path, &body).await
            }
            _ => self.server.post(path, &body).await,
        };
        let ours = answer.json();
        if answer.code < 300 {
            self.learn(&record["response"], &ours);
        }
        let is_known = DIFFERENCES.iter().any(|(part, _)| line.contains(part));
        if !is_known {
            self.compare(&record, &answer);
        }
    }

    /// Remembers what either server chose for a service.
    fn learn(&mut self, theirs: &Value, ours: &Value) {
        let values = |service: &Value| {
            let spec = &service["spec"];
            let ports = spec["ports"].as_array().into_iter().flatten();
            let ports = ports
                .map(|port| &port["nodePort"])
                .chain([&spec["healthCheckNodePort"]]);
            let ports = ports
                .filter_map(|port| port.as_i64())
                .map(|port| format!(":{port}"));
            let addresses = spec["clusterIPs"].as_array().into_iter().flatten();
            let addresses = addresses.filter_map(Value::as_str);
            let addresses = addresses.filter(|address| *address != "None");
            let addresses = addresses.map(str::to_owned);
            addresses.chain(ports).collect::<Vec<_>>()
        };
        if ours["kind"] == "Service" && theirs["kind"] == "Service" {
            let pairs = values(theirs).into_iter().zip(values(ours));
            self.chosen
                .extend(pairs.filter(|(theirs, ours)| theirs != ours));
        }
    }

    fn compare(&mut self, record: &Value, answer: &Answer) {
        let hidden: &[&str] = match answer.json()["kind"] == "Service" {
            true => &CHOSEN,
            false => &[],
        };
        let theirs = masked(&record["response"], hidden);
        let ours = masked(&answer.json(), hidden);
        let warnings: Vec<String> = answer
            .headers
            .get_all("warning")
            .iter()
            .map(text_of)
            .collect();
        let told: Vec<String> =
            serde_json::from_value(record["warnings"].clone()).unwrap_or_default();
        // Kubernetes looks into certificates, which nobody does here.
        let is_heard = record["request"]["body"]["kind"] == "Secret" || warnings == told;
        if record["status"] != answer.code || theirs != ours || !is_heard {
            self.differences.push(format!(
                "{}\n  theirs {}: {theirs} {told:?}\n  ours {}: {ours} {warnings:?}",
                record["request"], record["status"], answer.code
            ));
        }
    }
}

fn text_of(warning: &http::HeaderValue) -> String {
    let text = warning.to_str().unwrap();
    let quoted = text.split_once('"').map_or(text, |(_, text)| text);
    let inner = quoted.strip_suffix('"').unwrap_or(quoted);
    inner.replace("\\\"", "\"")
}

/// The answer without what differs from one moment to the next, and without what is `hidden`.
fn masked(value: &Value, hidden: &[&str]) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !FLEETING.contains(&name.as_str()))
            .map(|(name, value)| match hidden.contains(&name.as_str()) {
                true => (name.clone(), json!(value == "None")),
                false => (name.clone(), masked(value, hidden)),
            })
            .collect(),
        Value::Array(elements) => elements.iter().map(|value| masked(value, hidden)).collect(),
        other => other.clone(),
    }
}
