//! Variables, and what is selected from them.

use super::{Evaluator, Local, READ_COST};
use crate::error::EvaluationError;
use crate::library::format_text::plain;
use crate::plan::{Attribute, Key, Mode, Qualifier, Root};
use crate::value::{List, Outcome, Value};

impl<'e, 'a> Evaluator<'e, 'a> {
    pub(super) fn attribute<'n: 'e>(&mut self, attribute: &'n Attribute) -> Outcome<'a> {
        let outcome = self.resolve(attribute);
        if matches!(outcome, Err(EvaluationError::OutOfBudget)) {
            return outcome;
        }
        if !matches!(attribute.root, Root::Conditional(_)) {
            self.budget.charge(READ_COST)?;
        }
        outcome
    }

    pub(super) fn presence<'n: 'e>(&mut self, attribute: &'n Attribute) -> Outcome<'a> {
        let outcome = self.resolve(attribute)?;
        if matches!(attribute.root, Root::Conditional(_)) {
            self.budget.refund(READ_COST);
        }
        match outcome {
            Value::Optional(value) => Ok(Value::Bool(value.is_some())),
            other => Ok(other),
        }
    }

    /// The value that an attribute leads to, which costs as much as its qualifiers.
    pub(super) fn resolve<'n: 'e>(&mut self, attribute: &'n Attribute) -> Outcome<'a> {
        let value = match &attribute.root {
            Root::Local(place) => self.local(*place)?,
            Root::Global(name) => match self.bindings.get(name) {
                Some(value) => value.clone(),
                None => {
                    return Err(EvaluationError::failed(format!(
                        "no such attribute(s): {name}"
                    )));
                }
            },
            Root::Expression(node) => self.node(node)?,
            Root::Conditional(choice) => {
                let branch = match self.node(&choice.condition)? {
                    Value::Bool(true) => &choice.truthy,
                    Value::Bool(false) => &choice.falsy,
                    _ => return Err(EvaluationError::no_such_overload()),
                };
                self.resolve(branch)?
            }
        };
        self.qualified(value, &attribute.qualifiers)
    }

    fn local(&mut self, place: usize) -> Outcome<'a> {
        let node = match &self.locals[place] {
            Local::Ready(outcome) => return outcome.clone(),
            Local::Pending(node) => *node,
        };
        // What is computed late sees the variables that were there when it was written.
        let later = self.locals.split_off(place);
        let outcome = self.node(node);
        self.locals.extend(later);
        self.locals[place] = Local::Ready(outcome.clone());
        outcome
    }

    fn qualified<'n: 'e>(&mut self, value: Value<'a>, qualifiers: &'n [Qualifier]) -> Outcome<'a> {
        let (mut value, mut optional) = match value {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) if !qualifiers.is_empty() => ((*inner).clone(), true),
            other => (other, false),
        };
        for qualifier in qualifiers {
            optional = optional || qualifier.mode == Mode::Optional;
            let key = match self.key(&qualifier.key) {
                Err(error) if error != EvaluationError::OutOfBudget && !optional => {
                    self.budget.charge(READ_COST)?;
                    return Err(error);
                }
                key => key?,
            };
            let found = select(&value, &key);
            let required = !optional && qualifier.mode == Mode::Plain;
            match found {
                Err(Missing::Because(error)) => {
                    if !optional {
                        self.budget.charge(READ_COST)?;
                    }
                    return Err(error);
                }
                Err(_) if qualifier.mode == Mode::Test && !optional => {
                    self.budget.charge(READ_COST)?;
                    value = Value::Bool(false);
                }
                Err(missing) if required => {
                    self.budget.charge(READ_COST)?;
                    return Err(missing.into_error(&key));
                }
                Err(_) => return Ok(Value::Optional(None)),
                Ok(found) => {
                    self.budget.charge(READ_COST)?;
                    value = if qualifier.mode == Mode::Test {
                        Value::Bool(true)
                    } else {
                        found
                    };
                }
            }
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    fn key<'n: 'e>(&mut self, key: &'n Key) -> Outcome<'a> {
        match key {
            Key::Constant(value) => Ok(value.clone()),
            Key::Attribute(attribute) => match self.resolve(attribute)? {
                Value::List(_) => unusable("[]interface {}"),
                Value::Map(_) => unusable("map[string]interface {}"),
                key => Ok(key),
            },
        }
    }
}

fn unusable<'a>(name: &str) -> Outcome<'a> {
    Err(EvaluationError::failed(format!(
        "invalid qualifier type: {name}"
    )))
}

/// Why nothing was selected.
enum Missing {
    Key,
    Index,
    Because(EvaluationError),
}

impl Missing {
    fn into_error(self, key: &Value<'_>) -> EvaluationError {
        match self {
            Self::Key => EvaluationError::failed(format!("no such key: {}", plain(key))),
            Self::Index => EvaluationError::failed(format!("index out of bounds: {}", plain(key))),
            Self::Because(error) => error,
        }
    }
}

fn select<'a>(value: &Value<'a>, key: &Value<'a>) -> Result<Value<'a>, Missing> {
    match value {
        Value::Map(map) => map.find(key).map_err(Missing::Because)?.ok_or(Missing::Key),
        Value::List(list) => element(list, key),
        Value::Object(object) => {
            let field = key.as_text().and_then(|name| object.fields.get(name));
            field.cloned().ok_or(Missing::Key)
        }
        Value::Lazy(fields) => {
            let found = key
                .as_text()
                .and_then(|name| fields.field(name))
                .ok_or(Missing::Key)?;
            found.map_err(Missing::Because)
        }
        _ => Err(Missing::Key),
    }
}

fn element<'a>(list: &List<'a>, key: &Value<'a>) -> Result<Value<'a>, Missing> {
    let index = match key {
        Value::Int(index) => usize::try_from(*index).ok(),
        Value::Uint(index) => usize::try_from(*index).ok(),
        Value::Double(index) if index.fract() == 0.0 && *index >= 0.0 => Some(*index as usize),
        Value::Double(index) => {
            let message = format!("unsupported index value {index} in list");
            return Err(Missing::Because(EvaluationError::failed(message)));
        }
        other => {
            let message = format!("unsupported index type '{}' in list", other.type_name());
            return Err(Missing::Because(EvaluationError::failed(message)));
        }
    };
    let found = index
        .and_then(|index| list.get(index))
        .ok_or(Missing::Index)?;
    found.map_err(Missing::Because)
}
