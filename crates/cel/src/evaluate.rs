//! Evaluates a plan, and counts what that costs.

mod attributes;
mod calls;
mod folds;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use calls::is_text_order;

use crate::ast::Presence;
use crate::error::EvaluationError;
use crate::plan::{Equality, MapEntry, Membership, MessageNode, Node};
use crate::value::{Entries, List, Map, Object, Outcome, Value};

/// Cost of reading a variable, field or element.
const READ_COST: u64 = 1;
const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const MESSAGE_COST: u64 = 40;

/// The values of an expression's variables.
#[derive(Debug, Default)]
pub struct Bindings<'a>(BTreeMap<String, Value<'a>>);

impl<'a> Bindings<'a> {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a variable its value.
    pub fn with(mut self, name: impl Into<String>, value: Value<'a>) -> Self {
        self.insert(name, value);
        self
    }

    /// Gives a variable its value.
    pub fn insert(&mut self, name: impl Into<String>, value: Value<'a>) {
        self.0.insert(name.into(), value);
    }

    fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0.get(name)
    }
}

/// What evaluations may cost, and have cost so far.
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u64,
    spent: u64,
}

impl Budget {
    /// Most that one evaluation may cost.
    pub const PER_CALL: u64 = 1_000_000;

    /// Most that all evaluations for one object or policy may cost together.
    pub const PER_REQUEST: u64 = 10_000_000;

    /// A budget of so many units.
    pub fn new(limit: u64) -> Self {
        Self { limit, spent: 0 }
    }

    /// What one evaluation may cost.
    pub fn per_call() -> Self {
        Self::new(Self::PER_CALL)
    }

    pub(crate) fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// What evaluations have cost.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    fn refund(&mut self, cost: u64) {
        self.spent = self.spent.saturating_sub(cost);
    }

    fn charge(&mut self, cost: u64) -> Result<(), EvaluationError> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > self.limit {
            return Err(EvaluationError::OutOfBudget);
        }
        Ok(())
    }
}

/// Evaluates a plan.
pub(crate) fn evaluate<'a>(
    node: &Node,
    bindings: &Bindings<'a>,
    budget: &mut Budget,
) -> Outcome<'a> {
    Evaluator {
        bindings,
        budget,
        locals: Vec::new(),
    }
    .node(node)
}

struct Evaluator<'e, 'a> {
    bindings: &'e Bindings<'a>,
    budget: &'e mut Budget,
    /// Variables of the folds that are running, each at its place.
    locals: Vec<Local<'e, 'a>>,
}

/// Which value of a term decides a logical operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decisive {
    True,
    False,
}

