//! Folds over lists and maps.

use std::sync::Arc;

use super::{Evaluator, Local};
use crate::error::EvaluationError;
use crate::library::insert_into;
use crate::plan::{Attribute, CallNode, Fold, Node, Root, Variables};
use crate::value::{List, Map, Outcome, Value};

impl<'e, 'a> Evaluator<'e, 'a> {
    pub(super) fn fold<'n: 'e>(&mut self, fold: &'n Fold) -> Outcome<'a> {
        let range = self.node(&fold.range)?;
        let outer = self.locals.len();
        self.locals.push(Local::Pending(&fold.initial));
        let outcome = self.iterate(fold, &range);
        let outcome = match outcome {
            Ok(()) => {
                self.locals.truncate(outer + 1);
                self.node(&fold.result)
            }
            Err(error) => Err(error),
        };
        self.locals.truncate(outer);
        outcome
    }

    fn iterate<'n: 'e>(
        &mut self,
        fold: &'n Fold,
        range: &Value<'a>,
    ) -> Result<(), EvaluationError> {
        match range {
            Value::List(list) => self.iterate_list(fold, list),
            Value::Map(map) => self.iterate_map(fold, map),
            other => Err(not_iterable(fold.variables, other)),
        }
    }

    fn iterate_list<'n: 'e>(
        &mut self,
        fold: &'n Fold,
        list: &List<'a>,
    ) -> Result<(), EvaluationError> {
        for (index, element) in list.iter().enumerate() {
            let going = match fold.variables {
                Variables::One => self.iteration(fold, [Some(element), None])?,
                Variables::Two => {
                    self.iteration(fold, [Some(Ok(Value::Int(index as i64))), Some(element)])?
                }
            };
            if going == Going::Done {
                break;
            }
        }
        Ok(())
    }

    fn iterate_map<'n: 'e>(
        &mut self,
        fold: &'n Fold,
        map: &Map<'a>,
    ) -> Result<(), EvaluationError> {
        for key in map.keys() {
            let going = match fold.variables {
                Variables::One => self.iteration(fold, [Some(Ok(key)), None])?,
                Variables::Two => {
                    let value = map.find(&key).map(|value| value.unwrap_or(Value::Null));
                    self.iteration(fold, [Some(Ok(key)), Some(value)])?
                }
            };
            if going == Going::Done {
                break;
            }
        }
        Ok(())
    }

    fn iteration<'n: 'e>(
        &mut self,
        fold: &'n Fold,
        variables: [Option<Outcome<'a>>; 2],
    ) -> Result<Going, EvaluationError> {
        let accumulator = self.locals.len() - 1;
        self.locals
            .extend(variables.into_iter().flatten().map(Local::Ready));
        let going = self.operand(&fold.condition)?;
        let done = matches!(going, Ok(Value::Bool(false)));
        if !done {
            let outcome = self.step(&fold.step, accumulator)?;
            self.locals[accumulator] = Local::Ready(outcome);
        }
        self.locals.truncate(accumulator + 1);
        Ok(if done { Going::Done } else { Going::On })
    }

    /// The next value of the accumulator. A list or map that grows is not copied for it.
    fn step<'n: 'e>(
        &mut self,
        step: &'n Node,
        accumulator: usize,
    ) -> Result<Outcome<'a>, EvaluationError> {
        if let Node::Attribute(attribute) = step
            && let Root::Conditional(choice) = &attribute.root
            && let (Root::Expression(grown), []) =
                (&choice.truthy.root, &choice.truthy.qualifiers[..])
        {
            return match self.operand(&choice.condition)? {
                Ok(Value::Bool(true)) => self.step(grown, accumulator),
                Ok(Value::Bool(false)) => settled(self.resolve(&choice.falsy)),
                Ok(_) => Ok(Err(EvaluationError::no_such_overload())),
                Err(error) => Ok(Err(error)),
            };
        }
        let Node::Call(call) = step else {
            return self.operand(step);
        };
        let Some((Node::Attribute(first), added)) = call.arguments.split_first() else {
            return self.operand(step);
        };
        match (call.function.as_str(), added) {
            ("_+_", [added]) if is_accumulator(first, accumulator) => {
                self.append(call, accumulator, added)
            }
            ("cel.@mapInsert", _) if is_accumulator(first, accumulator) => {
                self.insert(call, accumulator, added)
            }
            _ => self.operand(step),
        }
    }

    fn append<'n: 'e>(
        &mut self,
        call: &'n CallNode,
        accumulator: usize,
        added: &'n Node,
    ) -> Result<Outcome<'a>, EvaluationError> {
        let before = self.operand(&call.arguments[0])?;
        self.locals[accumulator] = Local::Ready(Ok(Value::Null));
        let added = self.operand(added)?;
        match (before, added) {
            (Ok(Value::List(list)), Ok(Value::List(added))) => {
                self.budget.charge(1)?;
                Ok(list.concat(&added))
            }
            (before, added) => settled(self.finish(call, vec![before, added])),
        }
    }

    fn insert<'n: 'e>(
        &mut self,
        call: &'n CallNode,
        accumulator: usize,
        added: &'n [Node],
    ) -> Result<Outcome<'a>, EvaluationError> {
        let mut entries = match self.operand(&call.arguments[0])? {
            Ok(Value::Map(Map::Values(entries))) => entries,
            Err(error) if added.len() > 1 => return Ok(Err(error)),
            before => {
                let mut outcomes = vec![before];
                for node in added {
                    outcomes.push(self.operand(node)?);
                }
                return settled(self.finish(call, outcomes));
            }
        };
        self.locals[accumulator] = Local::Ready(Ok(Value::Null));
        let mut values = Vec::with_capacity(added.len());
        for node in added {
            match self.operand(node)? {
                Ok(value) => values.push(value),
                Err(error) => {
                    self.budget.charge(u64::from(added.len() == 1))?;
                    return Ok(Err(error));
                }
            }
        }
        self.budget.charge(1)?;
        if let [other] = &values[..]
            && !matches!(other, Value::Map(_))
        {
            let message = format!(
                "no such overload: {}(map, {})",
                call.function,
                other.type_name()
            );
            return Ok(Err(EvaluationError::failed(message)));
        }
        let outcome = insert_into(Arc::make_mut(&mut entries), &values);
        Ok(outcome.map(|()| Value::Map(Map::Values(entries))))
    }
}

/// Tells an outcome from the end of the evaluation.
fn settled(outcome: Outcome<'_>) -> Result<Outcome<'_>, EvaluationError> {
    match outcome {
        Err(EvaluationError::OutOfBudget) => Err(EvaluationError::OutOfBudget),
        outcome => Ok(outcome),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Going {
    On,
    Done,
}

fn is_accumulator(attribute: &Attribute, accumulator: usize) -> bool {
    matches!(attribute.root, Root::Local(place) if place == accumulator)
        && attribute.qualifiers.is_empty()
}

fn not_iterable(variables: Variables, value: &Value<'_>) -> EvaluationError {
    let name = match value {
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::Bool(_) => "types.Bool",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Null => "types.Null",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::Optional(_) => "*types.Optional",
        other => other.type_name(),
    };
    EvaluationError::failed(match variables {
        Variables::One => format!("got '{name}', expected iterable type"),
        Variables::Two => format!("unsupported comprehension range type: {name}"),
    })
}
