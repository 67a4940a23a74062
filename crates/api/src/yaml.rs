//! YAML: bodies to values within a budget, and values to the text that Kubernetes writes.

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::json::{self, Document};

mod key_order;
mod repeated_keys;
mod scalar;
mod writer;
#[cfg(test)]
mod tests;

pub use repeated_keys::RepeatedKey;

/// Nesting of a body; a deeper one is refused.
const DEPTH_MAX: usize = 100;
/// Values of a body, aliases expanded; a body with more is refused.
const NODES_MAX: usize = 500_000;
/// Events that aliases may repeat in all; a body that repeats more is refused.
const REPLAYED_EVENTS_MAX: usize = 100_000;

/// Why a body is no YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("yaml: {0}")]
pub struct YamlError(String);

/// A body and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlDocument {
    /// The value; of keys that stand again the last one counts.
    pub value: Value,
    /// Where keys stand again.
    pub repeated_keys: Vec<RepeatedKey>,
}

/// Reads one YAML document, or one JSON text. Of keys that stand again the last one counts.
pub fn decode(text: &[u8]) -> Result<YamlDocument, YamlError> {
    // Most bodies that are called YAML are JSON, which is read faster and without YAML's limits.
    let document = match json::decode(text) {
        Ok(document) => document,
        Err(_) => decode_blocks(text)?,
    };
    let repeated_keys = match (
        document.duplicate_fields.is_empty(),
        std::str::from_utf8(text),
    ) {
        (false, Ok(text)) => repeated_keys::find(text),
        _ => Vec::new(),
    };
    Ok(YamlDocument {
        value: document.value,
        repeated_keys,
    })
}

fn decode_blocks(text: &[u8]) -> Result<Document, YamlError> {
    let text = std::str::from_utf8(text).map_err(|error| YamlError(error.to_string()))?;
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
        json::decode_with(yaml)
    });
    read.map_err(|error| YamlError(first_line(&error.to_string())))
}

/// Writes the value as Kubernetes does: keys sorted, lists not indented, long texts folded.
pub fn encode(value: &Value) -> String {
    writer::write(value)
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: REPLAYED_EVENTS_MAX,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
