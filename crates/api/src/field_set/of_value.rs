//! The fields that somebody who states a value thereby owns.

use serde_json::{Map, Value};

use super::{
    Branch, FieldSet, Node, Step,
    ownership::{Elements, Ownership},
};
use crate::schema::{Schema, Shape, TypeId};

impl FieldSet {
    /// The fields of an object of this type.
    pub fn of_value(schema: &Schema, type_id: TypeId, object: &Value) -> Self {
        let shape = Shape::Object {
            type_id,
            atomic: false,
        };
        branch(schema, &shape, object).below
    }
}

fn branch(schema: &Schema, shape: &Shape, value: &Value) -> Branch {
    let ownership = Ownership::of_values(schema, shape, &[value]);
    let below = match (ownership, value) {
        (Ownership::Whole, _) => return Branch::member(),
        (_, Value::Object(members)) => of_members(schema, ownership, members),
        (Ownership::Elements(elements), Value::Array(list)) => of_list(schema, elements, list),
        _ => FieldSet::default(),
    };
    Branch {
        is_member: false,
        below,
    }
}

fn of_members(schema: &Schema, ownership: Ownership<'_>, members: &Map<String, Value>) -> FieldSet {
    let nodes = members.iter().filter_map(|(name, value)| {
        let mut branch = match ownership.member(name) {
            Some(shape) => branch(schema, shape, value),
            None => Branch::member(),
        };
        let says_nothing = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        branch.is_member |= says_nothing || ownership.is_entry(name);
        (!branch.is_empty()).then(|| Node {
            step: Step::field(name),
            branch,
        })
    });
    FieldSet::of_nodes(nodes.collect())
}

/// Elements that cannot be told apart are owned together, as a whole.
fn of_list(schema: &Schema, elements: Elements<'_>, list: &[Value]) -> FieldSet {
    let sorted = elements.sorted(list);
    let groups = sorted.chunk_by(|(one, _), (other, _)| one == other);
    let nodes = groups.map(|group| {
        let (step, value) = &group[0];
        let mut branch = match group {
            [_] => branch(schema, elements.shape, value),
            _ => Branch::default(),
        };
        branch.is_member = true;
        Node {
            step: step.clone(),
            branch,
        }
    });
    FieldSet::of_nodes(nodes.collect())
}
