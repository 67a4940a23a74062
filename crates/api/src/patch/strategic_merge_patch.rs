//! Strategic merge patches: partial objects whose lists are merged by key.
//!
//! The schema says which lists are merged and by which key; directives in the patch (`$patch`,
//! `$setElementOrder/…`, `$retainKeys`, `$deleteFromPrimitiveList/…`) say the rest. Fields that
//! the schema does not know are merged as if they had no strategy.

use serde_json::{Map, Value};

use super::without_nulls;
use crate::go_text;
use crate::json;
use crate::schema::{PatchStrategy, Schema, Shape, TypeId};
use crate::status::Status;

mod list;
#[cfg(test)]
mod tests;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

type Fields = Map<String, Value>;

/// What `patch` makes of `object`.
pub(super) fn apply(
    object: Value,
    patch: &Value,
    schema: &Schema,
    object_type: TypeId,
) -> Result<Value, Status> {
    let shape = Shape::Object {
        type_id: object_type,
        atomic: false,
    };
    let (Value::Object(current), Value::Object(changes)) = (object, patch.clone()) else {
        return Err(Status::bad_request("invalid JSON document"));
    };
    let merger = Merger { schema };
    merger
        .merge_fields(current, changes, Some(&shape))
        .map(Value::Object)
        .map_err(Status::from)
}

/// Why a patch cannot be applied.
#[derive(Debug, PartialEq, Eq)]
enum MergeError {
    /// The patch is malformed. Kubernetes answers some of these with 500, though the fault is the
    /// client's; we answer 400 with the same text.
    Malformed(String),
    /// The patch does not fit the object.
    Unfit,
}

impl From<MergeError> for Status {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Malformed(text) => Self::bad_request(text),
            MergeError::Unfit => Self::unprocessable(),
        }
    }
}

fn malformed<T>(text: impl Into<String>) -> Result<T, MergeError> {
    Err(MergeError::Malformed(text.into()))
}

#[derive(Clone, Copy)]
struct Merger<'a> {
    schema: &'a Schema,
}

/// What the schema says about one field.
#[derive(Clone, Copy, Default)]
struct FieldPlan<'a> {
    shape: Option<&'a Shape>,
    strategy: Option<&'a PatchStrategy>,
}

impl<'a> FieldPlan<'a> {
    fn replaces(self) -> bool {
        self.strategy == Some(&PatchStrategy::Replace)
    }

    fn merges_list(self) -> bool {
        matches!(self.strategy, Some(PatchStrategy::Merge { .. }))
    }

    fn merge_key(self) -> Option<&'a str> {
        match self.strategy {
            Some(PatchStrategy::Merge { key, .. }) => key.as_deref(),
            _ => None,
        }
    }

    fn element_shape(self) -> Option<&'a Shape> {
        match self.shape {
            Some(Shape::List { element, .. }) => Some(element),
            _ => None,
        }
    }
}

