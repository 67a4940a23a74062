//! From a checked tree to steps.

use std::sync::Arc;

use super::{
    Action, Attribute, CallNode, Conditional, Equality, Fold, Key, MapEntry, Membership,
    MessageNode, Mode, Node, Qualifier, Root, Variables,
};
use crate::ast::{Call, Comprehension, Expression, Kind, Presence, Purpose};
use crate::checker::{Checked, Reference};
use crate::evaluate::{Bindings, Budget, evaluate};
use crate::library::{self, declarations};
use crate::value::Value;

/// Plans an expression, or says which constant part of it fails.
pub(crate) fn plan(expression: &Expression, checked: &Checked) -> Result<Node, String> {
    Planner {
        checked,
        locals: Vec::new(),
    }
    .plan(expression)
}

struct Planner<'c> {
    checked: &'c Checked,
    /// Names of the variables of folds, each at its place.
    locals: Vec<String>,
}

type Planned = Result<Node, String>;

impl Planner<'_> {
    fn plan(&mut self, expression: &Expression) -> Planned {
        match &expression.kind {
            Kind::Literal(value) => Ok(Node::Constant(value.clone())),
            Kind::Identifier(name) => self.identifier(expression, name),
            Kind::Select(select) => {
                let operand = self.plan(&select.operand)?;
                let key = Key::Constant(Value::from(select.field.clone()));
                let mut attribute = into_attribute(operand);
                if select.purpose == Purpose::TestPresence {
                    attribute.qualifiers_mut(Qualifier {
                        key,
                        mode: Mode::Test,
                    });
                    return Ok(Node::Presence(Box::new(attribute)));
                }
                attribute.qualifiers_mut(Qualifier {
                    key,
                    mode: Mode::Plain,
                });
                Ok(Node::Attribute(Box::new(attribute)))
            }
            Kind::Call(call) => self.call(expression, call),
            Kind::List(elements) => {
                let planned: Result<Vec<(Presence, Node)>, String> = elements
                    .iter()
                    .map(|element| Ok((element.presence, self.plan(&element.value)?)))
                    .collect();
                folded_list(planned?)
            }
            Kind::Map(entries) => {
                let planned: Result<Vec<MapEntry>, String> = entries
                    .iter()
                    .map(|entry| {
                        Ok(MapEntry {
                            presence: entry.presence,
                            key: self.plan(&entry.key)?,
                            value: self.plan(&entry.value)?,
                        })
                    })
                    .collect();
                folded_map(planned?)
            }
            Kind::Message(message) => {
                let fields: Result<Vec<(Presence, String, Node)>, String> = message
                    .fields
                    .iter()
                    .map(|field| Ok((field.presence, field.name.clone(), self.plan(&field.value)?)))
                    .collect();
                let type_name = message.type_name.as_str().into();
                Ok(Node::Message(Box::new(MessageNode {
                    type_name,
                    fields: fields?,
                })))
            }
            Kind::Comprehension(fold) => self.comprehension(fold),
        }
    }

    fn identifier(&mut self, expression: &Expression, name: &str) -> Planned {
        if let Reference::Type(name) = &self.checked.references[expression.id] {
            return Ok(Node::Constant(Value::Type(name.as_str().into())));
        }
        let local = self.locals.iter().rposition(|known| known == name);
        let root = match local {
            Some(place) => Root::Local(place),
            None => Root::Global(name.strip_prefix('.').unwrap_or(name).to_owned()),
        };
        Ok(Node::Attribute(Box::new(Attribute {
            root,
            qualifiers: Vec::new(),
        })))
    }

    fn call(&mut self, expression: &Expression, call: &Call) -> Planned {
        let operands = call
            .target
            .iter()
            .map(|target| &**target)
            .chain(&call.arguments);
        let mut arguments = operands
            .map(|operand| self.plan(operand))
            .collect::<Result<Vec<Node>, String>>()?;
        let overload = match &self.checked.references[expression.id] {
            Reference::Overloads(overloads) if overloads.len() == 1 => Some(overloads[0]),
            _ => None,
        };
        match (call.function.as_str(), arguments.len()) {
            ("_&&_", _) => Ok(Node::And(arguments)),
            ("_||_", _) => Ok(Node::Or(arguments)),
            ("_?_:_", 3) => Ok(conditional(arguments)),
            ("_==_" | "_!=_", 2) => {
                let (other, one) = (take(&mut arguments), take(&mut arguments));
                Ok(Node::Equality(Box::new(Equality {
                    one,
                    other,
                    wanted: call.function == "_==_",
                })))
            }
            ("@not_strictly_false", 1) => {
                Ok(Node::NotStrictlyFalse(Box::new(take(&mut arguments))))
            }
            ("_[_]" | "_[?_]" | "_?._", 2) => {
                let mode = if call.function == "_[_]" {
                    Mode::Plain
                } else {
                    Mode::Optional
                };
                let (index, operand) = (take(&mut arguments), take(&mut arguments));
                Ok(index_node(operand, index, mode))
            }
            ("or", 2) => {
                let (other, one) = (take(&mut arguments), take(&mut arguments));
                Ok(Node::OptionalOr(Box::new((one, other))))
            }
            ("orValue", 2) => {
                let (other, one) = (take(&mut arguments), take(&mut arguments));
                Ok(Node::OptionalOrValue(Box::new((one, other))))
            }
            _ => function_call(&call.function, overload, arguments),
        }
    }

    fn comprehension(&mut self, fold: &Comprehension) -> Planned {
        let initial = self.plan(&fold.initial)?;
        let range = self.plan(&fold.range)?;
        let outer = self.locals.len();
        self.locals.push(fold.accumulator.clone());
        self.locals.push(fold.variable.clone());
        self.locals.extend(fold.second_variable.clone());
        let condition = self.plan(&fold.condition)?;
        let step = self.plan(&fold.step)?;
        self.locals.truncate(outer + 1);
        let result = self.plan(&fold.result)?;
        self.locals.truncate(outer);
        let variables = if fold.second_variable.is_some() {
            Variables::Two
        } else {
            Variables::One
        };
        Ok(Node::Fold(Box::new(Fold {
            range,
            initial,
            condition,
            step,
            result,
            variables,
        })))
    }
}

