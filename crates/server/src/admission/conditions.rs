//! Expressions that decide whether somebody is asked at all.

use serde_json::Value;

/// The match conditions of a webhook or a policy, all of which must hold.
#[derive(Default)]
pub(super) struct Conditions {
    stated: Vec<(String, String)>,
}

impl Conditions {
    pub(super) fn compile(conditions: &Value) -> Self {
        let listed = conditions.as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            stated: listed
                .map(|one| (text(&one["name"]), text(&one["expression"])))
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stated.is_empty()
    }
}
