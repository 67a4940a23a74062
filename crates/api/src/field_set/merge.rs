//! Lays what somebody applies over what is there.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use super::{
    Step,
    ownership::{Elements, Ownership},
};
use crate::schema::{Schema, Shape, TypeId};

/// The live object with the applied one laid over it, field by field and element by element.
pub fn merge(schema: &Schema, type_id: TypeId, live: &Value, applied: &Value) -> Value {
    let shape = Shape::Object {
        type_id,
        atomic: false,
    };
    value(schema, &shape, live, applied)
}

fn value(schema: &Schema, shape: &Shape, live: &Value, applied: &Value) -> Value {
    let ownership = Ownership::of_values(schema, shape, &[live, applied]);
    match (ownership, live, applied) {
        (Ownership::Fields(_) | Ownership::Entries(_), live, applied) => {
            match (members(live), members(applied)) {
                (None, None) => applied.clone(),
                (Some(_), None) => live.clone(),
                (known, Some(applied)) => {
                    let known = known.cloned().unwrap_or_default();
                    match of_members(schema, ownership, known, applied) {
                        merged if merged.is_empty() => live.clone(),
                        merged => Value::Object(merged),
                    }
                }
            }
        }
        (Ownership::Elements(elements), live, applied) => match (list(live), list(applied)) {
            ([], _) => applied.clone(),
            (_, []) => live.clone(),
            (live, applied) => Value::Array(of_lists(schema, elements, live, applied)),
        },
        (Ownership::Whole, _, applied) => applied.clone(),
    }
}

fn of_members(
    schema: &Schema,
    ownership: Ownership<'_>,
    mut live: Map<String, Value>,
    applied: &Map<String, Value>,
) -> Map<String, Value> {
    for (name, applied) in applied {
        let next = match (live.get(name), ownership.member(name)) {
            (Some(live), Some(shape)) => value(schema, shape, live, applied),
            // It would not be written, so it must not look like a change.
            (None, _) if ownership.omits(name, applied) => continue,
            _ => applied.clone(),
        };
        live.insert(name.clone(), next);
    }
    live
}

/// Elements of both are merged and keep the applied order; the others keep their places around
/// them as well as that allows.
///
/// ```text
/// live a b c d, applied c x b   ->   a c d x b
/// ```
fn of_lists(
    schema: &Schema,
    elements: Elements<'_>,
    live: &[Value],
    applied: &[Value],
) -> Vec<Value> {
    let (live, applied) = (steps(elements, live), steps(elements, applied));
    let known = by_step(&live);
    let wanted = by_step(&applied);
    let merged = |step: &Step, applied: &Value| match known.get(step) {
        Some(Some(live)) => value(schema, elements.shape, live, applied),
        // Elements that cannot be told apart are replaced together.
        Some(None) | None => applied.clone(),
    };
    let mut shared: VecDeque<&Step> = applied
        .iter()
        .map(|(step, _)| step)
        .filter(|step| known.contains_key(step))
        .collect();
    let mut ordered = Vec::with_capacity(live.len().max(applied.len()));
    let (mut live, mut applied) = (live.iter().peekable(), applied.iter().peekable());
    loop {
        match (live.peek(), applied.peek()) {
            (None, None) => return ordered,
            (Some((step, value)), _) if !wanted.contains_key(step) => {
                ordered.push((*value).clone());
                live.next();
            }
            (Some((step, _)), Some((next, value))) if step == next => {
                ordered.push(merged(step, value));
                shared.pop_front();
                live.next();
                applied.next();
            }
            // It has come already, or comes where the applied list has it.
            (Some((step, _)), Some(_)) if shared.front().is_some_and(|next| *next != step) => {
                live.next();
            }
            (Some(_), None) => drop(live.next()),
            (_, Some((step, value))) => {
                if shared.is_empty() {
                    live.next();
                }
                ordered.push(merged(step, value));
                if shared.front() == Some(&step) {
                    shared.pop_front();
                }
                applied.next();
            }
        }
    }
}

/// Each element with the step to it; one that has none is told apart by its place.
fn steps<'a>(elements: Elements<'_>, list: &'a [Value]) -> Vec<(Step, &'a Value)> {
    let numbered = list.iter().enumerate();
    let told = numbered.map(|(index, element)| {
        let step = elements.step(element).unwrap_or(Step::Index(index));
        (step, element)
    });
    told.collect()
}

/// The element at each step; `None` where there are several.
fn by_step<'a>(steps: &'a [(Step, &'a Value)]) -> BTreeMap<&'a Step, Option<&'a Value>> {
    let mut found = BTreeMap::new();
    for (step, element) in steps {
        found
            .entry(step)
            .and_modify(|known| *known = None)
            .or_insert(Some(*element));
    }
    found
}

fn members(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object().filter(|members| !members.is_empty())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |elements| elements.as_slice())
}
