//! Filling trees whose members are there or not.

use serde_json::{Value, json};

/// Gives a member its value where it is missing, null or an empty text.
pub(crate) fn fill(parent: &mut Value, field: &str, value: impl Into<Value>) {
    match parent.get_mut(field) {
        Some(member) if !is_empty(member) => {}
        Some(member) => *member = value.into(),
        None => parent[field] = value.into(),
    }
}

/// Removes a member.
pub(crate) fn clear(parent: &mut Value, field: &str) {
    if let Some(members) = parent.as_object_mut() {
        members.remove(field);
    }
}

/// The elements of a list, to be changed.
pub(crate) fn each<'a>(
    parent: &'a mut Value,
    field: &str,
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    let list = parent.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// A member that is there, to be changed.
pub(crate) fn part<'a>(parent: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    parent.get_mut(field).filter(|value| !value.is_null())
}

/// The elements of a list; none where it is missing.
pub(crate) fn list<'a>(parent: &'a Value, field: &str) -> &'a [Value] {
    parent[field].as_array().map_or(&[], Vec::as_slice)
}

/// A text; empty where it is missing.
pub(crate) fn text<'a>(parent: &'a Value, field: &str) -> &'a str {
    parent[field].as_str().unwrap_or_default()
}

/// Puts a name at the end of a list of names unless it is there.
pub(crate) fn add_name(parent: &mut Value, field: &str, name: &str) {
    match parent[field].as_array_mut() {
        Some(names) if names.iter().any(|known| known == name) => {}
        Some(names) => names.push(name.into()),
        None => parent[field] = json!([name]),
    }
}

/// Whether a value is null or an empty text.
pub(crate) fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(str::is_empty)
}
