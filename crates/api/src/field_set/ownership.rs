//! How a value of some shape is owned: as a whole or by its parts, and what tells the parts apart.

use serde_json::{Map, Value};

use super::Step;
use crate::schema::{Field, ListIdentity, ObjectType, Presence, Schema, Shape};

/// How a value is owned.
#[derive(Clone, Copy)]
pub(super) enum Ownership<'a> {
    /// As a whole.
    Whole,
    /// By its fields, each of a shape of its own.
    Fields(&'a ObjectType),
    /// By its entries, all of one shape.
    Entries(&'a Shape),
    /// By its elements, all of one shape.
    Elements(Elements<'a>),
}

/// Elements of a list that are told apart.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    schema: &'a Schema,
    /// The shape of each.
    pub(super) shape: &'a Shape,
    /// The fields that tell them apart; their value does where there are none.
    keys: Option<&'a [Box<str>]>,
}

/// Why an element cannot be told from others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ElementError {
    #[error("associative list with keys may not have a null element")]
    KeyedNull,
    #[error("associative list with keys may not have non-map elements")]
    KeyedOther,
    #[error(
        "associative list with keys has an element that omits all key fields {0} (and doesn't \
         have default values for any key fields)"
    )]
    NoKeys(String),
    #[error("associative list without keys has an element that's a map type")]
    Object,
    #[error("not supported: associative list with lists as elements")]
    List,
    #[error("associative list without keys has an element that's an explicit null")]
    Null,
}

impl<'a> Ownership<'a> {
    pub(super) fn of(schema: &'a Schema, shape: &'a Shape) -> Self {
        match shape {
            Shape::Object {
                type_id,
                atomic: false,
            } => Self::Fields(schema.object_type(*type_id)),
            Shape::Map {
                value,
                atomic: false,
            } => Self::Entries(value),
            Shape::Deduced => Self::Entries(shape),
            Shape::List { element, identity } => {
                let keys = match identity {
                    ListIdentity::Atomic => return Self::Whole,
                    ListIdentity::Set => None,
                    ListIdentity::Keys(keys) => Some(keys.as_slice()),
                };
                Self::Elements(Elements {
                    schema,
                    shape: element,
                    keys,
                })
            }
            _ => Self::Whole,
        }
    }

    /// The shape of the member with this name; `None` where there is no such member.
    pub(super) fn member(self, name: &str) -> Option<&'a Shape> {
        match self {
            Self::Fields(object_type) => object_type.member(name),
            Self::Entries(shape) => Some(shape),
            Self::Whole | Self::Elements(_) => None,
        }
    }

    /// Whether the member with this name is one of a map's entries, which are owned themselves.
    pub(super) fn is_entry(self, name: &str) -> bool {
        match self {
            Self::Fields(object_type) => object_type.field(name).is_none(),
            Self::Entries(_) => true,
            Self::Whole | Self::Elements(_) => false,
        }
    }

    /// How these values are owned: a deduced shape is a map only where all of them are.
    pub(super) fn of_values(schema: &'a Schema, shape: &'a Shape, values: &[&Value]) -> Self {
        let is_map = values.iter().all(|value| value.is_object());
        match shape {
            Shape::Deduced if !is_map => Self::Whole,
            shape => Self::of(schema, shape),
        }
    }
}

impl Ownership<'_> {
    /// Whether a member with this value is left out when the object is written.
    pub(super) fn omits(self, name: &str, value: &Value) -> bool {
        let Self::Fields(object_type) = self else {
            return false;
        };
        let is_empty = match value {
            Value::Null => true,
            Value::Array(elements) => elements.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        let field = object_type.field(name);
        is_empty && field.is_some_and(|field| field.presence == Presence::OmitEmpty)
    }
}

impl Elements<'_> {
    /// The step to an element.
    pub(super) fn step(self, element: &Value) -> Result<Step, ElementError> {
        match (self.keys, element) {
            (None, Value::Object(_)) => Err(ElementError::Object),
            (None, Value::Array(_)) => Err(ElementError::List),
            (None, Value::Null) => Err(ElementError::Null),
            (None, scalar) => Ok(Step::value(scalar)),
            (Some(_), Value::Null) => Err(ElementError::KeyedNull),
            (Some(keys), Value::Object(members)) => {
                match (keys, keys.first().and_then(|key| members.get(&**key))) {
                    ([key], Some(value)) => Ok(Step::key(key, value)),
                    _ => self.step_by_keys(keys, members),
                }
            }
            (Some(_), _) => Err(ElementError::KeyedOther),
        }
    }

    /// The step to an element by keys, of which it may have some and others mean something.
    fn step_by_keys(
        self,
        keys: &[Box<str>],
        members: &Map<String, Value>,
    ) -> Result<Step, ElementError> {
        let defaults: Vec<Option<Value>> = keys
            .iter()
            .map(|key| match members.contains_key(&**key) {
                true => None,
                false => self.default_of(key),
            })
            .collect();
        let values = keys
            .iter()
            .zip(&defaults)
            .filter_map(|(key, default)| Some((&**key, members.get(&**key).or(default.as_ref())?)));
        if values.clone().next().is_none() {
            return Err(ElementError::NoKeys(format!("{keys:?}").replace(", ", " ")));
        }
        Ok(Step::keys(values))
    }

    /// The steps to all elements that can be told apart, sorted, equal ones in their order.
    pub(super) fn sorted(self, list: &[Value]) -> Vec<(Step, &Value)> {
        let mut steps: Vec<(Step, &Value)> = list
            .iter()
            .filter_map(|element| Some((self.step(element).ok()?, element)))
            .collect();
        steps.sort_by(|(one, _), (other, _)| one.cmp(other));
        steps
    }

    /// What a key means that an element does not have.
    fn default_of(self, key: &str) -> Option<Value> {
        let Shape::Object { type_id, .. } = self.shape else {
            return None;
        };
        let field = self.schema.object_type(*type_id).field(key)?;
        match &field.default {
            Some(text) => serde_json::from_str(text).ok(),
            None => zero_of(field),
        }
    }
}

/// A field that is always written has an empty value when it is left out.
fn zero_of(field: &Field) -> Option<Value> {
    match (field.presence, &field.shape) {
        (Presence::Always, Shape::String) => Some(Value::String(String::new())),
        (Presence::Always, Shape::Int32 | Shape::Int64) => Some(Value::from(0)),
        (Presence::Always, Shape::Boolean) => Some(Value::Bool(false)),
        _ => None,
    }
}
