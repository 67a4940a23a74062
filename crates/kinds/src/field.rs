//! A walk through an object that collects what is wrong with it.
//!
//! A [`Field`] is a value and the way to it. The way is a chain on the stack, spelled out only for
//! a field that is wrong, so a good object costs lookups alone.

use std::cell::RefCell;

use listwatch_api::field_error::{BadValue, FIELD_ERRORS_MAX};
use listwatch_api::{FieldError, FieldErrorKind, FieldPath};
use serde_json::Value;

mod amounts;
mod labels;
mod members;
mod names;
mod numbers;
#[cfg(test)]
mod tests;

pub(crate) use amounts::{Quantity, non_negative_quantity, positive_quantity};
pub(crate) use labels::{LabelValues, Selection, check_label_selector, check_labels, selects};
pub(crate) use members::Members;
pub(crate) use names::*;
pub(crate) use numbers::*;

static ABSENT: Value = Value::Null;

/// A field of an object that is being checked. What is wrong goes to the list shared by all fields
/// of one [`check`].
#[derive(Clone, Copy)]
pub(crate) struct Field<'v, 'p> {
    value: &'v Value,
    parent: Option<&'p Field<'v, 'p>>,
    step: Step<'p>,
    /// Where many members are looked for.
    members: Option<&'p Members<'v>>,
    errors: &'p RefCell<Vec<FieldError>>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Member(&'p str),
    Element(usize),
    Key(&'p str),
}

/// What is asked of a field.
pub(crate) type Check = fn(&Field<'_, '_>);

/// What `rules` finds wrong with the object.
pub(crate) fn check<'v>(object: &'v Value, rules: impl FnOnce(&Field<'v, '_>)) -> Vec<FieldError> {
    let errors = RefCell::new(Vec::new());
    rules(&Field {
        value: object,
        parent: None,
        step: Step::Root,
        members: None,
        errors: &errors,
    });
    errors.into_inner()
}

/// What `field.value` has: the parts of the walk.
impl<'v, 'p> Field<'v, 'p> {
    /// The field's value; `null` where it is absent.
    pub(crate) fn value(&self) -> &'v Value {
        self.value
    }

    /// The member with this name, which may be absent.
    #[inline]
    pub(crate) fn child<'s>(&'s self, name: &'s str) -> Field<'v, 's> {
        self.to(self.member(name), Step::Member(name))
    }

    /// The member with this name, if it is there.
    #[inline]
    pub(crate) fn given<'s>(&'s self, name: &'s str) -> Option<Field<'v, 's>> {
        let value = self.member(name);
        (!value.is_null()).then(|| self.to(value, Step::Member(name)))
    }

    /// The members with these names, which may be absent.
    pub(crate) fn members<'s, const N: usize>(
        &'s self,
        names: [&'static str; N],
    ) -> [Field<'v, 's>; N] {
        names.map(|name| self.child(name))
    }

    /// The value of the member with this name.
    #[inline]
    fn member(&self, name: &str) -> &'v Value {
        match (self.members, self.value) {
            (Some(members), _) => members.get(name).unwrap_or(&ABSENT),
            (None, Value::Object(members)) => members.get(name).unwrap_or(&ABSENT),
            _ => &ABSENT,
        }
    }

    /// The same field, to be asked for many of its members, which are these.
    pub(crate) fn spread<'s>(&self, members: &'s Members<'v>) -> Field<'v, 's>
    where
        'p: 's,
    {
        Field {
            members: Some(members),
            ..*self
        }
    }

    /// The entry of this map under `key`, which may be absent.
    pub(crate) fn key<'s>(&'s self, key: &'s str) -> Field<'v, 's> {
        self.to(self.value.get(key).unwrap_or(&ABSENT), Step::Key(key))
    }

    /// The element at `index`, which may be absent.
    pub(crate) fn index<'s>(&'s self, index: usize) -> Field<'v, 's> {
        self.to(
            self.value.get(index).unwrap_or(&ABSENT),
            Step::Element(index),
        )
    }

    /// The elements of this list.
    pub(crate) fn elements<'s>(&'s self) -> impl Iterator<Item = Field<'v, 's>> {
        let elements = self.value.as_array().map_or(&[][..], Vec::as_slice);
        elements
            .iter()
            .enumerate()
            .map(|(index, value)| self.to(value, Step::Element(index)))
    }

    /// The entries of this map, each with its key.
    pub(crate) fn entries<'s>(&'s self) -> impl Iterator<Item = (&'v str, Field<'v, 's>)>
    where
        'v: 's,
    {
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), self.to(value, Step::Key(key))))
    }

    /// The same place with another value, such as the one it had before.
    pub(crate) fn with_value<'w>(&self, value: &'w Value) -> Field<'w, 'p>
    where
        'v: 'w,
    {
        Field {
            value,
            members: None,
            ..*self
        }
    }

    #[inline]
    fn to<'s>(&'s self, value: &'v Value, step: Step<'s>) -> Field<'v, 's> {
        Field {
            value,
            parent: Some(self),
            step,
            members: None,
            errors: self.errors,
        }
    }
}

