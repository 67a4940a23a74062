//! Where we answer otherwise, and why.

use std::collections::BTreeMap;

use serde_json::Value;

/// The list of `conformance/golden/differences.json`: each entry has a `reason`, and either
/// `everywhere`, a field that is not compared, or `block` and what is `ours` at which place in it.
pub(super) struct KnownDifferences {
    entries: Vec<Value>,
}

impl KnownDifferences {
    pub(super) fn read(text: &str) -> Self {
        let entries: Vec<Value> = serde_json::from_str(text).unwrap();
        for entry in &entries {
            assert!(
                entry["reason"].is_string(),
                "a difference without a reason: {entry}"
            );
        }
        Self { entries }
    }

    /// Fields that are compared nowhere.
    pub(super) fn everywhere(&self) -> Vec<String> {
        let fields = self
            .entries
            .iter()
            .filter_map(|entry| entry["everywhere"].as_str());
        fields.map(str::to_owned).collect()
    }

    /// What we say otherwise in a block, by place.
    pub(super) fn of(&self, block: &str) -> BTreeMap<String, Value> {
        let entries = self.entries.iter().filter(|entry| entry["block"] == block);
        let places = entries.filter_map(|entry| entry["ours"].as_object());
        places
            .flatten()
            .map(|(at, ours)| (at.clone(), ours.clone()))
            .collect()
    }
}
