//! Field selectors: `metadata.name=web,status.phase!=Failed`.

/// Conditions on an object's fields, all of which must hold. Equal selectors are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldRequirement {
    /// The field's path, such as `spec.nodeName`.
    pub field: String,
    /// The condition.
    pub operator: FieldOperator,
    /// The text compared with; an absent field is the empty text.
    pub value: String,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldOperator {
    /// The field is this text.
    Equals,
    /// The field is not this text.
    NotEquals,
}

impl FieldSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects what fulfils all of these.
    pub fn all_of(mut requirements: Vec<FieldRequirement>) -> Self {
        requirements.sort();
        requirements.dedup();
        Self { requirements }
    }

    /// Whether nothing is asked.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The conditions, sorted.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// The value that `field` must equal, when the selector says so.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.requirements
            .iter()
            .find(|requirement| {
                requirement.field == field && requirement.operator == FieldOperator::Equals
            })
            .map(|requirement| requirement.value.as_str())
    }

    /// Whether an object whose fields are told by `value` is selected.
    pub fn matches<'a>(&self, value: impl Fn(&str) -> &'a str) -> bool {
        self.requirements.iter().all(|requirement| {
            let equal = value(&requirement.field) == requirement.value;
            equal == (requirement.operator == FieldOperator::Equals)
        })
    }
}
