//! Types, texts, formats and enumerations.

use listwatch_api::{FieldError, go_text};
use serde_json::Value;

use super::number::Numeric;
use super::{Outcome, Subject, Validator};
use crate::checks::Checks;
use crate::node::{Node, Types};

/// The type of a value in the words of schemas, and the format that its number has.
fn type_of(value: &Value) -> (Types, &'static str, &'static str) {
    match value {
        Value::Null => (Types::default(), "null", ""),
        Value::Bool(_) => (Types::BOOLEAN, "boolean", ""),
        Value::String(_) => (Types::STRING, "string", ""),
        Value::Array(_) => (Types::ARRAY, "array", ""),
        Value::Object(_) => (Types::OBJECT, "object", ""),
        Value::Number(number) => match Numeric::of(number) {
            Numeric::Whole(_) => (Types::INTEGER, "integer", "int64"),
            Numeric::Real(_) => (Types::NUMBER, "number", "float64"),
        },
    }
}

impl Validator<'_> {
    pub(super) fn check_type(self, node: &Node, subject: Subject<'_>, outcome: &mut Outcome) {
        let checks = node.checks.as_deref();
        let format = checks.and_then(|checks| checks.format.as_ref());
        if node.types.is_empty() && format.is_none() {
            return;
        }
        let (own, name, number_format) = type_of(subject.value);
        if subject.value.is_null() {
            if !node.types.is_empty() && !node.is_nullable() {
                self.wrong_type(&node.types.names(), name, subject, outcome);
            } else {
                outcome.count(1);
            }
            return;
        }
        outcome.count(1);
        let is_whole = Numeric::is_whole_value(subject.value);
        let fits = node.types.contains(own)
            || (is_whole && node.types.contains(Types::INTEGER))
            || (own == Types::INTEGER && node.types.contains(Types::NUMBER));
        let is_text_or_list = matches!(subject.value, Value::String(_) | Value::Array(_));
        match format {
            Some(format) if !is_text_or_list && !fits => {
                self.wrong_type(format.name(), number_format, subject, outcome);
            }
            Some(_) if is_text_or_list && !is_numeric(node.types) => outcome.count(1),
            _ if !fits => self.wrong_type(&node.types.names(), name, subject, outcome),
            _ => outcome.count(1),
        }
    }

    fn wrong_type(self, wanted: &str, found: &str, subject: Subject<'_>, outcome: &mut Outcome) {
        let name = subject.path.name();
        let message = format!(
            "{name} in body must be of type {wanted}: {}",
            go_text::quote(found)
        );
        outcome.refuse_type(&self.named_field(subject), found, message);
    }

    pub(super) fn check_text(
        self,
        checks: &Checks,
        text: &str,
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        outcome.count(1);
        let name = || subject.path.name();
        let checks = checks.texts();
        let needs_length = checks.length.max.is_some() || checks.length.min.is_some();
        let length = if needs_length {
            i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
        } else {
            0
        };
        if let Some(max) = checks.length.too_many(length) {
            let message = format!("{} in body should be at most {max} chars long", name());
            let bytes = usize::try_from(max).unwrap_or_default();
            let error = FieldError::too_long(&self.named_field(subject), bytes);
            outcome.fail(message, error);
        } else if let Some(min) = checks.length.too_few(length) {
            let message = format!("{} in body should be at least {min} chars long", name());
            outcome.refuse(&self.named_field(subject), text, message);
        } else if let Some(pattern) = &checks.pattern {
            let message = match pattern.is_match(text) {
                Ok(true) => return,
                Ok(false) => format!("{} in body should match '{}'", name(), pattern.text),
                Err(problem) => format!(
                    "{} in body should match '{}, but pattern is invalid: {problem}'",
                    name(),
                    pattern.text
                ),
            };
            outcome.refuse(&self.named_field(subject), text, message);
        }
    }

    pub(super) fn check_format(
        self,
        node: &Node,
        text: &str,
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        let checks = node.checks();
        let Some(format) = checks.format.as_ref().filter(|_| !is_numeric(node.types)) else {
            return;
        };
        outcome.count(1);
        if !format.accepts(text) {
            self.wrong_type(format.name(), text, subject, outcome);
        }
    }

    pub(super) fn check_allowed(
        self,
        checks: &Checks,
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        if !subject.value.is_null() {
            outcome.count(1);
        }
        let allowed = &checks.allowed;
        if allowed.is_empty() || allowed.iter().any(|one| is_same(subject.value, one)) {
            return;
        }
        let texts: Vec<String> = allowed.iter().map(plain_text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let shown: Vec<String> = allowed.iter().map(go_text::display).collect();
        let message = format!(
            "{} in body should be one of [{}]",
            subject.path.name(),
            shown.join(" ")
        );
        let field = self.named_field(subject);
        outcome.fail(
            message,
            FieldError::not_supported(&field, subject.value, &texts),
        );
    }
}

fn is_numeric(types: Types) -> bool {
    types.contains(Types::INTEGER) || types.contains(Types::NUMBER)
}

/// Numbers are the same when one converts to the other, as Go converts them.
fn is_same(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => {
            match (Numeric::of(value), Numeric::of(allowed)) {
                (value, Numeric::Real(allowed)) => value.as_real().to_bits() == allowed.to_bits(),
                (value, Numeric::Whole(allowed)) => value.truncated() == allowed,
            }
        }
        _ => value == allowed,
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => go_text::json(other),
    }
}
