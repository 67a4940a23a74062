//! Fields that are numbers, percentages or ports.

use serde_json::Value;

use super::Field;

/// What is said of a number below zero.
pub(crate) const IS_NEGATIVE: &str = "must be greater than or equal to 0";
/// What is said of a number that must be above zero.
pub(crate) const IS_NOT_POSITIVE: &str = "must be greater than zero";
/// What is said of a number that is no port.
pub(crate) const IS_NO_PORT: &str = "must be between 1 and 65535, inclusive";

impl Field<'_, '_> {
    /// Refuses a number below zero; an absent one passes.
    pub(crate) fn non_negative(&self) {
        if self.integer().is_some_and(|number| number < 0) {
            self.invalid(IS_NEGATIVE);
        }
    }

    /// Refuses numbers outside `least..=most`; an absent one passes.
    pub(crate) fn within(&self, least: i64, most: i64) {
        if self
            .integer()
            .is_some_and(|number| !(least..=most).contains(&number))
        {
            self.invalid(&format!("must be between {least} and {most}, inclusive"));
        }
    }

    /// Demands the number of a port; an absent one counts as 0.
    pub(crate) fn port_number(&self) {
        let number = self.integer().unwrap_or(0);
        if !(1..=65_535).contains(&number) {
            self.invalid_value(number, IS_NO_PORT);
        }
    }

    /// Demands a port's number or name.
    pub(crate) fn port_number_or_name(&self) {
        match self.value() {
            Value::String(name) => {
                for problem in port_name_problems(name) {
                    self.invalid(problem);
                }
            }
            _ => self.port_number(),
        }
    }

    /// Demands a percentage or a number that is not negative; an absent one counts as 0.
    pub(crate) fn non_negative_number_or_percent(&self) {
        match self.value() {
            Value::String(text) if !is_percent(text) => self.invalid(IS_NO_PERCENT),
            Value::String(_) => {}
            _ => self.non_negative(),
        }
    }

    /// Refuses a percentage above 100.
    pub(crate) fn at_most_all(&self) {
        if percent(self.value()).is_some_and(|percent| percent > 100) {
            self.invalid("must not be greater than 100%");
        }
    }
}

const IS_NO_PERCENT: &str = "a valid percent string must be a numeric string followed by an \
    ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

fn is_percent(text: &str) -> bool {
    let digits = text.strip_suffix('%').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The percentage that a value such as `"25%"` states.
pub(crate) fn percent(value: &Value) -> Option<i64> {
    let text = value.as_str().filter(|text| is_percent(text))?;
    Some(text.strip_suffix('%')?.parse().unwrap_or(0))
}

/// What is wrong with the name of a port.
pub(crate) fn port_name_problems(name: &str) -> Vec<&'static str> {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase();
    let bytes = name.as_bytes();
    let mut problems = Vec::new();
    if bytes.len() > 15 {
        problems.push("must be no more than 15 characters");
    }
    let is_part = |byte: &u8| is_letter(byte) || byte.is_ascii_digit() || *byte == b'-';
    if bytes.is_empty() || !bytes.iter().all(is_part) {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !bytes.iter().any(is_letter) {
        problems.push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        problems.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        problems.push("must not begin or end with a hyphen");
    }
    problems
}
