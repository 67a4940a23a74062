//! Limit ranges: what one pod, container or claim of a namespace may ask for.

use std::collections::BTreeMap;

use listwatch_api::{Status, quantity::Quantity};
use serde_json::{Map, Value, json};

use super::{
    super::amounts::{Amounts, amounts, pod_amounts},
    Surroundings,
};
use crate::commit::metadata_mut;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

fn ranges(surroundings: Surroundings<'_>) -> Vec<Value> {
    surroundings.neighbours("", "limitranges")
}

fn limits(range: &Value) -> impl Iterator<Item = &Value> {
    range["spec"]["limits"].as_array().into_iter().flatten()
}

fn containers<'a>(pod: &'a Value, list: &str) -> &'a [Value] {
    pod["spec"][list].as_array().map_or(&[], Vec::as_slice)
}

/// Gives containers what their namespace says they need.
pub(super) fn fill_pod(surroundings: Surroundings<'_>, pod: &mut Value) {
    for range in ranges(surroundings) {
        let mut defaults = [("requests", Map::new()), ("limits", Map::new())];
        for limit in limits(&range).filter(|limit| limit["type"] == "Container") {
            for ((_, all), member) in defaults.iter_mut().zip(["defaultRequest", "default"]) {
                let stated = limit[member].as_object().into_iter().flatten();
                all.extend(stated.map(|(name, amount)| (name.clone(), amount.clone())));
            }
        }
        let mut told = Vec::new();
        for (list, word) in [
            ("containers", "container"),
            ("initContainers", "init container"),
        ] {
            for place in 0..containers(pod, list).len() {
                let container = &mut pod["spec"][list][place];
                told.extend(fill_container(container, word, &defaults));
            }
        }
        if !told.is_empty() {
            let told = format!("LimitRanger plugin set: {}", told.join("; "));
            let annotations = metadata_mut(pod).entry("annotations");
            annotations.or_insert_with(|| json!({}))[ANNOTATION] = json!(told);
        }
    }
}

fn fill_container(
    container: &mut Value,
    word: &str,
    defaults: &[(&str, Map<String, Value>); 2],
) -> Vec<String> {
    let name = container["name"].as_str().unwrap_or_default().to_owned();
    let mut told = Vec::new();
    for (member, amounts) in defaults {
        let stated = &container["resources"][*member];
        let missing = amounts
            .iter()
            .filter(|(name, _)| stated.get(*name).is_none());
        let missing: BTreeMap<String, Value> = missing
            .map(|(name, amount)| (name.clone(), amount.clone()))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let names: Vec<&str> = missing.keys().map(String::as_str).collect();
        let what = member.trim_end_matches('s');
        told.push(format!("{} {what} for {word} {name}", names.join(", ")));
        for (name, amount) in missing {
            container["resources"][*member][name] = amount;
        }
    }
    told
}

/// Refuses a pod that asks for more, or less, than its namespace grants.
pub(super) fn check_pod(surroundings: Surroundings<'_>, pod: &Value) -> Result<(), Status> {
    for range in ranges(surroundings) {
        let mut problems = Vec::new();
        for limit in limits(&range) {
            match limit["type"].as_str() {
                Some("Container") => {
                    let lists = ["containers", "initContainers"].into_iter();
                    for container in lists.flat_map(|list| containers(pod, list)) {
                        let resources = &container["resources"];
                        let asked = Asked {
                            requests: amounts(&resources["requests"]),
                            limits: amounts(&resources["limits"]),
                        };
                        asked.hold_against(limit, &mut problems);
                    }
                }
                Some("Pod") => {
                    let asked = Asked {
                        requests: pod_amounts(pod, "requests"),
                        limits: pod_amounts(pod, "limits"),
                    };
                    asked.hold_against(limit, &mut problems);
                }
                _ => {}
            }
        }
        refuse(surroundings, pod, problems)?;
    }
    Ok(())
}

/// Refuses a claim that asks for more, or less, than its namespace grants.
pub(super) fn check_claim(surroundings: Surroundings<'_>, claim: &Value) -> Result<(), Status> {
    for range in ranges(surroundings) {
        let mut problems = Vec::new();
        for limit in limits(&range).filter(|limit| limit["type"] == "PersistentVolumeClaim") {
            let asked = Asked {
                requests: amounts(&claim["spec"]["resources"]["requests"]),
                limits: Amounts::new(),
            };
            for (name, bound) in bounds(limit, "min") {
                problems.extend(asked.below(limit, name, bound));
            }
            for (name, bound) in bounds(limit, "max") {
                problems.extend(asked.request_above(limit, name, bound));
            }
        }
        refuse(surroundings, claim, problems)?;
    }
    Ok(())
}

