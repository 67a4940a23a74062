//! What goes wrong, before an expression runs and while it does.

use thiserror::Error;

use crate::source::Issue;

/// Why an expression cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CompileError {
    /// It is not well formed, or its types do not fit; the text shows every place.
    #[error("{text}")]
    Invalid {
        /// All issues as Kubernetes shows them.
        text: String,
        /// The issues one by one.
        issues: Vec<Issue>,
    },
    /// It is well formed but a constant part of it fails.
    #[error("{0}")]
    Failing(String),
}

/// Why an expression has no value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvaluationError {
    /// Something it did is not defined.
    #[error("{0}")]
    Failed(String),
    /// It cost more than it may.
    #[error("operation cancelled: actual cost limit exceeded")]
    OutOfBudget,
}

impl EvaluationError {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    pub(crate) fn no_such_overload() -> Self {
        Self::Failed("no such overload".to_owned())
    }
}