impl<'a> Merger<'a> {
    fn plan(self, shape: Option<&'a Shape>, field: &str) -> FieldPlan<'a> {
        match shape {
            Some(Shape::Object { type_id, .. }) => {
                let field = self.schema.object_type(*type_id).field(field);
                FieldPlan {
                    shape: field.map(|field| &field.shape),
                    strategy: field.map(|field| &field.patch),
                }
            }
            Some(Shape::Map { value, .. }) => FieldPlan {
                shape: Some(value),
                strategy: None,
            },
            _ => FieldPlan::default(),
        }
    }

    fn merge_fields(
        self,
        mut current: Fields,
        mut changes: Fields,
        shape: Option<&'a Shape>,
    ) -> Result<Fields, MergeError> {
        if let Some(directive) = changes.remove(PATCH) {
            return apply_directive(&directive, changes);
        }
        retain_keys(&mut current, &mut changes)?;
        self.merge_ordered_lists(&mut current, &mut changes, shape)?;
        for (name, change) in changes {
            self.merge_field(&mut current, name, change, shape)?;
        }
        Ok(current)
    }

    fn merge_field(
        self,
        current: &mut Fields,
        name: String,
        change: Value,
        shape: Option<&'a Shape>,
    ) -> Result<(), MergeError> {
        if let Some(list_name) = directive_field(&name, DELETE_FROM_PRIMITIVE_LIST)? {
            return delete_from_list(current, list_name, &change);
        }
        if change.is_null() {
            current.remove(&name);
            return Ok(());
        }
        let plan = self.plan(shape, &name);
        let existing = current.get_mut(&name).map(Value::take);
        let merged = match (existing, change) {
            (Some(Value::Object(_)), change @ Value::Object(_)) if plan.replaces() => Some(change),
            (Some(Value::Object(existing)), Value::Object(change)) => Some(Value::Object(
                self.merge_fields(existing, change, plan.shape)?,
            )),
            (Some(Value::Array(existing)), Value::Array(change)) if plan.merges_list() => {
                Some(Value::Array(self.merge_list(existing, change, plan)?))
            }
            (_, change) => without_directives(without_nulls(change)),
        };
        match merged {
            Some(merged) => current.insert(name, merged),
            None => current.remove(&name),
        };
        Ok(())
    }

    /// Merges the lists whose order the patch states, and takes them out of the patch.
    fn merge_ordered_lists(
        self,
        current: &mut Fields,
        changes: &mut Fields,
        shape: Option<&'a Shape>,
    ) -> Result<(), MergeError> {
        let prefixed = changes
            .keys()
            .filter(|name| name.starts_with(SET_ELEMENT_ORDER));
        let directives: Vec<String> = prefixed.cloned().collect();
        for directive in directives {
            let order = changes.remove(&directive).unwrap_or_default();
            let Value::Array(order) = order else {
                return malformed(bad_type("[]interface {}", &order));
            };
            let Some(name) = directive_field(&directive, SET_ELEMENT_ORDER)? else {
                continue;
            };
            let plan = self.plan(shape, name);
            let existing = take_list(current, name)?;
            let change = take_list(changes, name)?;
            list::check_order(
                change.as_deref().unwrap_or_default(),
                &order,
                plan.merge_key(),
            )?;
            let server_order = existing.clone().unwrap_or_default();
            let merged = match (existing, change) {
                (None, None) => continue,
                (Some(existing), None) => existing,
                (None, Some(change)) => cleaned_elements(change),
                (Some(existing), Some(change)) if plan.merges_list() => {
                    self.merge_list(existing, change, plan)?
                }
                (Some(_), Some(change)) => cleaned_elements(change),
            };
            let ordered = list::in_order(merged, &order, &server_order, plan.merge_key())?;
            current.insert(name.to_owned(), Value::Array(ordered));
        }
        Ok(())
    }
}

/// What `$patch` makes of the object it stands in.
fn apply_directive(directive: &Value, changes: Fields) -> Result<Fields, MergeError> {
    match directive.as_str() {
        Some("replace") => Ok(changes),
        Some("delete") => Ok(Fields::new()),
        _ => malformed(format!(
            "unknown patch type: {} in map: {}",
            go_text::display(directive),
            go_text::display(&Value::Object(changes))
        )),
    }
}

/// Clears what `$retainKeys` does not name.
fn retain_keys(current: &mut Fields, changes: &mut Fields) -> Result<(), MergeError> {
    let Some(directive) = changes.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let bad_format = || MergeError::Malformed("invalid patch format of retainKeys".to_owned());
    let names = directive.as_array().ok_or_else(bad_format)?;
    let retained: std::collections::HashSet<&str> =
        names.iter().filter_map(Value::as_str).collect();
    let is_stray = |(name, change): (&String, &Value)| {
        !(change.is_null()
            || name.starts_with(DELETE_FROM_PRIMITIVE_LIST)
            || name.starts_with(SET_ELEMENT_ORDER)
            || retained.contains(name.as_str()))
    };
    if changes.iter().any(is_stray) {
        return Err(bad_format());
    }
    current.retain(|name, _| retained.contains(name.as_str()));
    Ok(())
}

/// The field that a directive such as `$setElementOrder/containers` is about.
fn directive_field<'a>(name: &'a str, directive: &str) -> Result<Option<&'a str>, MergeError> {
    let Some(rest) = name.strip_prefix(directive) else {
        return Ok(None);
    };
    match rest.strip_prefix('/') {
        Some(field) => Ok(Some(field)),
        None if directive == SET_ELEMENT_ORDER => {
            malformed("invalid patch format of setElementOrder list")
        }
        None => malformed("invalid patch format of primitive list"),
    }
}

fn delete_from_list(current: &mut Fields, name: &str, deleted: &Value) -> Result<(), MergeError> {
    let (Some(Value::Array(elements)), Value::Array(deleted)) = (current.get_mut(name), deleted)
    else {
        return Ok(());
    };
    list::check_types(elements, deleted)?;
    let deleted = list::texts(deleted);
    elements.retain(|element| !deleted.contains(&element.to_string()));
    Ok(())
}

fn take_list(fields: &mut Fields, name: &str) -> Result<Option<Vec<Value>>, MergeError> {
    match fields.remove(name) {
        None => Ok(None),
        Some(Value::Array(elements)) => Ok(Some(elements)),
        Some(other) => malformed(bad_type("[]interface {}", &other)),
    }
}

fn bad_type(expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "%!s(<nil>)",
        found => go_text::type_name(found),
    };
    format!("expected a {expected}, but received a {found}")
}

/// The value without directives; nothing when it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(name, _)| !is_directive(name));
            let kept = fields.filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(elements) => Some(Value::Array(cleaned_elements(elements))),
        other => Some(other),
    }
}

fn cleaned_elements(elements: Vec<Value>) -> Vec<Value> {
    elements
        .into_iter()
        .filter_map(without_directives)
        .collect()
}

fn is_directive(name: &str) -> bool {
    name == RETAIN_KEYS
        || name.starts_with("$setElementOrder/")
        || name.starts_with("$deleteFromPrimitiveList/")
}

fn no_merge_key(element: &Value, key: &str) -> MergeError {
    let element = go_text::display(element);
    MergeError::Malformed(format!(
        "map: {element} does not contain declared merge key: {key}"
    ))
}

fn type_word(value: &Value) -> &'static str {
    json::type_word(value)
}
