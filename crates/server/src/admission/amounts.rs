//! Amounts of resources, by name: what objects ask for.

use std::collections::BTreeMap;

use listwatch_api::quantity::{Quantity, canonical};
use serde_json::Value;

/// Amounts by the name of the resource, each with its text.
pub(super) type Amounts = BTreeMap<String, (Quantity, String)>;

/// The amounts that an object states.
pub(super) fn amounts(stated: &Value) -> Amounts {
    let listed = stated.as_object().into_iter().flatten();
    let read = listed.filter_map(|(name, amount)| {
        let text = match amount {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let quantity = Quantity::parse(&text).ok()?;
        Some((name.clone(), (quantity, canonical(&text).unwrap_or(text))))
    });
    read.collect()
}

/// An amount of a resource as people write it.
pub(super) fn written(name: &str, amount: Quantity) -> String {
    written_milli(name, amount.milli())
}

/// So many thousandths of a resource as people write them: memory and storage by powers of 1024.
pub(super) fn written_milli(name: &str, milli: i128) -> String {
    let is_binary = ["memory", "storage", "hugepages"]
        .iter()
        .any(|word| name.contains(word));
    let text = match (milli % 1_000, milli / 1_000) {
        (0, whole) if is_binary && whole % 1_024 == 0 && whole != 0 => {
            format!("{}Ki", whole / 1_024)
        }
        (0, whole) => whole.to_string(),
        _ => format!("{milli}m"),
    };
    canonical(&text).unwrap_or(text)
}

/// What a pod as a whole asks for: its containers together, but at least what each of those needs
/// that run before them, and what its runtime needs.
pub(super) fn pod_amounts(pod: &Value, member: &str) -> Amounts {
    let listed = |list: &str| pod["spec"][list].as_array().into_iter().flatten();
    let mut sum = BTreeMap::new();
    for container in listed("containers") {
        add(&mut sum, &amounts(&container["resources"][member]));
    }
    let mut beside = BTreeMap::new();
    let mut most = BTreeMap::new();
    for container in listed("initContainers") {
        let own = amounts(&container["resources"][member]);
        let mut at_once = beside.clone();
        add(&mut at_once, &own);
        if container["restartPolicy"] == "Always" {
            add(&mut sum, &own);
            beside.clone_from(&at_once);
        }
        raise(&mut most, &at_once);
    }
    raise(&mut sum, &most);
    for (name, (amount, _)) in amounts(&pod["spec"]["resources"][member]) {
        sum.insert(name, amount);
    }
    let told = sum.into_iter().map(|(name, amount)| {
        let text = written(&name, amount);
        (name, (amount, text))
    });
    told.collect()
}

fn add(sum: &mut BTreeMap<String, Quantity>, amounts: &Amounts) {
    for (name, (amount, _)) in amounts {
        let known = sum.entry(name.clone()).or_default();
        *known = *known + *amount;
    }
}

fn raise(most: &mut BTreeMap<String, Quantity>, amounts: &BTreeMap<String, Quantity>) {
    for (name, amount) in amounts {
        let known = most.entry(name.clone()).or_default();
        *known = (*known).max(*amount);
    }
}
