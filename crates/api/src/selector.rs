//! Which objects a request is about.

use std::fmt;

mod field;
mod label;

pub use field::{FieldOperator, FieldRequirement, FieldSelector};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};

/// Why a text is no selector, in Kubernetes' words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseSelectorError(Box<str>);

impl ParseSelectorError {
    fn new(text: String) -> Self {
        Self(text.into_boxed_str())
    }
}

fn write_list(formatter: &mut fmt::Formatter<'_>, parts: &[impl fmt::Display]) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        write!(formatter, "{separator}{part}")?;
    }
    Ok(())
}
