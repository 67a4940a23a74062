//! A definition's spec as Kubernetes holds it: what all versions have alike stands above them.

use serde_json::Value;

use crate::props::Props;

/// A definition's spec.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec<'a> {
    pub(super) props: Props<'a>,
}

impl<'a> Spec<'a> {
    pub(super) fn of(definition: &'a Value) -> Option<Self> {
        let props = Props::of(definition.get("spec")?)?;
        Some(Self { props })
    }

    pub(super) fn versions(self) -> Vec<Props<'a>> {
        self.props.schemas("versions").collect()
    }

    /// The part of this name, if it is alike in all versions.
    pub(super) fn shared(self, part: &str) -> Option<Option<&'a Value>> {
        let versions = self.versions();
        let first = versions
            .first()?
            .value(part)
            .filter(|value| !is_nothing(part, value));
        let is_shared = versions
            .iter()
            .all(|version| version.value(part).filter(|value| !is_nothing(part, value)) == first);
        is_shared.then_some(first)
    }

    /// The schema of this version, wherever it stands.
    pub(super) fn schema_of(version: Props<'a>) -> Option<&'a Value> {
        version.schema("schema")?.value("openAPIV3Schema")
    }
}

/// Lists without elements are as absent ones.
fn is_nothing(part: &str, value: &Value) -> bool {
    let is_list = matches!(part, "additionalPrinterColumns" | "selectableFields");
    is_list && value.as_array().is_some_and(Vec::is_empty)
}