fn take(arguments: &mut Vec<Node>) -> Node {
    arguments.pop().unwrap_or(Node::Constant(Value::Null))
}

impl Attribute {
    /// Selects from the attribute; from either side of a choice.
    fn qualifiers_mut(&mut self, qualifier: Qualifier) {
        self.qualifiers.push(qualifier);
    }
}

/// The attribute that a step is, or one that starts from what the step yields.
fn into_attribute(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) => *attribute,
        other => Attribute {
            root: Root::Expression(other),
            qualifiers: Vec::new(),
        },
    }
}

fn conditional(mut arguments: Vec<Node>) -> Node {
    let (falsy, truthy, condition) = (
        take(&mut arguments),
        take(&mut arguments),
        take(&mut arguments),
    );
    let branch = |node: Node| match node {
        Node::Attribute(attribute) | Node::Presence(attribute) => *attribute,
        other => Attribute {
            root: Root::Expression(other),
            qualifiers: Vec::new(),
        },
    };
    let choice = Conditional {
        condition,
        truthy: branch(truthy),
        falsy: branch(falsy),
    };
    Node::Attribute(Box::new(Attribute {
        root: Root::Conditional(Box::new(choice)),
        qualifiers: Vec::new(),
    }))
}

fn index_node(operand: Node, index: Node, mode: Mode) -> Node {
    let key = match index {
        Node::Constant(value) => Key::Constant(value),
        other => Key::Attribute(into_attribute(other)),
    };
    let mut attribute = into_attribute(operand);
    attribute.qualifiers_mut(Qualifier { key, mode });
    Node::Attribute(Box::new(attribute))
}

fn function_call(function: &str, overload: Option<&'static str>, arguments: Vec<Node>) -> Planned {
    let node = CallNode {
        function: function.to_owned(),
        overload,
        action: action(function, overload, &arguments)?,
        arguments,
    };
    if overload == Some("in_list") {
        return Ok(membership(node));
    }
    let constant = matches!(node.arguments[..], [Node::Constant(_)]);
    if constant && library::is_conversion(function) {
        return folded(Node::Call(Box::new(node)));
    }
    Ok(Node::Call(Box::new(node)))
}

