//! Fields that are bounded in bytes or elements, or shown as Go shows its structs.

use listwatch_api::{FieldError, field_error::BadValue, go_text};
use serde_json::Value;

use crate::field::{FIELD_IS_IMMUTABLE, Field};

impl Field<'_, '_> {
    /// Reports that the value has more than `bytes_max` bytes.
    pub(crate) fn too_long(&self, bytes_max: usize) {
        self.report(|path| FieldError::too_long(path, bytes_max));
    }

    /// Refuses a text of more than `bytes_max` bytes.
    pub(crate) fn at_most_bytes(&self, bytes_max: usize) {
        if self.text().len() > bytes_max {
            self.too_long(bytes_max);
        }
    }

    /// Refuses a list of more than `count_max` elements.
    pub(crate) fn at_most_elements(&self, count_max: usize) {
        if self.count() > count_max {
            self.report(|path| FieldError::too_many(path, self.count(), count_max));
        }
    }

    /// Reports that a value that is a struct is there twice.
    pub(crate) fn duplicate_shown(&self, shown: String) {
        self.report(|path| FieldError::duplicate(path, BadValue::json(shown)));
    }

    /// Demands that the value is still what it was `before`, and does not show it otherwise.
    pub(crate) fn kept(&self, before: &Value) {
        if self.value() != before && !(self.is_empty() && self.with_value(before).is_empty()) {
            self.invalid_value(&Value::Null, FIELD_IS_IMMUTABLE);
        }
    }
}

/// The members of a value in the order of a Go struct, under the names that the struct has.
pub(crate) fn shown(value: &Value, members: &[(&str, &str)]) -> String {
    let shown = members.iter().map(|(go_name, member)| {
        let value = match &value[*member] {
            Value::Null => "\"\"".to_owned(),
            value => go_text::json(value),
        };
        format!("\"{go_name}\":{value}")
    });
    format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
}

/// Problems of a text, joined as one sentence.
pub(crate) fn joined(problems: &[String], between: &str) -> Option<String> {
    (!problems.is_empty()).then(|| problems.join(between))
}
