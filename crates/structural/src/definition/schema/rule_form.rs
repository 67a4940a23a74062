//! What rules look like, before anybody compiles them.

use listwatch_api::{FieldError, FieldPath};

use super::Walk;
use crate::field_route::{self, Brackets};
use crate::node::Rule;
use crate::props::Props;
use crate::structure;

/// The reasons that a rule may give for its refusals.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

impl Walk {
    pub(super) fn rule_forms(&mut self, props: Props<'_>, path: &FieldPath) {
        let rules = props.schemas("x-kubernetes-validations").map(Rule::read);
        for (index, rule) in rules.enumerate() {
            let path = path.child("x-kubernetes-validations").index(index);
            self.rule_texts(&rule, &path);
            if let Some(reason) = rule.reason.as_deref()
                && !REASONS.contains(&reason)
            {
                let error = FieldError::not_supported(&path.child("reason"), reason, &REASONS);
                self.errors.push(error);
            }
            self.rule_route(&rule, props, &path.child("fieldPath"));
        }
    }

    fn rule_texts(&mut self, rule: &Rule, path: &FieldPath) {
        let message = rule.message.trim();
        let message_path = path.child("message");
        if rule.rule.trim().is_empty() {
            self.required(&path.child("rule"), "rule is not specified");
        } else if !rule.message.is_empty() && message.is_empty() {
            self.invalid(
                &message_path,
                &*rule.message,
                "must be non-empty if specified",
            );
        } else if has_line_breaks(message) {
            self.invalid(
                &message_path,
                &*rule.message,
                "must not contain line breaks",
            );
        } else if has_line_breaks(rule.rule.trim()) && message.is_empty() {
            let why = "message must be specified if rule contains line breaks";
            self.required(&message_path, why);
        }
        let expression = &rule.message_expression;
        if !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            self.required(&path.child("messageExpression"), why);
        }
    }

    fn rule_route(&mut self, rule: &Rule, props: Props<'_>, path: &FieldPath) {
        let text: &str = &rule.field_path;
        if text.is_empty() {
            return;
        }
        if text.trim().is_empty() {
            self.invalid(path, text, "must be non-empty if specified");
        }
        if has_line_breaks(text) {
            self.invalid(path, text, "must not contain line breaks");
        }
        let is_readable = structure::unsupported::first(props).is_none();
        if is_readable && field_route::follow(text, props, Brackets::Allowed).is_err() {
            self.invalid(path, text, "must be a valid path");
        }
    }
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
