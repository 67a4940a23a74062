//! Takes fields out of an object.

use serde_json::{Map, Value};

use super::{
    FieldSet,
    ownership::{Elements, Ownership},
};
use crate::schema::{Schema, Shape, TypeId};

impl FieldSet {
    /// The object without these fields and all below them. Where nothing is left, null stays.
    pub fn removed_from(&self, schema: &Schema, type_id: TypeId, object: Value) -> Value {
        let shape = Shape::Object {
            type_id,
            atomic: false,
        };
        without(schema, &shape, object, self)
    }
}

fn without(schema: &Schema, shape: &Shape, value: Value, removed: &FieldSet) -> Value {
    let ownership = Ownership::of(schema, shape);
    match (ownership, value) {
        (Ownership::Fields(_) | Ownership::Entries(_), Value::Object(members)) => {
            of_members(schema, ownership, members, removed)
        }
        (Ownership::Elements(elements), Value::Array(list)) => {
            of_list(schema, elements, list, removed)
        }
        (_, Value::Object(_) | Value::Array(_)) => Value::Null,
        (_, scalar) => scalar,
    }
}

fn of_members(
    schema: &Schema,
    ownership: Ownership<'_>,
    members: Map<String, Value>,
    removed: &FieldSet,
) -> Value {
    let mut left = Map::new();
    for (name, value) in members {
        let value = match (removed.find_field(&name), ownership.member(&name)) {
            (Some(branch), _) if branch.is_member => continue,
            (Some(branch), Some(shape)) => without(schema, shape, value, &branch.below),
            _ => value,
        };
        left.insert(name, value);
    }
    match left.is_empty() {
        true => Value::Null,
        false => Value::Object(left),
    }
}

fn of_list(schema: &Schema, elements: Elements<'_>, list: Vec<Value>, removed: &FieldSet) -> Value {
    let mut left = Vec::with_capacity(list.len());
    for element in list {
        let step = elements.step(&element).ok();
        let branch = step.and_then(|step| removed.find(&step));
        match branch {
            Some(branch) if branch.is_member => {}
            Some(branch) => left.push(without(schema, elements.shape, element, &branch.below)),
            None => left.push(element),
        }
    }
    match left.is_empty() {
        true => Value::Null,
        false => Value::Array(left),
    }
}