fn refuse(
    surroundings: Surroundings<'_>,
    object: &Value,
    mut problems: Vec<String>,
) -> Result<(), Status> {
    let mut seen = Vec::new();
    problems.retain(|problem| {
        let is_new = !seen.contains(problem);
        seen.push(problem.clone());
        is_new
    });
    match problems.as_slice() {
        [] => Ok(()),
        [only] => Err(surroundings.forbidden(object, only)),
        many => Err(surroundings.forbidden(object, &format!("[{}]", many.join(", ")))),
    }
}

fn bounds<'a>(limit: &'a Value, member: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    let stated = limit[member].as_object().into_iter().flatten();
    stated.map(|(name, amount)| (name, amount.as_str().unwrap_or("0")))
}

struct Asked {
    requests: Amounts,
    limits: Amounts,
}

impl Asked {
    fn hold_against(&self, limit: &Value, problems: &mut Vec<String>) {
        for (name, bound) in bounds(limit, "min") {
            problems.extend(self.below(limit, name, bound));
        }
        for (name, bound) in bounds(limit, "max") {
            problems.extend(self.above(limit, name, bound));
        }
        for (name, bound) in bounds(limit, "maxLimitRequestRatio") {
            problems.extend(self.ratio_above(limit, name, bound));
        }
    }

    fn below(&self, limit: &Value, name: &str, text: &str) -> Option<String> {
        let least = Quantity::parse(text).ok()?;
        let what = format!("minimum {name} usage per {} is {text}", kind(limit));
        match (self.requests.get(name), self.limits.get(name)) {
            (None, _) => Some(format!("{what}.  No request is specified")),
            (Some((request, told)), _) if *request < least => {
                Some(format!("{what}, but request is {told}"))
            }
            (_, Some((bound, told))) if *bound < least => {
                Some(format!("{what}, but limit is {told}"))
            }
            _ => None,
        }
    }

    fn above(&self, limit: &Value, name: &str, text: &str) -> Option<String> {
        let most = Quantity::parse(text).ok()?;
        let what = format!("maximum {name} usage per {} is {text}", kind(limit));
        match (self.requests.get(name), self.limits.get(name)) {
            (_, None) => Some(format!("{what}.  No limit is specified")),
            (_, Some((bound, told))) if *bound > most => {
                Some(format!("{what}, but limit is {told}"))
            }
            (Some((request, told)), _) if *request > most => {
                Some(format!("{what}, but request is {told}"))
            }
            _ => None,
        }
    }

    fn request_above(&self, limit: &Value, name: &str, text: &str) -> Option<String> {
        let most = Quantity::parse(text).ok()?;
        let what = format!("maximum {name} usage per {} is {text}", kind(limit));
        match self.requests.get(name) {
            None => Some(format!("{what}.  No request is specified")),
            Some((request, told)) if *request > most => {
                Some(format!("{what}, but request is {told}"))
            }
            Some(_) => None,
        }
    }

    fn ratio_above(&self, limit: &Value, name: &str, text: &str) -> Option<String> {
        let most = Quantity::parse(text).ok()?;
        let what = format!(
            "{name} max limit to request ratio per {} is {text}",
            kind(limit)
        );
        let positive = |amounts: &Amounts| {
            let (amount, _) = amounts.get(name)?;
            (*amount != Quantity::ZERO).then(|| amount.milli())
        };
        let Some(request) = positive(&self.requests) else {
            return Some(format!(
                "{what}, but no request is specified or request is 0"
            ));
        };
        let Some(bound) = positive(&self.limits) else {
            return Some(format!("{what}, but no limit is specified or limit is 0"));
        };
        let ratio = bound as f64 / request as f64;
        (ratio * 1000.0 > most.milli() as f64)
            .then(|| format!("{what}, but provided ratio is {ratio:.6}"))
    }
}

fn kind(limit: &Value) -> &str {
    limit["type"].as_str().unwrap_or_default()
}
