//! Selectors as objects have them, held against labels.

use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use kube::core::Selector;
use listwatch::{LabelSelector, Labels};

/// What an object's selector selects; `None` if it cannot be read.
pub(crate) fn read(selector: &v1::LabelSelector) -> Option<LabelSelector> {
    let selector = Selector::try_from(selector.clone()).ok()?;
    LabelSelector::parse(&selector.to_string()).ok()
}

/// Whether a selector that can be read selects something with these labels.
pub(crate) fn selects(selector: &v1::LabelSelector, labels: &Labels) -> bool {
    read(selector).is_some_and(|selector| selector.matches(|name| labels.get(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_and_expressions_must_all_hold() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["a", "b"]},
                {"key": "old", "operator": "DoesNotExist"},
                {"key": "zone", "operator": "NotIn", "values": ["z"]},
            ],
        });
        let selector = serde_json::from_value(selector).unwrap();
        let selects =
            |labels: &[(&str, &str)]| selects(&selector, &labels.iter().copied().collect());
        assert!(selects(&[("app", "web"), ("tier", "b")]));
        assert!(!selects(&[("app", "web")]));
        assert!(!selects(&[("app", "web"), ("tier", "b"), ("old", "")]));
        assert!(!selects(&[("app", "web"), ("tier", "b"), ("zone", "z")]));
    }

    #[test]
    fn a_selector_that_asks_nothing_selects_everything() {
        assert!(selects(&v1::LabelSelector::default(), &Labels::default()));
    }
}
