//! Merging and ordering the lists of a strategic merge patch. All of it takes linear time.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    FieldPlan, Fields, MergeError, Merger, PATCH, cleaned_elements, malformed, no_merge_key,
    type_word, without_directives,
};
use crate::go_text;
use crate::patch::without_nulls;

impl<'a> Merger<'a> {
    /// Merges two lists of a field with the merge strategy.
    pub(super) fn merge_list(
        self,
        current: Vec<Value>,
        changes: Vec<Value>,
        plan: FieldPlan<'a>,
    ) -> Result<Vec<Value>, MergeError> {
        check_types(&current, &changes)?;
        let are_objects = current.iter().chain(&changes).any(Value::is_object);
        match plan.merge_key() {
            _ if !are_objects => merge_plain_values(current, changes),
            Some(key) => self.merge_objects(current, changes, key, plan),
            None => malformed("cannot merge lists without merge key"),
        }
    }

    fn merge_objects(
        self,
        current: Vec<Value>,
        changes: Vec<Value>,
        key: &str,
        plan: FieldPlan<'a>,
    ) -> Result<Vec<Value>, MergeError> {
        let directives = ListDirectives::extract(changes, key)?;
        if directives.replaces {
            return Ok(cleaned_elements(directives.changes));
        }
        let is_kept = |element: &Value| {
            element
                .get(key)
                .is_none_or(|value| !directives.deleted.contains(&value.to_string()))
        };
        let mut merged: Vec<Value> = current.into_iter().filter(is_kept).collect();
        let server_order = merged.clone();
        let mut places = places_by_key(&merged, key);
        for change in &directives.changes {
            let value = change
                .get(key)
                .ok_or_else(|| no_merge_key(change, key))?
                .to_string();
            let Value::Object(change) = change.clone() else {
                continue;
            };
            match places.get(&value) {
                Some(&place) => {
                    let fields = into_fields(merged[place].take());
                    let fields = self.merge_fields(fields, change, plan.element_shape())?;
                    merged[place] = Value::Object(fields);
                }
                None => {
                    places.insert(value, merged.len());
                    merged.extend(without_directives(without_nulls(Value::Object(change))));
                }
            }
        }
        in_order(merged, &directives.changes, &server_order, Some(key))
    }
}

/// A patch's list, with its special elements taken out.
struct ListDirectives {
    changes: Vec<Value>,
    deleted: HashSet<String>,
    replaces: bool,
}

impl ListDirectives {
    fn extract(changes: Vec<Value>, key: &str) -> Result<Self, MergeError> {
        let mut directives = Self {
            changes: Vec::new(),
            deleted: HashSet::new(),
            replaces: false,
        };
        for change in changes {
            let Some(directive) = change.get(PATCH) else {
                directives.changes.push(change);
                continue;
            };
            match directive.as_str() {
                Some("delete") => {
                    let value = change.get(key).ok_or_else(|| no_merge_key(&change, key))?;
                    directives.deleted.insert(value.to_string());
                }
                Some("replace") => directives.replaces = true,
                Some("merge") => {
                    return malformed("merging lists cannot yet be specified in the patch");
                }
                _ => {
                    return malformed(format!(
                        "unknown patch type: {} in map: {}",
                        go_text::display(directive),
                        go_text::display(&change)
                    ));
                }
            }
        }
        Ok(directives)
    }
}

/// Refuses lists of lists, and elements of different types.
pub(super) fn check_types(first: &[Value], second: &[Value]) -> Result<(), MergeError> {
    let mut elements = first.iter().chain(second);
    let Some(sample) = elements.next() else {
        return Ok(());
    };
    if sample.is_array() {
        return Err(MergeError::Unfit);
    }
    match elements.find(|element| type_word(element) != type_word(sample)) {
        Some(other) if other.is_array() => Err(MergeError::Unfit),
        Some(_) => malformed("list element types are not identical"),
        None => Ok(()),
    }
}

/// Refuses a patch whose elements are not all in the stated order.
pub(super) fn check_order(
    changes: &[Value],
    order: &[Value],
    key: Option<&str>,
) -> Result<(), MergeError> {
    if changes.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter();
    for change in changes.iter().filter(|change| change.get(PATCH).is_none()) {
        let identity = identity(change, key)?;
        let mut found = false;
        for candidate in wanted.by_ref() {
            if self::identity(candidate, key)? == identity {
                found = true;
                break;
            }
        }
        if !found {
            return malformed(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                go_text::display(&Value::from(changes)),
                go_text::display(&Value::from(order))
            ));
        }
    }
    Ok(())
}

/// The elements in the order of the patch, with those that only the server knows kept in front of
/// the elements that they were in front of.
///
/// ```text
/// server: a b c d     patch: d b     result: a c d b
/// ```
pub(super) fn in_order(
    elements: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, MergeError> {
    let patch_places = places(patch_order, key)?;
    let server_places = places(server_order, key)?;
    let mut patched = Vec::new();
    let mut server_only = Vec::new();
    for element in elements {
        let identity = identity(&element, key)?;
        let server_place = server_places.get(&identity).copied();
        match patch_places.get(&identity) {
            Some(&place) => patched.push((place, server_place, element)),
            None => server_only.push((server_place, element)),
        }
    }
    patched.sort_by_key(|(place, ..)| *place);
    server_only.sort_by_key(|(place, _)| *place);
    let mut ordered = Vec::with_capacity(patched.len() + server_only.len());
    let mut server_only = server_only.into_iter().peekable();
    for (_, place, element) in patched {
        let is_before = |(other, _): &(Option<usize>, Value)| match (other, place) {
            (Some(other), Some(place)) => *other < place,
            _ => false,
        };
        while let Some((_, element)) = server_only.next_if(is_before) {
            ordered.push(element);
        }
        ordered.push(element);
    }
    ordered.extend(server_only.map(|(_, element)| element));
    Ok(ordered)
}

/// The JSON texts of plain values, for looking them up.
pub(super) fn texts(values: &[Value]) -> HashSet<String> {
    values.iter().map(Value::to_string).collect()
}

fn merge_plain_values(current: Vec<Value>, changes: Vec<Value>) -> Result<Vec<Value>, MergeError> {
    let mut seen = HashSet::new();
    let both = current.iter().chain(&changes);
    let merged = both
        .filter(|value| seen.insert(value.to_string()))
        .cloned()
        .collect();
    in_order(merged, &changes, &current, None)
}

fn places_by_key(elements: &[Value], key: &str) -> HashMap<String, usize> {
    let mut places = HashMap::new();
    for (place, element) in elements.iter().enumerate() {
        if let Some(value) = element.get(key) {
            places.entry(value.to_string()).or_insert(place);
        }
    }
    places
}

fn places(elements: &[Value], key: Option<&str>) -> Result<HashMap<String, usize>, MergeError> {
    let mut places = HashMap::new();
    for (place, element) in elements.iter().enumerate() {
        if element.get(PATCH).is_none() {
            places.entry(identity(element, key)?).or_insert(place);
        }
    }
    Ok(places)
}

/// What makes an element the same one: its key, or for plain values all of it.
fn identity(element: &Value, key: Option<&str>) -> Result<String, MergeError> {
    match key {
        None => Ok(element.to_string()),
        Some(key) => {
            let value = element.get(key).ok_or_else(|| no_merge_key(element, key))?;
            Ok(value.to_string())
        }
    }
}

fn into_fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}
