//! Lists that are sets or maps have each element once (`x-kubernetes-list-type`).

use std::collections::HashMap;

use listwatch_api::{FieldError, FieldPath, field_error::FIELD_ERRORS_MAX};
use serde_json::{Map, Value};

use crate::node::{ListType, Node};
use crate::value_path::ValuePath;

/// The elements that are in a set or a map more than once.
pub(crate) fn duplicates(node: &Node, object: &Value) -> Vec<FieldError> {
    let mut walk = Walk { errors: Vec::new() };
    walk.value(node, object, &ValuePath::Start);
    walk.errors
}

struct Walk {
    errors: Vec<FieldError>,
}

impl Walk {
    fn value(&mut self, node: &Node, value: &Value, path: &ValuePath<'_>) {
        if self.errors.len() >= FIELD_ERRORS_MAX {
            return;
        }
        match value {
            Value::Object(members) => self.members(node, members, path),
            Value::Array(list) => self.list(node, list, path),
            _ => {}
        }
    }

    fn members(&mut self, node: &Node, members: &Map<String, Value>, path: &ValuePath<'_>) {
        if let Some(each) = node.additional.each() {
            for (name, value) in members {
                self.value(each, value, &ValuePath::Entry(path, name));
            }
        }
        for (name, value) in members {
            if let Some(property) = node.property(name) {
                self.value(property, value, &ValuePath::Field(path, name));
            }
        }
    }

    fn list(&mut self, node: &Node, list: &[Value], path: &ValuePath<'_>) {
        let field = |index| path.field(None).index(index);
        match &node.list {
            ListType::Atomic => {}
            ListType::Set => {
                let repeated = repeated(list.iter());
                let errors =
                    repeated.map(|index| FieldError::duplicate(&field(index), &list[index]));
                self.errors.extend(errors);
            }
            ListType::Map(keys) => self.keyed(keys, list, field),
        }
        if let Some(items) = node.items() {
            for (index, value) in list.iter().enumerate() {
                self.value(items, value, &ValuePath::Element(path, index));
            }
        }
    }

    fn keyed(&mut self, names: &[Box<str>], list: &[Value], field: impl Fn(usize) -> FieldPath) {
        let is_wrong = |value: &Value| !value.is_object() && !value.is_null();
        if let Some(index) = list.iter().position(is_wrong) {
            let problem = "must be an object for an array of list-type map";
            let error = FieldError::invalid(&field(index), &list[index], problem);
            self.errors.push(error);
            return;
        }
        let keys: Vec<Value> = list.iter().map(|value| keys_of(names, value)).collect();
        let errors =
            repeated(keys.iter()).map(|index| FieldError::duplicate(&field(index), &keys[index]));
        self.errors.extend(errors);
    }
}

/// The keys of an element that it states.
fn keys_of(names: &[Box<str>], element: &Value) -> Value {
    let stated = names.iter().filter_map(|name| {
        let value = element.get(name.as_ref())?;
        Some((name.to_string(), value.clone()))
    });
    Value::Object(stated.collect())
}

/// The places of values that were there once before.
fn repeated<'a>(values: impl Iterator<Item = &'a Value>) -> impl Iterator<Item = usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut places = Vec::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            places.push(index);
        }
    }
    places.into_iter()
}
