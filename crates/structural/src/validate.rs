//! What is wrong with a value, in the order and the words of Kubernetes.

use listwatch_api::FieldPath;
use serde_json::Value;

use crate::correlation::Correlated;
use crate::node::Node;
use crate::value_path::ValuePath;

mod combined;
mod number;
mod object;
mod outcome;
mod scalar;

pub(crate) use outcome::Outcome;

/// Where the messages of one walk begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validator<'a> {
    /// The field that holds the value; none when the value is the whole object.
    pub(crate) start: Option<&'a FieldPath>,
}

/// A value, its place and its past.
#[derive(Clone, Copy, Debug)]
struct Subject<'a> {
    value: &'a Value,
    path: &'a ValuePath<'a>,
    /// What it was, where that can be told.
    past: Option<Correlated<'a>>,
}

impl Validator<'_> {
    /// What is wrong with a value that nothing is known about.
    pub(crate) fn new_value(self, node: &Node, value: &Value) -> Outcome {
        let subject = Subject {
            value,
            path: &ValuePath::Start,
            past: None,
        };
        self.value(node, subject)
    }

    /// What is wrong with a changed value; what was wrong already and has not changed is let be.
    pub(crate) fn changed_value(self, node: &Node, change: Correlated<'_>) -> Outcome {
        let subject = Subject {
            value: change.next,
            path: &ValuePath::Start,
            past: Some(change),
        };
        self.ratcheted(node, subject)
    }

    fn ratcheted(self, node: &Node, subject: Subject<'_>) -> Outcome {
        let mut outcome = self.value(node, subject);
        if !outcome.is_valid() && subject.past.is_some_and(Correlated::is_unchanged) {
            outcome.forgive();
        }
        outcome
    }

    fn value(self, node: &Node, subject: Subject<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        self.check_type(node, subject, &mut outcome);
        let checks = node.checks();
        if subject.value.is_null() {
            self.check_allowed(checks, subject, &mut outcome);
            return outcome;
        }
        self.check_combined(checks, subject, &mut outcome);
        match subject.value {
            Value::String(text) => {
                self.check_text(checks, text, subject, &mut outcome);
                self.check_format(node, text, subject, &mut outcome);
            }
            Value::Number(_) => self.check_number(node, subject, &mut outcome),
            Value::Array(list) => self.check_list(node, list, subject, &mut outcome),
            _ => {}
        }
        self.check_allowed(checks, subject, &mut outcome);
        if let Value::Object(members) = subject.value {
            self.check_members(node, members, subject, &mut outcome);
        }
        outcome.count(1);
        outcome
    }
}
