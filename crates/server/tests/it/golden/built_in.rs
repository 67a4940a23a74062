//! What a real kube-apiserver made of the objects of 45 kinds, replayed in order.

use std::collections::BTreeMap;

use listwatch_server::{PodAccounts, Settings};
use serde_json::{Value, json};

use super::{known::KnownDifferences, recorded};
use crate::{
    client::Answer,
    running::{TestServer, start_with},
};

/// Members whose values differ from run to run; ours stand for the recorded ones from then on.
const OWN: [&str; 7] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
];

/// Members that are times of the write.
const TIMES: [&str; 4] = [
    "time",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastPhaseTransitionTime",
];

#[tokio::test]
async fn built_in_kinds_are_filled_in_and_refused_as_recorded() {
    let server = start_with(Settings {
        // The recorded server gave pods no accounts.
        pod_accounts: PodAccounts::None,
        ..Settings::default()
    })
    .await;
    let mut replay = Replay {
        known: KnownDifferences::read(&recorded("differences.json")),
        ours: BTreeMap::new(),
        report: Vec::new(),
    };
    for script in ["07-built-in-defaults.jsonl", "08-built-in-validation.jsonl"] {
        for (place, line) in recorded(script).lines().enumerate() {
            let record: Value = serde_json::from_str(line).unwrap();
            let title = format!("{}, line {}", &script[..2], place + 1);
            replay.exchange(&server, &title, &record).await;
        }
    }
    assert!(replay.report.is_empty(), "{}", replay.report.join("\n\n"));
}

struct Replay {
    known: KnownDifferences,
    /// What stands here for a recorded value, by member and value.
    ours: BTreeMap<(String, String), Value>,
    report: Vec<String>,
}

impl Replay {
    async fn exchange(&mut self, server: &TestServer, title: &str, record: &Value) {
        let request = &record["request"];
        let path = request["path"].as_str().unwrap();
        let answer = self.ask(server, request).await;
        let mut found = answer.json();
        let mut expected = record["response"].clone();
        self.translate(&mut expected);
        self.learn(&record["response"], &found);
        self.translate_again(&record["response"], &mut expected);
        mask(&mut expected);
        mask(&mut found);
        let mut differences = BTreeMap::new();
        if record["status"] != json!(answer.code) {
            differences.insert(
                "status".to_owned(),
                (record["status"].clone(), json!(answer.code)),
            );
        }
        compare("", &expected, &found, &mut differences);
        let mut known = self.known.of(title);
        for (at, (expected, found)) in differences {
            if known.remove(&at).as_ref() == Some(&found) {
                continue;
            }
            self.report.push(format!(
                "{title}: {} {path} at {at}\n  recorded {expected}\n  ours     {found}",
                request["method"].as_str().unwrap()
            ));
        }
        for at in known.keys() {
            self.report
                .push(format!("{title}: no longer differs at {at}"));
        }
    }

    async fn ask(&self, server: &TestServer, request: &Value) -> Answer {
        let path = request["path"].as_str().unwrap();
        let mut body = request["body"].clone();
        if body.get("note").is_some() {
            // The one body that was too long to be recorded.
            let data = json!({"a": "x".repeat(1_100_000)});
            body = json!({"metadata": {"name": "big"}, "data": data});
        }
        self.translate(&mut body);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path_as = format!("{path}{separator}fieldManager=golden");
        match request["method"].as_str().unwrap() {
            "POST" => server.post(&path_as, &body).await,
            "PUT" => {
                let stale = request["change"].as_str() == Some("metadata.uid changed");
                if !stale {
                    let part = ["/status", "/scale"]
                        .iter()
                        .find(|part| path.ends_with(**part));
                    let object = part.map_or(path, |part| path.trim_end_matches(*part));
                    let present = server.get(object).await.json();
                    body["metadata"]["resourceVersion"] =
                        present["metadata"]["resourceVersion"].clone();
                }
                server.put(&path_as, &body).await
            }
            "PATCH" => {
                let patch_type = request["content-type"].as_str().unwrap();
                server.patch(&path_as, patch_type, &body).await
            }
            _ => server.get(path).await,
        }
    }

    /// Remembers what stands here for what was recorded.
    fn learn(&mut self, recorded: &Value, found: &Value) {
        let mut pairs = Vec::new();
        pair("", recorded, found, &mut pairs);
        for (member, recorded, found) in pairs {
            self.ours.insert((member, recorded.to_string()), found);
        }
    }

    fn translate(&self, value: &mut Value) {
        self.translate_member("", value);
    }

    /// Once more, with what this very answer has taught.
    fn translate_again(&self, recorded: &Value, expected: &mut Value) {
        *expected = recorded.clone();
        self.translate(expected);
    }

    fn translate_member(&self, member: &str, value: &mut Value) {
        if let Some(ours) = self.ours.get(&(member.to_owned(), value.to_string())) {
            *value = ours.clone();
            return;
        }
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    self.translate_member(name, value);
                }
            }
            Value::Array(items) => {
                items
                    .iter_mut()
                    .for_each(|item| self.translate_member(member, item));
            }
            Value::String(text) => {
                for ((of, recorded), ours) in &self.ours {
                    if let (true, Some(ours)) =
                        (["uid", "clusterIP"].contains(&&**of), ours.as_str())
                    {
                        *text = text.replace(recorded.trim_matches('"'), ours);
                    }
                }
            }
            _ => {}
        }
    }
}

fn pair(member: &str, recorded: &Value, found: &Value, pairs: &mut Vec<(String, Value, Value)>) {
    match (recorded, found) {
        (Value::Object(recorded), Value::Object(found)) => {
            for (name, recorded) in recorded {
                if let Some(found) = found.get(name) {
                    pair(name, recorded, found, pairs);
                }
            }
        }
        (Value::Array(recorded), Value::Array(found)) => {
            for (recorded, found) in recorded.iter().zip(found) {
                pair(member, recorded, found, pairs);
            }
        }
        _ if OWN.contains(&member) && *recorded != json!("None") => {
            pairs.push((member.to_owned(), recorded.clone(), found.clone()));
        }
        _ => {}
    }
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match TIMES.contains(&name.as_str()) && value.is_string() {
                    true => *value = json!("a time"),
                    false => mask(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

fn compare(
    at: &str,
    expected: &Value,
    found: &Value,
    differences: &mut BTreeMap<String, (Value, Value)>,
) {
    match (expected, found) {
        (Value::Object(one), Value::Object(other)) => {
            let names: std::collections::BTreeSet<&String> =
                one.keys().chain(other.keys()).collect();
            for name in names {
                let absent = json!("{{absent}}");
                let (expected, found) = (one.get(name), other.get(name));
                let at = format!("{at}/{name}");
                compare(
                    &at,
                    expected.unwrap_or(&absent),
                    found.unwrap_or(&absent),
                    differences,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (expected, found)) in one.iter().zip(other).enumerate() {
                compare(&format!("{at}/{place}"), expected, found, differences);
            }
        }
        (expected, found) if expected != found => {
            differences.insert(at.to_owned(), (expected.clone(), found.clone()));
        }
        _ => {}
    }
}
