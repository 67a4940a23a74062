//! Pods, and what runs them.

use serde_json::{Value, json};

use crate::rules::Rules;

/// Pods.
pub(crate) const PODS: Rules = Rules {
    begin: begin_pod,
    ..Rules::NONE
};

/// A pod waits for a node.
fn begin_pod(pod: &mut Value) {
    pod["status"] = json!({"phase": "Pending"});
}