/// What the value is.
impl<'v> Field<'v, '_> {
    /// Whether the field is there.
    pub(crate) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether the field is absent or has its type's empty value.
    pub(crate) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::Bool(flag) => !flag,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::String(text) => text.is_empty(),
            Value::Array(elements) => elements.is_empty(),
            Value::Object(members) => members.is_empty(),
        }
    }

    /// The text; an absent one is empty.
    pub(crate) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The whole number, if there is one.
    pub(crate) fn integer(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Whether the field is there and true.
    pub(crate) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    /// How many elements or entries there are.
    pub(crate) fn count(&self) -> usize {
        match self.value {
            Value::Array(elements) => elements.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        }
    }
}

/// What can be wrong with it.
impl Field<'_, '_> {
    /// Reports that the field must be given. `detail` may be empty.
    pub(crate) fn required(&self, detail: &str) {
        self.report(|path| FieldError::required(path, detail));
    }

    /// Reports that the field must not be given here.
    pub(crate) fn forbidden(&self, detail: &str) {
        self.report(|path| FieldError::forbidden(path, detail));
    }

    /// Reports that the value breaks the rule that `detail` states.
    pub(crate) fn invalid(&self, detail: &str) {
        self.report(|path| FieldError::invalid(path, self.value, detail));
    }

    /// The same, showing another value than the field's own.
    pub(crate) fn invalid_value(&self, value: impl Into<BadValue>, detail: &str) {
        self.report(|path| FieldError::invalid(path, value, detail));
    }

    /// The same, showing no value at all.
    pub(crate) fn wrong(&self, detail: &str) {
        self.report(|path| FieldError {
            field: path.to_string(),
            kind: FieldErrorKind::Invalid,
            body: format!("Invalid value: {detail}"),
        });
    }

    /// Reports that the value is none of `supported`.
    pub(crate) fn not_supported(&self, supported: &[&str]) {
        self.report(|path| FieldError::not_supported(path, self.value, supported));
    }

    /// Reports that the value is there twice.
    pub(crate) fn duplicate(&self) {
        self.report(|path| FieldError::duplicate(path, self.value));
    }

    /// Reports that the value names something that is not there.
    pub(crate) fn not_found(&self) {
        self.report(|path| FieldError::not_found(path, self.value));
    }

    /// Reports an error that needs the field's path. Beyond the bound, nothing is kept.
    pub(crate) fn report(&self, error: impl FnOnce(&FieldPath) -> FieldError) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() <= FIELD_ERRORS_MAX {
            errors.push(error(&self.path()));
        }
    }

    /// How many errors there are so far, to learn whether a step found any.
    pub(crate) fn error_count(&self) -> usize {
        self.errors.borrow().len()
    }

    /// Whether `rules` finds nothing wrong here.
    pub(crate) fn passes(&self, rules: impl FnOnce(&Self)) -> bool {
        let before = self.error_count();
        rules(self);
        self.error_count() == before
    }

    /// The way to this field.
    pub(crate) fn path(&self) -> FieldPath {
        let mut text = String::new();
        self.spell(&mut text);
        match text.as_str() {
            "" => FieldPath::root(),
            text => FieldPath::new(text),
        }
    }

    fn spell(&self, text: &mut String) {
        if let Some(parent) = self.parent {
            parent.spell(text);
        }
        match self.step {
            Step::Root => {}
            Step::Member(name) if text.is_empty() => text.push_str(name),
            Step::Member(name) => text.extend([".", name]),
            Step::Element(index) => text.extend(["[", &index.to_string(), "]"]),
            Step::Key(key) => text.extend(["[", key, "]"]),
        }
    }
}
