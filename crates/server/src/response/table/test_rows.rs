//! What the tests of all printers share: a moment, and cells as one line of text.

use jiff::Timestamp;
use serde_json::Value;

use super::Printer;

/// When the tests print.
pub(super) fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

/// The cells of an object, as JSON separated by ` | `, texts without quotes.
pub(super) fn row(resource: &str, object: &Value) -> String {
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    let cells = Printer::for_resource(group, resource).cells(object, now());
    let texts: Vec<String> = cells.iter().map(cell).collect();
    texts.join(" | ")
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("`{other}`"),
    }
}