/// A variable of a fold.
#[derive(Clone)]
enum Local<'e, 'a> {
    /// Computed when first looked at.
    Pending(&'e Node),
    Ready(Outcome<'a>),
}

impl<'e, 'a> Evaluator<'e, 'a> {
    fn node<'n: 'e>(&mut self, node: &'n Node) -> Outcome<'a> {
        match node {
            Node::Constant(value) => Ok(value.clone()),
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::Presence(attribute) => self.presence(attribute),
            Node::And(terms) => self.logical(terms, Decisive::False),
            Node::Or(terms) => self.logical(terms, Decisive::True),
            Node::Equality(equality) => self.equality(equality),
            Node::NotStrictlyFalse(inner) => self.not_strictly_false(inner),
            Node::Call(call) => self.call(call),
            Node::OptionalOr(sides) => match self.node(&sides.0)? {
                Value::Optional(None) => self.node(&sides.1),
                present @ Value::Optional(Some(_)) => Ok(present),
                _ => Err(EvaluationError::no_such_overload()),
            },
            Node::OptionalOrValue(sides) => match self.node(&sides.0)? {
                Value::Optional(None) => self.node(&sides.1),
                Value::Optional(Some(value)) => Ok((*value).clone()),
                _ => Err(EvaluationError::no_such_overload()),
            },
            Node::Membership(membership) => self.membership(membership),
            Node::List(elements) => {
                let list = self.list(elements);
                self.built(list, LIST_COST)
            }
            Node::Map(entries) => {
                let map = self.map(entries);
                self.built(map, MAP_COST)
            }
            Node::Message(message) => {
                let message = self.message(message);
                self.built(message, MESSAGE_COST)
            }
            Node::Fold(fold) => self.fold(fold),
        }
    }

    /// Terms until one decides; errors count only when none does.
    fn logical<'n: 'e>(&mut self, terms: &'n [Node], decisive: Decisive) -> Outcome<'a> {
        let decisive = decisive == Decisive::True;
        let mut failure = None;
        for term in terms {
            match self.node(term) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    failure.get_or_insert_with(EvaluationError::no_such_overload);
                }
                Err(EvaluationError::OutOfBudget) => return Err(EvaluationError::OutOfBudget),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn not_strictly_false<'n: 'e>(&mut self, inner: &'n Node) -> Outcome<'a> {
        let value = match self.node(inner) {
            Ok(Value::Bool(value)) => value,
            Err(EvaluationError::OutOfBudget) => return Err(EvaluationError::OutOfBudget),
            _ => true,
        };
        self.budget.charge(1)?;
        Ok(Value::Bool(value))
    }

    fn equality<'n: 'e>(&mut self, equality: &'n Equality) -> Outcome<'a> {
        let (one, other) = (self.operand(&equality.one)?, self.operand(&equality.other)?);
        self.budget
            .charge(calls::equality_cost(equality, &one, &other))?;
        let same = one?.equals(&other?);
        match (same, equality.wanted) {
            (Ok(same), wanted) => Ok(Value::Bool(same == wanted)),
            (Err(error), true) => Err(error),
            (Err(_), false) => Ok(Value::Bool(true)),
        }
    }

    /// The outcome of an operand, an error of which is no reason yet to stop.
    fn operand<'n: 'e>(&mut self, node: &'n Node) -> Result<Outcome<'a>, EvaluationError> {
        match self.node(node) {
            Err(EvaluationError::OutOfBudget) => Err(EvaluationError::OutOfBudget),
            outcome => Ok(outcome),
        }
    }

    fn membership<'n: 'e>(&mut self, membership: &'n Membership) -> Outcome<'a> {
        let value = self.node(&membership.value)?;
        for candidate in &membership.among {
            let candidate: Value<'a> = candidate.clone();
            if value.equals(&candidate)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }

    /// What was built, or why it was not, for the cost of building it.
    fn built(&mut self, outcome: Outcome<'a>, cost: u64) -> Outcome<'a> {
        if !matches!(outcome, Err(EvaluationError::OutOfBudget)) {
            self.budget.charge(cost)?;
        }
        outcome
    }

    fn list<'n: 'e>(&mut self, elements: &'n [(Presence, Node)]) -> Outcome<'a> {
        let mut values = Vec::with_capacity(elements.len());
        for (presence, node) in elements {
            let value = self.node(node)?;
            match (presence, value) {
                (Presence::Always, value) => values.push(value),
                (Presence::Optional, Value::Optional(value)) => {
                    values.extend(value.map(|value| (*value).clone()))
                }
                (Presence::Optional, other) => {
                    let shown = crate::library::format_text::plain(&other);
                    return Err(EvaluationError::failed(format!(
                        "cannot initialize optional list element from non-optional value {shown}"
                    )));
                }
            }
        }
        Ok(Value::List(List::Values(Arc::new(values))))
    }

    fn map<'n: 'e>(&mut self, entries: &'n [MapEntry]) -> Outcome<'a> {
        let mut built = Entries::default();
        for entry in entries {
            let key = self.node(&entry.key)?;
            match (entry.presence, self.node(&entry.value)?) {
                (Presence::Always, value) => {
                    built.insert(key, value)?;
                }
                (Presence::Optional, Value::Optional(Some(value))) => {
                    built.insert(key, (*value).clone())?;
                }
                (Presence::Optional, Value::Optional(None)) => built.remove(&key),
                (Presence::Optional, other) => return Err(not_optional(&key, &other)),
            }
        }
        Ok(Value::Map(Map::Values(Arc::new(built))))
    }

    fn message<'n: 'e>(&mut self, message: &'n MessageNode) -> Outcome<'a> {
        let mut fields = BTreeMap::new();
        for (presence, name, node) in &message.fields {
            match (presence, self.node(node)?) {
                (Presence::Always, value) => {
                    fields.insert(name.clone(), value);
                }
                (Presence::Optional, Value::Optional(Some(value))) => {
                    fields.insert(name.clone(), (*value).clone());
                }
                (Presence::Optional, Value::Optional(None)) => {
                    fields.remove(name);
                }
                (Presence::Optional, other) => {
                    return Err(not_optional(&Value::from(name.clone()), &other));
                }
            }
        }
        Ok(Value::Object(Arc::new(Object {
            type_name: message.type_name.clone(),
            fields,
        })))
    }
}

fn not_optional(key: &Value<'_>, value: &Value<'_>) -> EvaluationError {
    let plain = crate::library::format_text::plain;
    EvaluationError::failed(format!(
        "cannot initialize optional entry '{}' from non-optional value {}",
        plain(key),
        plain(value)
    ))
}
