//! Reading an untyped object the way Kubernetes reads a typed one: what is absent or of the wrong
//! type counts as empty.

use std::collections::BTreeMap;

use jiff::Timestamp;
use listwatch_api::timestamp::parse_seconds;
use serde_json::Value;

/// A place in an object, whether or not something is there.
#[derive(Clone, Copy)]
pub(super) struct Field<'a>(Option<&'a Value>);

impl<'a> Field<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Self(Some(value))
    }

    /// Descends a dotted path such as `spec.template.spec`.
    pub(super) fn get(self, path: &str) -> Self {
        path.split('.').fold(self, Self::member)
    }

    /// One member, whose name may hold dots.
    pub(super) fn member(self, name: &str) -> Self {
        Self(self.0.and_then(|value| value.get(name)))
    }

    pub(super) fn first(self) -> Self {
        Self(self.0.and_then(|value| value.get(0)))
    }

    pub(super) fn nth(self, index: usize) -> Self {
        Self(self.0.and_then(|value| value.get(index)))
    }

    pub(super) fn value(self) -> Option<&'a Value> {
        self.0.filter(|value| !value.is_null())
    }

    pub(super) fn is_set(self) -> bool {
        self.value().is_some()
    }

    pub(super) fn text(self) -> &'a str {
        self.0.and_then(Value::as_str).unwrap_or_default()
    }

    /// The text, or `absent` where it is empty.
    pub(super) fn text_or(self, absent: &'a str) -> &'a str {
        match self.text() {
            "" => absent,
            text => text,
        }
    }

    pub(super) fn is(self, text: &str) -> bool {
        self.0.and_then(Value::as_str) == Some(text)
    }

    pub(super) fn integer(self) -> i64 {
        self.0.and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn boolean(self) -> Option<bool> {
        self.0.and_then(Value::as_bool)
    }

    pub(super) fn is_true(self) -> bool {
        self.boolean().unwrap_or_default()
    }

    /// Text as it is, a number as its digits, nothing as an empty text.
    pub(super) fn display(self) -> String {
        match self.0 {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        }
    }

    /// A quantity; absent ones are zero.
    pub(super) fn quantity(self) -> String {
        match self.display() {
            text if text.is_empty() => "0".to_owned(),
            text => text,
        }
    }

    pub(super) fn timestamp(self) -> Option<Timestamp> {
        parse_seconds(self.0.and_then(Value::as_str)?).ok()
    }

    pub(super) fn items(self) -> impl DoubleEndedIterator<Item = Field<'a>> + ExactSizeIterator {
        let items = self
            .0
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        items.iter().map(Field::of)
    }

    /// The members by name.
    pub(super) fn members(self) -> BTreeMap<&'a str, Field<'a>> {
        let members = self.0.and_then(Value::as_object).into_iter().flatten();
        members
            .map(|(name, value)| (name.as_str(), Field::of(value)))
            .collect()
    }

    /// How many items or members there are.
    pub(super) fn count(self) -> usize {
        match self.0 {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(members)) => members.len(),
            _ => 0,
        }
    }

    /// The condition of a type in a list of conditions.
    pub(super) fn condition(self, kind: &str) -> Field<'a> {
        self.items()
            .find(|condition| condition.member("type").is(kind))
            .unwrap_or(Field(None))
    }

    /// Whether the condition of a type is there and true.
    pub(super) fn has_condition(self, kind: &str) -> bool {
        self.condition(kind).member("status").is("True")
    }

    pub(super) fn name(self) -> &'a str {
        self.get("metadata.name").text()
    }

    pub(super) fn is_being_deleted(self) -> bool {
        self.get("metadata.deletionTimestamp").is_set()
    }

    pub(super) fn annotation(self, name: &str) -> Field<'a> {
        self.get("metadata.annotations").member(name)
    }
}
