//! What is wrong with one field of an object or of a request's options.

use std::fmt;

use serde_json::Value;

use crate::go_text;

/// How Kubernetes writes the path of the whole object.
const ROOT: &str = "<nil>";

/// The way from an object's root to one field: `spec.containers[0].name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(String);

impl FieldPath {
    /// The field of the root with this name.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The whole object, which Kubernetes writes as a missing path.
    pub fn root() -> Self {
        Self(ROOT.to_owned())
    }

    /// The field of this field with this name.
    pub fn child(&self, name: &str) -> Self {
        match self.0.as_str() {
            ROOT => Self::new(name),
            path => Self([path, ".", name].concat()),
        }
    }

    /// The element of this list at this place.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.before_bracket()))
    }

    /// The entry of this map under this key.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.before_bracket()))
    }

    fn before_bracket(&self) -> &str {
        match self.0.as_str() {
            ROOT => "",
            path => path,
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// In which way a field is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The field names something that is not there.
    NotFound,
    /// The field is missing or empty.
    Required,
    /// The value must be unique and is not.
    Duplicate,
    /// The value is malformed or out of bounds.
    Invalid,
    /// The value is none of the known ones.
    NotSupported,
    /// The value is not allowed under these circumstances.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The value is too short.
    TooShort,
    /// The list has too many elements.
    TooMany,
    /// The list has too few elements.
    TooFew,
    /// The check itself failed.
    Internal,
    /// The value is of the wrong type.
    TypeInvalid,
}

impl FieldErrorKind {
    /// The word that machines read, as in `causes[].reason`.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// The words that people read.
    const fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

/// A wrong value, as a message shows it: texts quoted, numbers plain, everything else as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue(String);

impl BadValue {
    /// A value that is JSON already.
    pub fn json(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for BadValue {
    fn from(value: &str) -> Self {
        Self(go_text::quote(value))
    }
}

impl From<&String> for BadValue {
    fn from(value: &String) -> Self {
        Self::from(value.as_str())
    }
}

impl From<i64> for BadValue {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

impl From<bool> for BadValue {
    fn from(value: bool) -> Self {
        Self(value.to_string())
    }
}

impl From<&Value> for BadValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::from(text),
            Value::Number(number) if number.is_f64() => {
                Self(go_text::float(number.as_f64().unwrap_or_default()))
            }
            other => Self(go_text::json(other)),
        }
    }
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field's path.
    pub field: String,
    /// In which way it is wrong.
    pub kind: FieldErrorKind,
    /// What is wrong, without the field.
    pub body: String,
}

impl FieldError {
    /// The field must be given. `detail` may be empty.
    pub fn required(field: &FieldPath, detail: &str) -> Self {
        Self::without_value(field, FieldErrorKind::Required, detail)
    }

    /// The field must not be given here.
    pub fn forbidden(field: &FieldPath, detail: &str) -> Self {
        Self::without_value(field, FieldErrorKind::Forbidden, detail)
    }

    /// The value breaks the rule that `detail` states.
    pub fn invalid(field: &FieldPath, value: impl Into<BadValue>, detail: &str) -> Self {
        Self::with_value(field, FieldErrorKind::Invalid, value.into(), detail)
    }

    /// The value is of the wrong type.
    pub fn type_invalid(field: &FieldPath, value: impl Into<BadValue>, detail: &str) -> Self {
        Self::with_value(field, FieldErrorKind::TypeInvalid, value.into(), detail)
    }

    /// The value is there twice.
    pub fn duplicate(field: &FieldPath, value: impl Into<BadValue>) -> Self {
        Self::with_value(field, FieldErrorKind::Duplicate, value.into(), "")
    }

    /// The value names something that is not there.
    pub fn not_found(field: &FieldPath, value: impl Into<BadValue>) -> Self {
        Self::with_value(field, FieldErrorKind::NotFound, value.into(), "")
    }

    /// The value is none of `supported`.
    pub fn not_supported(
        field: &FieldPath,
        value: impl Into<BadValue>,
        supported: &[&str],
    ) -> Self {
        let quoted: Vec<String> = supported.iter().map(|text| go_text::quote(text)).collect();
        let detail = match quoted.as_slice() {
            [] => String::new(),
            quoted => format!("supported values: {}", quoted.join(", ")),
        };
        Self::with_value(field, FieldErrorKind::NotSupported, value.into(), &detail)
    }

    /// The value has more than `bytes_max` bytes.
    pub fn too_long(field: &FieldPath, bytes_max: usize) -> Self {
        let unit = if bytes_max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {bytes_max} {unit}");
        Self::without_value(field, FieldErrorKind::TooLong, &detail)
    }

    /// The list has `count` elements, more than `count_max`.
    pub fn too_many(field: &FieldPath, count: usize, count_max: usize) -> Self {
        let unit = if count_max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {count_max} {unit}");
        let value = BadValue(count.to_string());
        Self::with_value(field, FieldErrorKind::TooMany, value, &detail)
    }

    /// The list has fewer than `count_min` elements.
    pub fn too_few(field: &FieldPath, count: usize, count_min: usize) -> Self {
        let unit = if count_min == 1 { "item" } else { "items" };
        let detail = format!("must have at least {count_min} {unit}");
        let value = BadValue(count.to_string());
        Self::with_value(field, FieldErrorKind::TooFew, value, &detail)
    }

    fn with_value(field: &FieldPath, kind: FieldErrorKind, value: BadValue, detail: &str) -> Self {
        let words = format!("{}: {}", kind.words(), value.0);
        Self::worded(field, kind, words, detail)
    }

    fn without_value(field: &FieldPath, kind: FieldErrorKind, detail: &str) -> Self {
        Self::worded(field, kind, kind.words().to_owned(), detail)
    }

    fn worded(field: &FieldPath, kind: FieldErrorKind, words: String, detail: &str) -> Self {
        let body = match detail {
            "" => words,
            detail => format!("{words}: {detail}"),
        };
        Self {
            field: field.to_string(),
            kind,
            body,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.body)
    }
}

/// Errors that one answer reports: more than anybody reads. Checks stop there, and the others are
/// left out.
pub const FIELD_ERRORS_MAX: usize = 1_000;

/// All errors as one text: a single one plain, several as `[a, b]`, each distinct text once.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors.iter().take(FIELD_ERRORS_MAX) {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [text] => text.clone(),
        texts => format!("[{}]", texts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_fields_elements_and_keys() {
        let path = FieldPath::new("spec")
            .child("containers")
            .index(2)
            .child("limits")
            .key("cpu");
        assert_eq!(path.to_string(), "spec.containers[2].limits[cpu]");
    }

    #[test]
    fn what_is_below_the_whole_object_is_named_without_it() {
        let root = FieldPath::root();
        assert_eq!(root.to_string(), "<nil>");
        assert_eq!(root.child("spec").to_string(), "spec");
        assert_eq!(root.index(1).to_string(), "[1]");
        assert_eq!(root.key("a").to_string(), "[a]");
    }

    #[test]
    fn a_value_is_shown_as_go_shows_it() {
        let path = FieldPath::new("a");
        let shown = |value: &Value| FieldError::invalid(&path, value, "bad").body;
        assert_eq!(shown(&Value::from("x\"")), r#"Invalid value: "x\"": bad"#);
        assert_eq!(shown(&Value::from(7)), "Invalid value: 7: bad");
        assert_eq!(
            shown(&serde_json::json!({"a": 1})),
            r#"Invalid value: {"a":1}: bad"#
        );
        assert_eq!(shown(&Value::Null), "Invalid value: null: bad");
    }

    #[test]
    fn an_empty_detail_leaves_no_trace() {
        let error = FieldError::required(&FieldPath::new("spec").child("ports"), "");
        assert_eq!(error.to_string(), "spec.ports: Required value");
    }

    #[test]
    fn limits_count_in_the_right_number() {
        let path = FieldPath::new("a");
        let long = FieldError::too_long(&path, 1_048_576);
        assert_eq!(long.body, "Too long: may not be more than 1048576 bytes");
        let many = FieldError::too_many(&path, 3, 1);
        assert_eq!(many.body, "Too many: 3: must have at most 1 item");
    }

    #[test]
    fn several_errors_stand_in_brackets_and_none_twice() {
        let first = FieldError::required(&FieldPath::new("a"), "");
        let second = FieldError::duplicate(&FieldPath::new("b"), "c");
        assert_eq!(aggregate(std::slice::from_ref(&first)), "a: Required value");
        let text = aggregate(&[first.clone(), second, first]);
        assert_eq!(text, r#"[a: Required value, b: Duplicate value: "c"]"#);
    }
}
