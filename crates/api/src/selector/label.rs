//! Label selectors: `app=web,tier in (a,b),!old,size>3`.

use std::fmt;

use super::ParseSelectorError;

mod parser;
#[cfg(test)]
mod tests;

/// Conditions on an object's labels, all of which must hold. Equal selectors are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    requirements: Vec<LabelRequirement>,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    /// The label's key.
    pub key: String,
    /// The condition.
    pub operator: LabelOperator,
}

/// What must hold of the label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelOperator {
    /// The label has one of these values, sorted and distinct. `=` gives one value.
    In(Vec<String>),
    /// The label is absent or has none of these values, sorted and distinct.
    NotIn(Vec<String>),
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is a whole number greater than this.
    GreaterThan(i64),
    /// The label is a whole number less than this.
    LessThan(i64),
}

impl LabelSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Reads a selector as Kubernetes writes it; empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, ParseSelectorError> {
        parser::parse(text).map(Self::all_of)
    }

    /// Selects what fulfils all of these.
    pub fn all_of(mut requirements: Vec<LabelRequirement>) -> Self {
        requirements.sort();
        requirements.dedup();
        Self { requirements }
    }

    /// Whether nothing is asked.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The conditions, sorted.
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether an object whose labels are told by `label` is selected.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

impl LabelRequirement {
    /// Whether a label with this value, or its absence, fulfils the condition.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            LabelOperator::In(values) => value.is_some_and(|value| contains(values, value)),
            LabelOperator::NotIn(values) => !value.is_some_and(|value| contains(values, value)),
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
            LabelOperator::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            LabelOperator::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::write_list(formatter, &self.requirements)
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            LabelOperator::In(values) => match values.as_slice() {
                [value] => write!(formatter, "{key}={value}"),
                values => write!(formatter, "{key} in ({})", values.join(",")),
            },
            LabelOperator::NotIn(values) => match values.as_slice() {
                [value] => write!(formatter, "{key}!={value}"),
                values => write!(formatter, "{key} notin ({})", values.join(",")),
            },
            LabelOperator::Exists => formatter.write_str(key),
            LabelOperator::DoesNotExist => write!(formatter, "!{key}"),
            LabelOperator::GreaterThan(bound) => write!(formatter, "{key}>{bound}"),
            LabelOperator::LessThan(bound) => write!(formatter, "{key}<{bound}"),
        }
    }
}

fn contains(sorted: &[String], value: &str) -> bool {
    sorted
        .binary_search_by(|candidate| candidate.as_str().cmp(value))
        .is_ok()
}
