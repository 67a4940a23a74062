//! What a check found, and how much of what it looked at was right.

use listwatch_api::{FieldError, FieldErrorKind, FieldPath, field_error::FIELD_ERRORS_MAX};

/// What one check found.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    failures: Vec<Failure>,
    /// How many checks were made; of several alternatives the one with most is reported.
    matches: usize,
}

#[derive(Debug)]
struct Failure {
    /// Two failures that say the same are one.
    message: String,
    error: FieldError,
}

impl Outcome {
    pub(crate) fn is_valid(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn into_errors(self) -> Vec<FieldError> {
        self.failures
            .into_iter()
            .map(|failure| failure.error)
            .collect()
    }

    pub(super) fn matches(&self) -> usize {
        self.matches
    }

    pub(super) fn count(&mut self, checks: usize) {
        self.matches += checks;
    }

    /// Lets everything that was found be.
    pub(super) fn forgive(&mut self) {
        self.failures.clear();
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for failure in other.failures {
            self.add(failure);
        }
    }

    pub(super) fn fail(&mut self, message: String, error: FieldError) {
        self.add(Failure { message, error });
    }

    /// The value breaks the rule that the message states.
    pub(super) fn refuse(
        &mut self,
        field: &FieldPath,
        value: impl Into<listwatch_api::field_error::BadValue>,
        message: String,
    ) {
        let error = FieldError::invalid(field, value, &message);
        self.fail(message, error);
    }

    /// The value is of the wrong type.
    pub(super) fn refuse_type(&mut self, field: &FieldPath, found: &str, message: String) {
        let error = FieldError::type_invalid(field, found, &message);
        debug_assert_eq!(error.kind, FieldErrorKind::TypeInvalid);
        self.fail(message, error);
    }

    fn add(&mut self, failure: Failure) {
        let is_new = self
            .failures
            .iter()
            .all(|known| known.message != failure.message);
        if is_new && self.failures.len() < FIELD_ERRORS_MAX {
            self.failures.push(failure);
        }
    }
}