fn action(
    function: &str,
    overload: Option<&'static str>,
    arguments: &[Node],
) -> Result<Action, String> {
    if let ("matches" | "find" | "findAll", Some(Node::Constant(Value::String(pattern)))) =
        (function, arguments.get(1))
    {
        return Ok(Action::Pattern(Arc::new(library::regex::compile(pattern)?)));
    }
    let all = declarations::overloads(function).unwrap_or_default();
    if library::is_unguarded(function) {
        let known = overload.or_else(|| all.first().map(|first| first.id));
        let known = known.and_then(|id| library::implementation(function, id));
        return known
            .map(Action::Direct)
            .ok_or_else(|| format!("no such overload: {function}"));
    }
    let candidates = all.iter().filter(|candidate| {
        candidate.parameters.len() == arguments.len()
            && overload.is_none_or(|wanted| wanted == candidate.id)
    });
    let functions = candidates
        .filter_map(|candidate| Some((candidate, library::implementation(function, candidate.id)?)))
        .collect();
    Ok(Action::Dispatch(functions))
}

/// `x in [..]` with constants: a set of them, if they are simple enough.
fn membership(node: CallNode) -> Node {
    let Some(Node::Constant(Value::List(list))) = node.arguments.get(1) else {
        return Node::Call(Box::new(node));
    };
    if list.is_empty() {
        return Node::Constant(Value::Bool(false));
    }
    let Ok(among) = list.to_vec() else {
        return Node::Call(Box::new(node));
    };
    let simple = |value: &Value<'_>| {
        matches!(
            value,
            Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_)
        )
    };
    if !among.iter().all(simple) {
        return Node::Call(Box::new(node));
    }
    let mut arguments = node.arguments;
    arguments.truncate(1);
    let value = take(&mut arguments);
    Node::Membership(Box::new(Membership { value, among }))
}

fn is_constant(node: &Node) -> bool {
    matches!(node, Node::Constant(_))
}

fn folded_list(elements: Vec<(Presence, Node)>) -> Planned {
    let constant = elements.iter().all(|(_, node)| is_constant(node));
    let node = Node::List(elements);
    if constant { folded(node) } else { Ok(node) }
}

fn folded_map(entries: Vec<MapEntry>) -> Planned {
    let constant = entries
        .iter()
        .all(|entry| is_constant(&entry.key) && is_constant(&entry.value));
    let node = Node::Map(entries);
    if constant { folded(node) } else { Ok(node) }
}

/// The value of a step that needs nothing from outside.
fn folded(node: Node) -> Planned {
    let bindings = Bindings::default();
    let mut budget = Budget::unlimited();
    let value = evaluate(&node, &bindings, &mut budget).map_err(|error| error.to_string())?;
    owned(&value).map(Node::Constant).map_or(Ok(node), Ok)
}

/// The same value with nothing borrowed, if it has a form without borrowing.
fn owned(value: &Value<'_>) -> Option<Value<'static>> {
    use crate::value::{Entries, List, Map};
    Some(match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(*value),
        Value::Int(value) => Value::Int(*value),
        Value::Uint(value) => Value::Uint(*value),
        Value::Double(value) => Value::Double(*value),
        Value::String(text) => Value::from(text.to_string()),
        Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
        Value::Timestamp(value) => Value::Timestamp(*value),
        Value::Duration(value) => Value::Duration(*value),
        Value::Type(name) => Value::Type(name.clone()),
        Value::List(List::Values(values)) => {
            Value::list(values.iter().map(owned).collect::<Option<_>>()?)
        }
        Value::Map(Map::Values(entries)) => {
            let mut copied = Entries::default();
            for (key, value) in entries.iter() {
                copied.insert(owned(key)?, owned(value)?).ok()?;
            }
            Value::Map(Map::Values(copied.into()))
        }
        _ => return None,
    })
}
