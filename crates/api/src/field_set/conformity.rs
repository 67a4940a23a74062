//! Whether what somebody applies has the shape of its kind. The texts are those of Kubernetes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{FieldSetPath, Step, ownership::Ownership};
use crate::{
    go_text,
    schema::{ObjectType, Schema, Shape, TypeId},
};

/// A place where an object does not have the shape of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Nonconformity {
    /// Where.
    pub path: FieldSetPath,
    /// What is wrong there.
    pub problem: String,
}

/// The places where an object does not have the shape of its type.
pub fn check(schema: &Schema, type_id: TypeId, object: &Value) -> Vec<Nonconformity> {
    let shape = Shape::Object {
        type_id,
        atomic: false,
    };
    let mut walk = Walk {
        schema,
        way: Vec::new(),
        found: Vec::new(),
    };
    walk.value(&shape, object);
    walk.found
}

struct Walk<'a> {
    schema: &'a Schema,
    way: Vec<Step>,
    found: Vec<Nonconformity>,
}

impl Walk<'_> {
    fn value(&mut self, shape: &Shape, value: &Value) {
        match (shape, value) {
            (_, Value::Null) | (Shape::Any | Shape::Deduced, _) => {}
            (Shape::Object { type_id, .. }, Value::Object(members)) => {
                self.fields(self.schema.object_type(*type_id), members);
            }
            (Shape::Map { value: shape, .. }, Value::Object(members)) => {
                for (name, value) in members {
                    self.descend(Step::field(name), shape, value);
                }
            }
            (Shape::Object { .. } | Shape::Map { .. }, other) => {
                self.refuse(format!("expected map, got {}", pointer_to(other)));
            }
            (Shape::List { element, .. }, Value::Array(list)) => self.list(shape, element, list),
            (Shape::List { .. }, other) => {
                self.refuse(format!("expected list, got {}", pointer_to(other)));
            }
            (scalar, value) => self.scalar(scalar, value),
        }
    }

    fn fields(&mut self, object_type: &ObjectType, members: &Map<String, Value>) {
        for (name, value) in members {
            match object_type.member(name) {
                Some(shape) => self.descend(Step::field(name), shape, value),
                None => {
                    self.way.push(Step::field(name));
                    self.refuse("field not declared in schema".to_owned());
                    self.way.pop();
                    return;
                }
            }
        }
    }

    fn list(&mut self, shape: &Shape, element: &Shape, list: &[Value]) {
        let Ownership::Elements(elements) = Ownership::of(self.schema, shape) else {
            for (index, value) in list.iter().enumerate() {
                self.descend(Step::Index(index), element, value);
            }
            return;
        };
        let mut seen = BTreeSet::new();
        for (index, value) in list.iter().enumerate() {
            let step = match elements.step(value) {
                Ok(step) => step,
                Err(error) => return self.refuse(format!("element {index}: {error}")),
            };
            if !seen.insert(step.clone()) {
                self.refuse(format!("duplicate entries for key {step}"));
            }
            self.descend(step, element, value);
        }
    }

    fn scalar(&mut self, shape: &Shape, value: &Value) {
        let problem = match (shape, value) {
            (Shape::String | Shape::Bytes, Value::String(_))
            | (Shape::Boolean, Value::Bool(_))
            | (Shape::Int32 | Shape::Int64 | Shape::Number, Value::Number(_)) => return,
            (Shape::String | Shape::Bytes, other) => {
                let found = source(other);
                format!("expected string, got &value.valueUnstructured{{Value:{found}}}")
            }
            (Shape::Boolean, other) => format!("expected boolean, got {}", pointer_to(other)),
            (Shape::Int32 | Shape::Int64 | Shape::Number, other) => {
                format!(
                    "expected numeric (int or float), got {}",
                    go_text::type_name(other)
                )
            }
            (_, Value::Object(_) | Value::Array(_)) => {
                format!("expected any scalar, got {}", pointer_to(value))
            }
            _ => return,
        };
        self.refuse(problem);
    }

    fn descend(&mut self, step: Step, shape: &Shape, value: &Value) {
        self.way.push(step);
        self.value(shape, value);
        self.way.pop();
    }

    fn refuse(&mut self, problem: String) {
        self.found.push(Nonconformity {
            path: FieldSetPath(self.way.clone()),
            problem,
        });
    }
}

/// The value as Go prints a pointer to a struct that holds it.
fn pointer_to(value: &Value) -> String {
    format!("&{{{}}}", go_text::display(value))
}

/// The value as Go source.
fn source(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => go_text::quote(text),
        Value::Array(list) => {
            let elements: Vec<String> = list.iter().map(source).collect();
            format!("[]interface {{}}{{{}}}", elements.join(", "))
        }
        Value::Object(members) => {
            let pairs = members
                .iter()
                .map(|(name, value)| format!("{}:{}", go_text::quote(name), source(value)));
            let pairs = pairs.collect::<Vec<_>>().join(", ");
            format!("map[string]interface {{}}{{{pairs}}}")
        }
    }
}
